"""Why a request cannot be served: one exception, which each endpoint answers in its own way."""

from collections.abc import Mapping
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


class Problem(Exception):
    """An error of RFC 6749 or of an extension, with a description in ASCII that says what to do about it."""

    def __init__(self, error: str, description: str, status: int = 400, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(description)
        self.error, self.description, self.status, self.headers = error, description, status, headers

    @property
    def parameters(self) -> dict[str, str]:
        """`error` and `error_description`, as a body or a redirect carries them."""
        return {"error": self.error, "error_description": self.description}


def too_many(seconds: int) -> Problem:
    """An address has used up its budget and may come back in so many seconds."""
    description = f"Too many requests from this address. Wait {seconds} seconds, then try again."
    return Problem("temporarily_unavailable", description, 429, {"Retry-After": str(seconds)})
