"""A form that is sent twice acts once: the operation key of what was typed into one rendering of a form."""

import hmac
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from django.conf import settings

from agentboard.contract.method import Method

KEYS = ("operation_key", "request_id")  # the arguments that make a call act once


@cache
def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"agentboard form", "sha256")


def nonce() -> str:
    """For a hidden field: names one rendering of a form."""
    return secrets.token_urlsafe(16)


def key(nonce: str, *typed: Any) -> str:
    """The same for the same words typed into the same rendering, however often it is sent; another for other words.

    So a double click acts once, and what is changed after the Back button counts as the new thing that it is.
    """
    told = orjson.dumps([nonce, *typed], option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return "form-" + hmac.digest(_key(), told, "sha256").hex()[:40]


def keyed(method: Method, nonce: str, id: str | None, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with a key, where the method takes one and none was typed."""
    name = next((name for name in KEYS if name in method.arguments), None)
    return data if name is None or name in data else {**data, name: key(nonce, method.name, id, data)}
