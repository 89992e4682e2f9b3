"""What an application asks a person for: one authorization request, read from the URL and checked."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from oauthlib.oauth2.rfc6749 import errors

from agentboard import rate
from mcp_bridge.oauth import documents
from mcp_bridge.oauth.answers import spend
from mcp_bridge.oauth.models import Application
from mcp_bridge.oauth.parameters import of_query
from mcp_bridge.oauth.problem import Problem
from mcp_bridge.oauth.server import server

UNKNOWN = "This server does not know the application that sent you: it was never registered here, or not used for long."
UNREADABLE = "The document that describes the application could not be read, or describes none that may come in here."
BLOCKED = "An operator of this server has blocked the application that sent you."
FATAL: dict[type[errors.FatalClientError], str] = {
    errors.MissingRedirectURIError: "The request does not say at which of its addresses the application waits for you.",
    errors.MismatchingRedirectURIError: "The address at which the application waits for you is not one it registered.",
    errors.InvalidRedirectURIError: "The address at which the application waits for you is not an absolute URI.",
}
NO_KNOWN_SCOPE = "None of the scopes in scope exists here; leave scope out to ask for all."


@dataclass(frozen=True)
class Asked:
    """A request that a person may answer: who asks, for which scopes, and where the answer goes."""

    application: Application
    redirect_uri: str
    state: str | None
    scopes: tuple[str, ...]
    code_challenge: str


class Returned(Exception):
    """The request cannot be granted, and that is told to the application at its own, registered address."""

    def __init__(self, redirect_uri: str, state: str | None, problem: Problem) -> None:
        super().__init__(problem.description)
        self.redirect_uri, self.state, self.problem = redirect_uri, state, problem


def read(request: HttpRequest) -> Asked:
    """The request in the URL, also where a form was posted to it.

    Raises Returned, or Problem where nothing vouches for the address that the answer would go to.
    """
    pairs = of_query(request)
    named = dict(pairs)
    application = _application(named.get("client_id", ""), request)
    try:
        scopes, found = server().validate_authorization_request(f"/?{urlencode(pairs)}", "GET", None, {})
    except errors.FatalClientError as fatal:
        raise Problem("invalid_request", FATAL.get(type(fatal), UNKNOWN)) from None
    except errors.OAuth2Error as refused:
        description = NO_KNOWN_SCOPE if refused.error == "invalid_scope" else refused.description
        raise Returned(refused.redirect_uri, named.get("state"), Problem(refused.error, description)) from None
    return Asked(application, found["redirect_uri"], named.get("state"), tuple(scopes), found["code_challenge"])


def _application(client_id: str, request: HttpRequest) -> Application:
    """The application of this client_id. Only for who is signed in, a document is fetched. Raises Problem."""
    if not client_id:
        raise Problem("invalid_request", "The request does not say which application sent you: client_id is missing.")
    application = documents.known(client_id)
    if request.user.is_authenticated and documents.due(client_id, application):
        spend(rate.ADDRESSES, request)
        application = documents.fetched(client_id, application, request)
        if application is None:
            raise Problem("invalid_request", UNREADABLE)
    if application is None:
        raise Problem("invalid_request", UNKNOWN)
    if not application.active:
        raise Problem("unauthorized_client", BLOCKED, 403)
    return application
