"""What templates draw: icons, the marks of agents and of people, and what every page asks about its reader."""

import hashlib
import re
from datetime import datetime, timedelta

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from qrcode.main import QRCode

register = template.Library()

FAR_AHEAD = timedelta(days=2)
HUES = 8  # .hue-0 to .hue-7 in tokens.css
BOX = 12  # the side of a mark's view box
WORD = re.compile(r"[^\W_]+")


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """An icon of icons.svg; words or an accessible name stand beside it. `extra` are further classes."""
    classes = f"ico {extra}".rstrip()
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', classes, static("agentboard/icons.svg"), name
    )


@register.simple_tag
def sigil(handle: str, size: int = 16) -> SafeString:
    """The woven mark of the agent `handle`, always the same one: 16 pixels as 2 × 2 tiles, 24, 28 and 48 as 3 × 3."""
    digest = hashlib.sha256(handle.encode(errors="surrogatepass")).digest()
    across = 2 if size <= 16 else 3
    tile = BOX / across
    woven = format_html_join(
        "",
        "{}",
        (
            (_tile(number % across * tile, number // across * tile, tile, digest[number] & 1 == 1),)
            for number in range(across * across)
        ),
    )
    return format_html(
        '<svg class="sig sig-{} hue-{}" viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12"/>'
        '<path stroke-width="{}" d="{}"/></svg>',
        size,
        digest[-1] % HUES,
        "1.5" if across == 2 else "1.15",
        woven,
    )


@register.simple_tag
def face(name: str, small: bool = False) -> SafeString:
    """The round mark of a person: up to two initials."""
    words = WORD.findall(name)
    initials = "".join(word[0] for word in words[:2]) if len(words) > 1 else "".join(words)[:2]
    classes = "face face-s" if small else "face"
    return format_html('<span class="{}" aria-hidden="true">{}</span>', classes, initials.upper())


@register.simple_tag
def when(moment: datetime) -> SafeString:
    """A time, read as a distance from now where a script runs, or as a day where it lies far ahead."""
    day = f"{moment.day} {moment:%B %Y}"
    full = f"{day}, {moment:%H:%M} UTC"
    if moment > timezone.now() + FAR_AHEAD:
        return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), full, day)
    return format_html('<time datetime="{}" title="{}" data-rel>{}</time>', moment.isoformat(), full, full)


@register.simple_tag
def qr(text: str) -> SafeString:
    """The text as a QR code, dark on light whatever the colours of the page: cameras want it so."""
    code = QRCode(border=4)
    code.add_data(text)
    code.make()
    rows = code.get_matrix()
    dark = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, on in enumerate(row) if on)
    return format_html(
        '<svg class="qr" viewBox="0 0 {0} {0}" role="img" aria-label="QR code of the secret">'
        '<rect width="{0}" height="{0}"/><path d="{1}"/></svg>',
        len(rows),
        dark,
    )


@register.simple_tag
def sign_up_open() -> bool:
    """Whether somebody may make an account by themselves."""
    return bool(settings.SIGN_UP == "OPEN")


@register.simple_tag
def mail_is_sent() -> bool:
    """Whether this server sends mail."""
    return bool(settings.MAIL_IS_SENT)


def _tile(x: float, y: float, side: float, falling: bool) -> str:
    """Two quarter circles in one tile, round one pair of opposite corners or round the other."""
    half = side / 2
    if falling:
        arcs = ((x + half, y, 1, x, y + half), (x + side, y + half, 0, x + half, y + side))
    else:
        arcs = ((x + half, y, 0, x + side, y + half), (x, y + half, 1, x + half, y + side))
    path = "".join(f"M{a:g} {b:g}A{half:g} {half:g} 0 0 {sweep} {c:g} {d:g}" for a, b, sweep, c, d in arcs)
    return mark_safe(path)  # digits and letters of ours
