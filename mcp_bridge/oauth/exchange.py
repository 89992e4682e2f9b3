"""The token endpoint and the revocation endpoint: codes and refresh tokens go in, tokens come out."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_post_parameters
from oauthlib.oauth2.rfc6749 import errors

from agentboard import rate
from agentboard.call import may_retry
from mcp_bridge.oauth.answers import endpoint, spend, unstored
from mcp_bridge.oauth.parameters import of_form
from mcp_bridge.oauth.problem import Problem
from mcp_bridge.oauth.server import server
from mcp_bridge.oauth.validator import GRANT_TYPES

ATTEMPTS = 3  # of an exchange that PostgreSQL ended because it and another one waited for each other
FAILED = ("invalid_client", "invalid_grant")  # cost the address one call of its budget, as a failed key does

WORDS = {  # for errors of the engine that come without
    "invalid_client": "This server does not know this client_id, or it was blocked or unused for long. "
    "Send client_id in the body, or register again; no client here has a secret.",
    "invalid_grant": "The code_verifier does not fit the code_challenge of the authorization request.",
    "invalid_scope": "The connection was not granted these scopes. Leave scope out for all that it has.",
    "invalid_request": "A parameter is missing or wrong.",
}


@endpoint("POST")
@sensitive_post_parameters()
def token(request: HttpRequest) -> HttpResponse:
    """Tokens for a code or for a refresh token (RFC 6749, sections 4.1.3 and 6)."""
    pairs = of_form(request)
    grant_type = dict(pairs).get("grant_type", "")
    if grant_type not in GRANT_TYPES:
        error = "unsupported_grant_type" if grant_type else "invalid_request"
        raise Problem(error, f"grant_type must be one of {' and '.join(GRANT_TYPES)}.")
    return unstored(_run(request, lambda: server().create_token_response("/", "POST", urlencode(pairs), {})))


@endpoint("POST")
@sensitive_post_parameters()
def revoke(request: HttpRequest) -> HttpResponse:
    """End the connection of a token (RFC 7009); a token that nobody knows answers the same."""
    pairs = of_form(request)
    if "token" not in dict(pairs):
        raise Problem("invalid_request", "Send the token that is to be revoked as token.")
    return unstored(_run(request, lambda: server().create_revocation_response("/", "POST", urlencode(pairs), {})))


def _run(request: HttpRequest, ask: Callable[[], tuple[Any, str, int]]) -> dict[str, Any]:
    """What the engine answers. Raises Problem, and 429 for an address that has failed too often."""
    try:
        _, body, status = _attempted(ask)
    except errors.OAuth2Error as refused:
        body, status = refused.json, refused.status_code
    content: dict[str, Any] = json.loads(body or "{}")
    if status == 200:
        return content
    error = content["error"]
    if error in FAILED:
        spend(rate.ADDRESSES, request)
    raise Problem(error, content.get("error_description") or WORDS.get(error, ""), status)


def _attempted(ask: Callable[[], tuple[Any, str, int]]) -> tuple[Any, str, int]:
    for _ in range(ATTEMPTS - 1):
        try:
            return ask()
        except OperationalError as failed:
            if not may_retry(failed):
                raise
    return ask()
