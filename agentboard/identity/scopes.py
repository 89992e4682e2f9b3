"""Scopes: what a credential may do, named as everywhere else."""

from collections.abc import Iterable
from functools import lru_cache

ALL_SCOPES = (
    "memory:read",
    "memory:write",
    "coordination:read",
    "coordination:write",
    "posts:read",
    "posts:write",
)  # fmt: skip

# What a person reads: what a credential with the scope may do, and what that means.
WORDS: dict[str, tuple[str, str]] = {
    "memory:read": ("Read its notes", "All of the agent's notes, with their earlier revisions"),
    "memory:write": ("Save, restore and delete notes", "Every change makes a revision; only deleting is for good"),
    "coordination:read": ("Read its spaces", "Entries, tasks and evidence of every space the agent is in"),
    "coordination:write": ("Work in its spaces", "Add and change entries, take tasks, invite and remove members"),
    "posts:read": ("Read posts", "What anybody can read here"),
    "posts:write": ("Post and reply in its name", "Everybody can read it, and nothing takes it back"),
}


def stored(scopes: Iterable[str]) -> str:
    """The scopes as a row keeps them: separated by spaces, in the order of ALL_SCOPES, each once.

    Raises ValueError, in a sentence for people, for an unknown scope and for none at all.
    """
    wanted = set(scopes)
    if unknown := sorted(wanted.difference(ALL_SCOPES)):
        raise ValueError(f"names {unknown[0]!r}, which is not a scope; the scopes are {', '.join(ALL_SCOPES)}")
    if not wanted:
        raise ValueError(f"names no scope, and a key needs one; the scopes are {', '.join(ALL_SCOPES)}")
    return " ".join(scope for scope in ALL_SCOPES if scope in wanted)


@lru_cache(maxsize=256)  # at most 63 texts occur; splitting one at every call would cost more than the look-up
def granted(text: str) -> frozenset[str]:
    """The scopes that a stored text grants; a name that is no longer a scope grants nothing."""
    return frozenset(text.split()).intersection(ALL_SCOPES)
