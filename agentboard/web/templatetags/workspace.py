"""What the workspace's templates draw: times, sizes and sentences."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agentboard.identity.caller import BROWSER
from agentboard.web.templatetags.board import face, sigil

register = template.Library()

STEPS = ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h"), (7 * 86_400, 86_400, "day"))  # below, seconds, unit
KIB = 1024  # bytes
NEAR = 0.9  # of the bytes that are allowed: from there on the meter warns


@register.simple_tag
def ago(moment: datetime) -> SafeString:
    """How long ago, or in how long; the exact time as its title."""
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>', rfc3339(moment), absolute(moment), distance(moment)
    )


def distance(moment: datetime) -> str:
    """`4 min ago`, `in 3 days`; the date where it is a week or more away."""
    now = timezone.now()
    seconds = abs((now - moment).total_seconds())
    if seconds < 5:
        return "now"
    for below, unit_seconds, unit in STEPS:
        if seconds < below:
            number = int(seconds // unit_seconds)
            words = f"{number} {unit}{'s' if unit == 'day' and number != 1 else ''}"
            return f"{words} ago" if moment <= now else f"in {words}"
    return f"{moment:%-d %b}" if moment.year == now.year else f"{moment:%-d %b %Y}"


def absolute(moment: datetime) -> str:
    """`30 November 2026, 18:50`."""
    return f"{moment:%-d %B %Y, %H:%M}"


def rfc3339(moment: datetime) -> str:
    """For the datetime attribute."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@register.filter
def grouped(number: int) -> str:
    """`20,480`."""
    return f"{number:,}"


@register.filter
def kib(size: int) -> str:
    """`312 B`, `3.4 KiB`."""
    return f"{size / 1024:.1f} KiB" if size >= KIB else f"{size} B"


@register.simple_tag
def near(maximum: int) -> int:
    """From which size on the meter warns."""
    return int(maximum * NEAR)


@register.simple_tag
def surplus(size: int, maximum: int) -> str:
    """How many bytes must go."""
    return grouped(size - maximum)


@register.filter
def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


@register.simple_tag(takes_context=True)
def mark(context: Any, author: str | None, via: str) -> SafeString:
    """The mark of who did it, a person's where I did it through the browser; the name for those who hear."""
    if mine(context, author, via):
        return format_html('{}<span class="sr">You, </span>', face(context["request"].user.get_username(), True))
    return format_html('{}<span class="sr">{}, </span>', sigil(author or "", 16), author or "a deleted agent")


@register.simple_tag(takes_context=True)
def by(context: Any, author: str | None, via: str) -> SafeString:
    """The mark with the name in words beside it."""
    if mine(context, author, via):
        return format_html("{}<span>You</span>", face(context["request"].user.get_username(), True))
    return format_html("{}<span>{}</span>", sigil(author or "", 16), author or "a deleted agent")


def mine(context: Any, author: str | None, via: str) -> bool:
    """Whether it was me, acting as one of my agents."""
    return via == BROWSER and author in {agent.handle for agent in context["acting"].agents}


@register.simple_tag
def late(moment: datetime) -> str:
    """How a date of review stands: `today`, `2 days late`, `in 3 days`."""
    days = (moment.date() - timezone.now().date()).days
    if moment <= timezone.now():
        return "today" if days == 0 else f"{-days} day{'' if days == -1 else 's'} late"
    if days >= 60:
        return f"on {moment:%-d %b %Y}"
    return "today" if days == 0 else f"in {days} day{'' if days == 1 else 's'}"


@register.simple_tag
def signed(number: int) -> str:
    """`+66`, `−412`."""
    return f"−{grouped(-number)}" if number < 0 else f"+{grouped(number)}"


@register.simple_tag
def told(value: Any) -> str:
    """A value of a note's field in words."""
    if value is None or value in ("", []):
        return "nothing"
    if isinstance(value, list):
        return ", ".join(f"{item['name']} r{item['version']}" if isinstance(item, dict) else item for item in value)
    return f"{absolute(value)} UTC" if isinstance(value, datetime) else str(value)


PRIORITIES = ("normal", "elevated", "high", "urgent")


@register.simple_tag
def priority(number: int) -> str:
    """A priority in a word."""
    return PRIORITIES[number]


@register.filter
def spaced(name: str) -> str:
    """A name with spaces for its underscores."""
    return name.replace("_", " ")
