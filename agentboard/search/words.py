"""What a search compares: words without case and accents, and how a query matches, ranks and shows a text."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import NamedTuple

PHRASES_MAX = 32  # distinct phrases a query may have; `Query.parse` keeps more, refusing them is its caller's business

CACHED_CHARACTERS_MAX = 20_000  # of the 290 000 assigned: real texts use a few thousand, a hostile one could use all


# ---- words


# Scripts written without gaps between words, by code point, both ends included.
GAPLESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han iteration mark and zero
    (0x3021, 0x3029),  # Han numerals
    (0x3038, 0x303C),  # Han numerals and marks
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar extended A
    (0xF900, 0xFAFF),  # Han compatibility
    (0x116D0, 0x116FF),  # Myanmar extended C
    (0x1AFF0, 0x1B16F),  # Kana extended and supplement
    (0x20000, 0x3FFFF),  # Han extensions B and later: both planes are set aside for Han
)


class _Characters(dict[int, str]):
    """A table for `str.translate` that works out a character's entry when it first meets it."""

    def __init__(self, entry: Callable[[str], str]) -> None:
        super().__init__()
        self._entry = entry

    def __missing__(self, code: int) -> str:
        if len(self) >= CACHED_CHARACTERS_MAX:
            self.clear()
        entry = self[code] = self._entry(chr(code))
        return entry


def _folded(character: str) -> str:
    # Twice NFKD, since folding the case can yield a character that decomposes again (Unicode, D146).
    decomposed = unicodedata.normalize("NFKD", character).casefold()
    return "".join(c for c in unicodedata.normalize("NFKD", decomposed) if unicodedata.category(c) != "Mn")


def _spaced(character: str) -> str:
    return "".join(_token_part(c) for c in _folded(character))


def _token_part(folded: str) -> str:
    if not folded.isalnum():
        return " "
    return f" {folded} " if is_gapless(folded) else folded


def is_gapless(character: str) -> bool:
    """Whether the character belongs to a script written without gaps between words."""
    return any(first <= ord(character) <= last for first, last in GAPLESS)


_FOLDED = _Characters(_folded)
_SPACED = _Characters(_spaced)  # folded, everything between tokens a space, gapless characters set apart


def fold(text: str) -> str:
    """The text without case and accents: NFKD, case folded, combining marks (category Mn) dropped.

    Folding goes character by character, so the fold of a text is the joined folds of its parts.
    """
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def tokens(text: str) -> list[str]:
    """The runs of letters and digits in the folded text; a character of a gapless script is a token of its own."""
    return text.translate(_SPACED).split()


def line(text: str) -> str:
    """The text's tokens joined by one space: what is indexed and compared."""
    return " ".join(tokens(text))


def tags_line(tags: Iterable[str]) -> str:
    """The tags' lines, kept apart by a dot no token contains, so that no phrase runs from one tag into the next."""
    return " · ".join(map(line, tags))


# ---- queries


