"""The protocol's engine (oauthlib) with the two grants there are, PKCE by S256 only, and one resource."""

import functools
import re
from typing import Any

from oauth2_provider.settings import oauth2_settings
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749 import errors
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256

from mcp_bridge.address import is_own_resource
from mcp_bridge.oauth.parameters import values

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 in base64url (RFC 7636, section 4.2)
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636, section 4.1


class Server(WebApplicationServer):  # type: ignore[misc]
    """Knows no implicit, password, device or client credentials grant, whatever an application's row says."""

    def __init__(self, validator: Any, **kwargs: Any) -> None:
        names = ("token_generator", "token_expires_in", "refresh_token_generator")
        super().__init__(validator, **{name: kwargs[name] for name in names})
        self.auth_grant._code_challenge_methods = {"S256": code_challenge_method_s256}
        self.auth_grant.custom_validators.pre_auth += [check_response_type, check_challenge, check_resource]
        self.auth_grant.custom_validators.pre_token += [check_code, check_resource]
        self.refresh_grant.custom_validators.pre_token += [check_refresh_token, check_resource]


@functools.cache
def server() -> Any:
    """The engine, made once by the toolkit's settings. It keeps nothing of a request, so threads share it."""
    return oauth2_settings.OAUTH2_SERVER_CLASS(
        oauth2_settings.OAUTH2_VALIDATOR_CLASS(), **oauth2_settings.server_kwargs
    )


def check_response_type(request: Any) -> dict[str, Any]:
    """Refuse an authorization request for anything but a code."""
    if request.response_type is None:
        raise errors.InvalidRequestError("Send response_type=code.", request=request)
    if request.response_type != "code":
        raise errors.UnsupportedResponseTypeError("The only response_type is code.", request=request)
    return {}


def check_challenge(request: Any) -> dict[str, Any]:
    """Refuse an authorization request without PKCE, or with the method `plain`, which hides nothing."""
    if request.code_challenge_method != "S256":
        raise errors.InvalidRequestError(
            "PKCE is required: send code_challenge and code_challenge_method=S256.", request=request
        )
    if not CHALLENGE.fullmatch(request.code_challenge or ""):
        raise errors.InvalidRequestError(
            "code_challenge must be the SHA-256 of the code_verifier in base64url: 43 characters.", request=request
        )
    return {}


def check_resource(request: Any) -> dict[str, Any]:
    """Refuse a resource other than this server's endpoint (RFC 8707, section 2); none means that one."""
    pairs = request.decoded_body or request.uri_query_params
    if not all(is_own_resource(resource) for resource in values(pairs, "resource")):
        raise errors.CustomOAuth2Error(
            "invalid_target",
            "Tokens of this server are for its /mcp only: send that URL as resource, or leave resource out.",
            request=request,
        )
    return {}


def check_code(request: Any) -> None:
    """Refuse a token request without a code, or without a code_verifier."""
    if not request.code:
        raise errors.InvalidRequestError("Send the authorization code as code.", request=request)
    if not VERIFIER.fullmatch(request.code_verifier or ""):
        raise errors.InvalidRequestError(
            "Send the code_verifier whose SHA-256 was the code_challenge: 43 to 128 characters.", request=request
        )


def check_refresh_token(request: Any) -> None:
    """Refuse a refresh without a refresh token."""
    if not request.refresh_token:
        raise errors.InvalidRequestError("Send the refresh token as refresh_token.", request=request)
