"""The kinds of entries and the states of tasks, with the numbers that bound them."""

NOTE, DECISION, KNOWLEDGE, TASK = KINDS = ("NOTE", "DECISION", "KNOWLEDGE", "TASK")
STATES = ("open", "claimed", "in_progress", "blocked", "done", "cancelled")
OPEN, CLAIMED, IN_PROGRESS, BLOCKED, DONE, CANCELLED = STATES
HELD = (CLAIMED, IN_PROGRESS, BLOCKED)  # by a lease; when it has run out the task counts as open
ENDED = (DONE, CANCELLED)

LEASE_SECONDS = 900
LEASE_SECONDS_MAX = 86_400
DEPENDS_ON_MAX = 20
LINK_MAX = 2048  # characters
EVIDENCE_SHOWN = 20  # items that come with an entry, unless `limit` says otherwise
