"""Reading what clients send: the parameters of a query or a form, and the bytes of a body, all bounded."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, UnreadablePostError

from mcp_bridge.oauth.problem import Problem

PARAMETERS_MAX = 50
FORM_MAX = 16 * 1024  # bytes
FORM = "application/x-www-form-urlencoded"
REPEATABLE = {"resource"}  # RFC 8707, section 2; all others come once (RFC 6749, section 3.1)

Pairs = list[tuple[str, str]]


def of_query(request: HttpRequest) -> Pairs:
    """The parameters of the URL, each once; those without a value count as left out (RFC 6749, section 3.1).

    Raises Problem invalid_request.
    """
    return _once(_parsed(request.META.get("QUERY_STRING", "")))


def of_form(request: HttpRequest) -> Pairs:
    """The parameters of the body, in the same way. Raises Problem invalid_request."""
    if request.META.get("QUERY_STRING"):
        raise Problem("invalid_request", "Send the parameters in the body, and none in the URL.")
    if request.content_type not in (FORM, ""):
        raise Problem("invalid_request", f"Send the parameters in the body as {FORM}.")
    try:
        text = body(request, FORM_MAX, "invalid_request").decode("ascii")
    except UnicodeDecodeError:
        raise Problem("invalid_request", f"The body is not {FORM}: write other characters percent-encoded.") from None
    return _once(_parsed(text))


def body(request: HttpRequest, limit: int, error: str) -> bytes:
    """The bytes of the body. Raises Problem `error`, 413 for more than `limit` bytes."""
    try:
        content = request.body
    except RequestDataTooBig:
        content = b" " * (limit + 1)
    except UnreadablePostError:
        raise Problem(error, "The body did not arrive whole. Send the request again.") from None
    if len(content) > limit:
        raise Problem(error, f"The body is larger than {limit} bytes, the most that is read here.", 413)
    return content


def values(pairs: Iterable[tuple[str, str]], name: str) -> list[str]:
    """All values of one parameter."""
    return [value for each, value in pairs if each == name]


def _parsed(text: str) -> Pairs:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX)
    except UnicodeDecodeError:
        raise Problem("invalid_request", "A parameter is not UTF-8 where it is decoded.") from None
    except ValueError:
        raise Problem("invalid_request", f"The request has more than {PARAMETERS_MAX} parameters.") from None
    if any("\0" in part for pair in pairs for part in pair):
        raise Problem("invalid_request", "A parameter holds NUL; leave it out.")
    return pairs


def _once(pairs: Pairs) -> Pairs:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen and name not in REPEATABLE:
            told = name if name.isascii() and name.isidentifier() and len(name) <= 40 else "a parameter"
            raise Problem("invalid_request", f"The request has {told} more than once; send it once.")
        seen.add(name)
    return [(name, value) for name, value in pairs if value]
