"""Two changed versions of one text put together by line: what only one side changed is taken, the rest is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentboard.web.workspace.difference import LINES_SECONDS, SAME, runs

SAVED, MINE, BOTH, BEFORE = "saved", "mine", "both", "before"
CHOICES = (SAVED, MINE, BOTH, BEFORE)


@dataclass(frozen=True)
class Part:
    """A stretch of the merged text. `kind`: same, saved or mine (only that side changed it), both (alike), clash."""

    kind: str
    line: int  # its first line in the text before, from 1
    before: str
    saved: str
    mine: str

    @property
    def after(self) -> str:
        """What stands there now, where only one side changed it."""
        return self.mine if self.kind == MINE else self.saved

    def text(self, choice: str) -> str:
        """What goes into the merged text; the choice decides only where there is one."""
        if self.kind != "clash":
            return self.mine if self.kind == MINE else self.saved
        if choice == BOTH:
            return ended(self.saved) + self.mine
        return {SAVED: self.saved, BEFORE: self.before}.get(choice, self.mine)


def merged(before: str, saved: str, mine: str) -> list[Part]:
    """The parts of the text in order. Takes a third of a second at most; then more of it clashes than has to."""
    parts = []
    old, theirs, own = lines(before), lines(saved), lines(mine)
    for (a, b), (c, d), (e, f) in stretches(old, theirs, own):
        texts = "".join(old[a:b]), "".join(theirs[c:d]), "".join(own[e:f])
        if any(texts):
            parts.append(Part(kind(*texts), a + 1, *texts))
    return parts


def kind(before: str, saved: str, mine: str) -> str:
    """Who changed a stretch."""
    if saved == mine:
        return "same" if saved == before else "both"
    if mine == before:
        return SAVED
    return MINE if saved == before else "clash"


def build(parts: Sequence[Part], choices: Mapping[int, str]) -> str:
    """The merged text; `choices` by the number of the clash, from 0, mine where none was made."""
    text, number = [], 0
    for part in parts:
        text.append(part.text(choices.get(number, MINE)))
        number += part.kind == "clash"
    return "".join(text)


def lines(text: str) -> list[str]:
    """The lines, each with its line feed; lines end at line feeds and nowhere else."""
    found = text.split("\n")
    return [f"{line}\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


def ended(text: str) -> str:
    """The text with a line feed at its end, so that another can follow."""
    return text if not text or text.endswith("\n") else f"{text}\n"


Span = tuple[int, int]


def stretches(before: Sequence[str], saved: Sequence[str], mine: Sequence[str]) -> Iterator[tuple[Span, Span, Span]]:
    """The three texts cut at the lines that all of them share: what all have, and what lies between, in turns."""
    theirs, own = kept(before, saved), kept(before, mine)
    b = s = m = 0  # up to here everything has been given
    at = 0
    while at < len(before):
        if at not in theirs or at not in own:
            at += 1
            continue
        yield (b, at), (s, theirs[at]), (m, own[at])
        length = 1
        while theirs.get(at + length) == theirs[at] + length and own.get(at + length) == own[at] + length:
            length += 1
        yield (at, at + length), (theirs[at], theirs[at] + length), (own[at], own[at] + length)
        b, s, m = at + length, theirs[at] + length, own[at] + length
        at = b
    yield (b, len(before)), (s, len(saved)), (m, len(mine))


def kept(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Where the lines that stayed stand now: old index → new index."""
    found: dict[int, int] = {}
    i = j = 0
    for change, count in runs(before, after, LINES_SECONDS):
        if change == SAME:
            found.update(zip(range(i, i + count), range(j, j + count), strict=True))
        i += count if change <= SAME else 0
        j += count if change >= SAME else 0
    return found
