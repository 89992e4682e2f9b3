"""What is stored before a round begins: how many agents, their notes' names and texts."""

import random

from tests.bench.cells import Side

AGENTS = 64
NOTES_EACH = 50  # of an agent, for each side: so many that no note gets a fiftieth version, which would prune
BODY_BYTES = 2048
WORDS = "the ledger of March agrees with all fourteen sample files but one whose totals differ".split()


def note_name(side: Side, number: int) -> str:
    """The name of an agent's note; each side writes its own."""
    return f"{side}-note-{number}"


def text(seed: int) -> str:
    """A body of BODY_BYTES ASCII characters in words and lines, the same for the same seed."""
    chosen = random.Random(seed)
    words = " ".join(chosen.choice(WORDS) + "\n" * (chosen.random() < 0.1) for _ in range(BODY_BYTES // 2))
    return words[: BODY_BYTES - 1] + "."
