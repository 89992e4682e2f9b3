"""What differs between two texts, by line and by word, in bounded time."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from diff_match_patch import diff_match_patch
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

LINES_SECONDS = 0.15  # after which what is left counts as one change
WORDS_SECONDS = 0.2  # for all word marks of a page
LINE_SECONDS = 0.05  # for the word marks of one line
PAIRS_MAX = 900  # removed × added lines of one change that are compared to find out which became which
ALIKE = 0.4  # the share of common words from which a line counts as the other, changed
ROWS_MAX = 3_000  # rows of a page
SAME, REMOVED, ADDED = 0, -1, 1
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FIRST = 0xE000  # the first code point that stands for an item: behind the surrogates

Run = tuple[int, int]  # SAME, REMOVED or ADDED, and how many items


def runs(before: Sequence[str], after: Sequence[str], seconds: float) -> list[Run]:
    """How `after` comes of `before`, item by item. Where the time is over, all that is left differs."""
    numbers: dict[str, str] = {}

    def spelled(items: Sequence[str]) -> str:
        return "".join(numbers.setdefault(item, chr(_FIRST + len(numbers))) for item in items)

    differ = diff_match_patch()
    differ.Diff_Timeout = seconds
    found = differ.diff_main(spelled(before), spelled(after), False)
    return [(kind, len(text)) for kind, text in found]


def words(text: str) -> list[str]:
    """The words of a line, the gaps and the signs between them."""
    return _WORDS.findall(text)


def marked(before: str, after: str, seconds: float) -> tuple[SafeString, SafeString]:
    """Two versions of a line as HTML: what went in <del> in the one, what came in <ins> in the other."""
    old, new = words(before), words(after)
    left, right, i, j = [], [], 0, 0
    for kind, count in runs(old, new, seconds):
        if kind != ADDED:
            left.append(piece("del" if kind == REMOVED else "", "".join(old[i : i + count])))
            i += count
        if kind != REMOVED:
            right.append(piece("ins" if kind == ADDED else "", "".join(new[j : j + count])))
            j += count
    return joined(left), joined(right)


def piece(tag: str, text: str) -> SafeString:
    """The text, in this element if there is one."""
    return format_html("<{}>{}</{}>", mark_safe(tag), text, mark_safe(tag)) if tag else format_html("{}", text)


def joined(pieces: Sequence[SafeString]) -> SafeString:
    """One after the other."""
    return format_html_join("", "{}", ((each,) for each in pieces))


# ---- a unified diff as a table


@dataclass(frozen=True)
class Row:
    """A line of two texts side by side: `kind` same, changed, removed, added, or skipped (then `count` lines are)."""

    kind: str
    left_number: int | None = None
    left: SafeString | str = ""
    right_number: int | None = None
    right: SafeString | str = ""
    count: int = 0


@dataclass(frozen=True)
class Table:
    """The rows, and how many lines came and went."""

    rows: list[Row]
    added: int
    removed: int
    cut: bool


def table(diff: str) -> Table:
    """The table of a unified diff, its context as the diff has it."""
    rows: list[Row] = []
    marks = Marks()
    end = 1
    for start, number, lines in hunks(diff):
        rows += [Row("skipped", count=start - end)] if start > end else []
        found, left = side_by_side(lines, start, number, marks)
        rows += found
        end = left
        if len(rows) > ROWS_MAX:
            break
    counted = [line[:1] for _, _, lines in hunks(diff) for line in lines]
    return Table(rows[:ROWS_MAX], counted.count("+"), counted.count("-"), len(rows) > ROWS_MAX)


def hunks(diff: str) -> Iterator[tuple[int, int, list[str]]]:
    """Each hunk: its first line in the old text, in the new one, and its lines with their signs."""
    lines: list[str] = []
    start = number = 0
    for line in diff.split("\n")[2:]:
        if found := _HUNK.match(line):
            if lines:
                yield start, number, lines
            start, number, lines = first(found[1], found[2]), first(found[3], found[4]), []
        elif line and line[0] != "\\":
            lines.append(line)
    if lines:
        yield start, number, lines


def first(start: str, count: str | None) -> int:
    """The first line of a hunk's range; an empty one names the line before."""
    return int(start) + (count == "0")


class Marks:
    """Word marks for the lines of one page, while there is time."""

    def __init__(self) -> None:
        self._end = time.monotonic() + WORDS_SECONDS

    def of(self, before: str, after: str) -> tuple[SafeString | str, SafeString | str]:
        """The two lines with what differs marked; as they are once the time is over."""
        left = self._end - time.monotonic()
        return marked(before, after, min(left, LINE_SECONDS)) if left > 0 else (before, after)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._end


def side_by_side(lines: Sequence[str], left: int, right: int, marks: Marks) -> tuple[list[Row], int]:
    """The rows of one hunk that begins at these line numbers, and the number of the next old line."""
    rows: list[Row] = []
    removed: list[str] = []
    added: list[str] = []

    def flush() -> None:
        nonlocal left, right
        for old, new in paired(removed, added, marks):
            rows.append(changed_row(old, new, left, right, marks))
            left, right = left + (old is not None), right + (new is not None)
        removed.clear()
        added.clear()

    for line in lines:
        if line[0] == "-":
            removed.append(line[1:])
        elif line[0] == "+":
            added.append(line[1:])
        else:
            flush()
            rows.append(Row("same", left, line[1:], right, line[1:]))
            left, right = left + 1, right + 1
    flush()
    return rows, left


def changed_row(old: str | None, new: str | None, left: int, right: int, marks: Marks) -> Row:
    """A row of a change: a line that went, one that came, or one that became the other."""
    if new is None:
        return Row("removed", left, old or "")
    if old is None:
        return Row("added", right_number=right, right=new)
    before, after = marks.of(old, new)
    return Row("changed", left, before, right, after)


def paired(removed: Sequence[str], added: Sequence[str], marks: Marks) -> list[tuple[str | None, str | None]]:
    """Which removed line became which added one, in order; None where one has no other."""
    if not removed or not added or len(removed) * len(added) > PAIRS_MAX or marks.over:
        return list(zip_longest(removed, added)) if len(removed) == len(added) else apart(removed, added)
    pairs = list(best(removed, added))
    found: list[tuple[str | None, str | None]] = []
    i = j = 0
    for at, to in [*pairs, (len(removed), len(added))]:
        found += apart(removed[i:at], added[j:to])
        if at < len(removed):
            found.append((removed[at], added[to]))
        i, j = at + 1, to + 1
    return found


def apart(removed: Sequence[str], added: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Lines that have nothing to do with each other."""
    return [*((line, None) for line in removed), *((None, line) for line in added)]


def best(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of like lines, in the order of both, whose likeness is greatest altogether."""
    old, new = [{*words(line)} for line in removed], [{*words(line)} for line in added]
    scores = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            both = likeness(old[i], new[j])
            scores[i][j] = max(scores[i + 1][j], scores[i][j + 1], scores[i + 1][j + 1] + both if both else 0)
    i = j = 0
    while i < len(old) and j < len(new):
        if scores[i][j] == scores[i + 1][j]:
            i += 1
        elif scores[i][j] == scores[i][j + 1]:
            j += 1
        else:
            yield i, j
            i, j = i + 1, j + 1


def likeness(old: set[str], new: set[str]) -> float:
    """The share of common words, 0 where it is too small."""
    either = len(old | new)
    share = len(old & new) / either if either else 1.0
    return share if share >= ALIKE else 0.0
