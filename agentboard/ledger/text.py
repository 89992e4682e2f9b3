"""Differences between two versions of a text."""

import difflib
from collections.abc import Iterator

from agentboard.contract import limits

DIFF_LINES_MAX = 2_000  # beyond, a differ's quadratic time would hold a thread for seconds


def unified(before: str, after: str, versions: tuple[int, int]) -> str:
    """A unified diff of two bodies by line; empty where they are equal. Lines are split at line feeds only."""
    if before == after:
        return ""
    old, new = lines(before), lines(after)
    if len(old) + len(new) > DIFF_LINES_MAX:
        return "\n".join(coarse(old, new, versions))
    return "\n".join(difflib.unified_diff(old, new, *labels(versions), lineterm=""))


def lines(text: str) -> list[str]:
    """The lines of a body; an unfinished last line is marked as diff(1) marks it."""
    if not text:
        return []
    found = text.split("\n")
    return found[:-1] if not found[-1] else [*found[:-1], found[-1] + "\n\\ No newline at end of file"]


def labels(versions: tuple[int, int]) -> tuple[str, str]:
    """The file names of the diff."""
    return f"version {versions[0]}", f"version {versions[1]}"


def coarse(old: list[str], new: list[str], versions: tuple[int, int]) -> Iterator[str]:
    """A correct diff in linear time: the equal head and tail, and one hunk for all that lies between."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    before, after = labels(versions)
    yield f"--- {before}"
    yield f"+++ {after}"
    yield f"@@ -{span(head, len(gone))} +{span(head, len(came))} @@"
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in came)


def span(start: int, count: int) -> str:
    """A hunk's range; an empty one names the line before it."""
    return f"{start + 1 if count else start},{count}"


def cut(text: str, maximum: int = limits.DIFF_MAX) -> tuple[str, bool]:
    """The text in at most `maximum` bytes of UTF-8, cut at a line where there is one, and whether it was cut."""
    raw = text.encode()
    if len(raw) <= maximum:
        return text, False
    kept = raw[:maximum].decode(errors="ignore")
    return kept[: kept.rfind("\n")] if "\n" in kept else kept, True