@dataclass(frozen=True)
class Query:
    """Words, never query syntax. Every phrase must occur, in any field; the last one's last token may go on.

    A phrase is a line: its tokens joined by one space. A query without a phrase matches nothing.
    """

    phrases: tuple[str, ...]

    @classmethod
    def parse(cls, q: str) -> "Query":
        """One phrase for each part between white space, in order, repeated ones once; the last stays the last."""
        phrases = [phrase for phrase in map(line, q.split()) if phrase]
        return cls((*dict.fromkeys(phrases[:-1]), *phrases[-1:]))

    def matches(self, lines: Sequence[str]) -> bool:
        """Whether every phrase occurs in one of the lines. This defines matching; an index must agree with it."""
        padded = [f" {field} " for field in lines]
        return bool(self.phrases) and all(any(n.sought in field for field in padded) for n in self.needles)

    @cached_property
    def needles(self) -> tuple["Needle", ...]:
        """The phrases as they occur in a line padded with a space at both ends."""
        whole = [Needle(f" {phrase} ", f" {phrase} ") for phrase in self.phrases[:-1]]
        return (*whole, *(Needle(f" {phrase}", f" {phrase} ") for phrase in self.phrases[-1:]))

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The phrases as they occur in a spaced text, where several spaces may stand between two tokens."""
        ends = ["(?![^ ])"] * (len(self.phrases) - 1) + [""]
        return tuple(_pattern(phrase, end) for phrase, end in zip(self.phrases, ends, strict=False))


class Needle(NamedTuple):
    """A phrase to look for in a padded line: `sought` decides, and is `whole` unless the phrase is a prefix."""

    sought: str
    whole: str


def _pattern(phrase: str, end: str) -> re.Pattern[str]:
    first, *others = phrase.split(" ")
    # The look-behind stands after the literal it guards: a pattern that starts with a literal is searched quickly.
    return re.compile(" +".join((f"{first}(?<![^ ]{first})", *others)) + end)


# ---- ranking


class _Field(NamedTuple):
    weight: float
    typical: int  # characters of a line of usual length
    slope: float  # how far a longer line counts less: 0 not at all, 1 in proportion


# Name, tags, summary, use_when, body. The constants stand in for what BM25 takes from the collection.
FIELDS = (
    _Field(8.0, 20, 0.3),
    _Field(5.0, 20, 0.3),
    _Field(2.5, 120, 0.4),
    _Field(2.5, 80, 0.4),
    _Field(1.0, 1500, 0.75),
)
SATURATION = 1.2  # BM25's k1: how soon further occurrences stop counting
PREFIX_WEIGHT = 0.5  # of an occurrence that goes on after the phrase, against a whole one


def score(query: Query, name_line: str, tags_line: str, summary_line: str, use_when_line: str, body_line: str) -> float:
    """How well a note answers the query, above 0 for one that matches; rounded to 6 decimals.

    BM25 by field, with fixed constants in place of statistics of the collection: a note's score depends on that
    note alone, so it is the same in every worker and stays when other notes are written, and so do cursors.
    """
    total = 0.0
    lines = (name_line, tags_line, summary_line, use_when_line, body_line)
    for (weight, typical, slope), field in zip(FIELDS, lines, strict=True):
        padded = f" {field} "
        for needle in query.needles:
            frequency = _frequency(needle, padded)
            if frequency:
                length = 1 - slope + slope * len(field) / typical
                total += weight * frequency / (frequency + SATURATION * length)
    return round(total, 6)


def _frequency(needle: Needle, padded: str) -> float:
    """Occurrences, weighted. Of neighbours that share their space only every other one counts."""
    sought, whole = needle
    found = padded.count(sought)
    if not found or sought == whole:
        return found
    exact = padded.count(whole)
    return exact + PREFIX_WEIGHT * (found - exact)


# ---- snippets


HITS_MAX = 16  # occurrences of each phrase looked at for the best place
WHITE_SPACE = re.compile(r"\s+")
ELLIPSIS = "…"


def snippet(query: Query, body: str, length: int = 160) -> str:
    """At most `length` characters of the body around its best hit, with an ellipsis where text was cut off.

    The best hit is the first one with the most different phrases close behind it; without a hit the text's start
    is shown. Runs of white space become one space. Cuts are at spaces where there are some, and never inside a
    character with its marks.
    """
    body = body.strip()
    place = _best_place(query, body, length)
    first, last = max(0, place - 4 * length), place + 4 * length  # four times, as white space shrinks
    before = WHITE_SPACE.sub(" ", body[first:place])
    text = before + WHITE_SPACE.sub(" ", body[place:last])
    start, end = _window(text, len(before), length)
    left = ELLIPSIS if first + start > 0 else ""
    right = ELLIPSIS if last < len(body) or end < len(text) else ""
    return left + text[start:end].strip() + right


def _best_place(query: Query, body: str, length: int) -> int:
    """Where in the body the best hit starts, 0 without one."""
    spaced = body.translate(_SPACED)
    hits = sorted(
        (match.start(), phrase)
        for phrase, pattern in enumerate(query.patterns)
        for match in islice(pattern.finditer(spaced), HITS_MAX)
    )
    if not hits:
        return 0
    place = max(range(len(hits)), key=lambda i: _phrases_within(hits, i, length * 3 // 4))
    return hits[place][0] if body.isascii() else _original(body, hits[place][0])


def _phrases_within(hits: list[tuple[int, int]], i: int, reach: int) -> int:
    """How many different phrases start in the `reach` characters from the i-th hit on."""
    end = bisect_right(hits, (hits[i][0] + reach, 0), lo=i)
    return len({phrase for _, phrase in hits[i:end]})


def _original(body: str, spaced_at: int) -> int:
    """The place in the body of the character that wrote the one at `spaced_at` of the spaced text."""
    lengths = map(len, map(_SPACED.__getitem__, map(ord, body)))
    return bisect_right(list(accumulate(lengths)), spaced_at)


def _window(text: str, hit: int, length: int) -> tuple[int, int]:
    """Start and end of at most `length` characters around the hit, a quarter of them before it."""
    start = max(0, min(hit - length // 4, len(text) - length))
    if start > 0:
        space = text.find(" ", start - 1, hit)
        start = _character_after(text, start) if space < 0 else space + 1
    end = min(len(text), start + length)
    if end < len(text):
        # A space further back would leave little: such text has no gaps, or a word too long to show.
        space = text.rfind(" ", max(hit + 1, end - length // 4), end + 1)
        end = _character_before(text, end) if space < 0 else space
    return start, end


def _character_after(text: str, place: int) -> int:
    while place < len(text) and _continues(text, place):
        place += 1
    return place


def _character_before(text: str, place: int) -> int:
    while place > 0 and _continues(text, place):
        place -= 1
    return place


def _continues(text: str, place: int) -> bool:
    """Whether what stands here belongs to the character before: a mark, a skin tone, or a part of a joined emoji."""
    here, joiner = text[place], "\u200d"
    return (
        unicodedata.category(here).startswith("M")
        or "\U0001f3fb" <= here <= "\U0001f3ff"
        or joiner in (here, text[place - 1 : place])
    )
