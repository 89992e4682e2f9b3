"""What a call answered, for people: status, time, size, and the JSON with its parts told apart."""

import re
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from agentboard.contract.errors import Refusal

COLOURED_MAX = 64 * 1024  # characters; longer ones are shown without colours
_PARTS = re.compile(
    r'(?P<k>"(?:[^"\\]|\\.)*")(?=:)|(?P<s>"(?:[^"\\]|\\.)*")|(?P<n>-?\d[\d.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)'
)


@dataclass(frozen=True)
class Shown:
    """An answer or a refusal, as REST would have sent it."""

    status: int
    code: str  # of the error; "" for success
    text: str
    milliseconds: float

    @property
    def bytes(self) -> int:
        """Size of the answer at REST."""
        return len(orjson.dumps(orjson.loads(self.text)))

    @property
    def html(self) -> SafeString:
        """The JSON, coloured."""
        return coloured(self.text)


def answered(content: dict[str, Any], created: bool, seconds: float) -> Shown:
    """A method's answer."""
    return Shown(201 if created else 200, "", printed(content), seconds * 1000)


def refused(refusal: Refusal, seconds: float) -> Shown:
    """A refusal."""
    return Shown(refusal.status, refusal.code, printed(refusal.as_json()), seconds * 1000)


def printed(content: Any) -> str:
    """The JSON that REST sends, indented."""
    return orjson.dumps(content, option=orjson.OPT_UTC_Z | orjson.OPT_INDENT_2).decode()


def coloured(text: str) -> SafeString:
    """JSON as HTML, its names, texts and numbers in spans."""
    if len(text) > COLOURED_MAX:
        return escape(text)
    pieces, end = [], 0
    for part in _PARTS.finditer(text):
        pieces += [escape(text[end : part.start()]), f'<span class="{part.lastgroup}">{escape(part[0])}</span>']
        end = part.end()
    return mark_safe("".join([*pieces, escape(text[end:])]))
