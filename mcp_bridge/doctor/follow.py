"""Views of the way in, followed from outside: what each answered, told to the doctor."""

import functools
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, HttpResponse, RawPostDataException

from agentboard.identity import keys
from mcp_bridge.doctor import diagnosis, watch
from mcp_bridge.doctor.diagnosis import Diagnosis
from mcp_bridge.doctor.models import Step
from mcp_bridge.doctor.peer import Peer
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.oauth.models import Application, Connection
from mcp_bridge.oauth.parameters import of_form, of_query
from mcp_bridge.oauth.problem import Problem

View = Callable[[HttpRequest], HttpResponse]
Tell = Callable[[HttpRequest, HttpResponse], None]

SERVER_ERROR, TOO_MANY, CREATED, OK = 500, 429, 201, 200

_REASONS = {  # of errors that say all there is to know
    "invalid_redirect_uri": Reason.REDIRECT_URI_REFUSED,
    "invalid_client_metadata": Reason.REGISTRATION_MALFORMED,
    "invalid_target": Reason.RESOURCE_FOREIGN,
    "invalid_scope": Reason.SCOPE_UNKNOWN,
    "access_denied": Reason.CONSENT_DENIED,
    "unsupported_grant_type": Reason.GRANT_UNSUPPORTED,
    "temporarily_unavailable": Reason.TOO_MANY,
}
_SILENT = ("login_required", "consent_required")  # to who asked without a page; the next request asks with one


def followed_by(tell: Tell) -> Callable[[View], View]:
    """A decorator of views: once the view has answered, `tell` looks on, and the answer stays what it is."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def followed(request: HttpRequest) -> HttpResponse:
            response = view(request)
            if response.status_code < SERVER_ERROR and request.method in ("GET", "POST"):
                with watch.quietly():
                    tell(request, response)
            return response

        return followed

    return decorate


@followed_by
def discovery(request: HttpRequest, response: HttpResponse) -> None:
    """Metadata was read."""
    watch.reached(Step.DISCOVERY, Peer.of(request))


@followed_by
def registration(request: HttpRequest, response: HttpResponse) -> None:
    """An application registered itself, or could not."""
    peer, told = Peer.of(request), _json(response)
    if response.status_code == CREATED:
        watch.reached(Step.REGISTRATION, peer, client_id=str(told["client_id"]), client=str(told["client_name"]))
    elif reason := _REASONS.get(told.get("error", "")):
        watch.stopped(Step.REGISTRATION, reason, peer)


@followed_by
def consent(request: HttpRequest, response: HttpResponse) -> None:
    """A person was asked to sign in or to allow an application, or answered, or could not be asked."""
    asked = _parameters(request, of_query)
    told = parse_qs(urlsplit(response.get("Location", "")).query)
    if "code" in told:
        _allowed(request, told["code"][0])
    elif reason := _not_allowed(request, response, asked, told.get("error", [""])[0]):
        watch.stopped(Step.CONSENT, reason, Peer.of(request), **_about(request, asked))


@followed_by
def token(request: HttpRequest, response: HttpResponse) -> None:
    """Tokens were given for a code or a refresh token, or refused."""
    given, told, peer = _parameters(request, of_form), _json(response), Peer.of(request)
    if response.status_code != OK:
        _refused(given, told, peer)
    elif given.get("grant_type") == "refresh_token":
        watch.settled(peer)
    else:
        digest = keys.digest(str(told["access_token"]))
        _reached(Step.TOKEN, peer, Connection.objects.filter(access_tokens__token_checksum=digest))


def _allowed(request: HttpRequest, code: str) -> None:
    _reached(Step.CONSENT, Peer.of(request), Connection.objects.filter(code_digest=keys.digest(code)))


def _reached(step: Step, peer: Peer, connections: Any) -> None:
    """The step of the one connection."""
    found = connections.select_related("application").first()
    if found is not None:
        watch.reached(step, peer, **watch.about(found))


def _not_allowed(request: HttpRequest, response: HttpResponse, asked: dict[str, str], error: str) -> Reason | None:
    """Why there is no code yet; None where nothing is new."""
    if response.status_code == TOO_MANY:
        return Reason.TOO_MANY
    if error:
        return None if error in _SILENT else _REASONS.get(error) or _malformed(asked)
    if "Location" in response:
        return Reason.SIGN_IN_OPEN
    if response.status_code == OK:
        return Reason.CONSENT_OPEN
    if request.method == "POST":
        return None  # the form was filled in wrongly, and is open still
    if "client_id" not in asked:
        return Reason.REQUEST_MALFORMED
    return diagnosis.of_client(asked["client_id"]) or Reason.REDIRECT_URI_DIFFERS


def _malformed(asked: dict[str, str]) -> Reason:
    with_pkce = asked.get("code_challenge") and asked.get("code_challenge_method") == "S256"
    return Reason.REQUEST_MALFORMED if with_pkce else Reason.PKCE_MISSING


def _about(request: HttpRequest, asked: dict[str, str]) -> dict[str, Any]:
    """Who asks whom, as far as the request and the session tell."""
    client_id = asked.get("client_id", "")
    name = Application.objects.filter(client_id=client_id).values_list("name", flat=True).first()
    return {"client_id": client_id, "client": name or "", "person": request.user.pk}


def _refused(given: dict[str, str], told: dict[str, Any], peer: Peer) -> None:
    error = told.get("error", "")
    if error == "invalid_grant":
        found = diagnosis.of_grant(given)
    elif error in ("invalid_client", "unauthorized_client"):
        found = Diagnosis(diagnosis.of_client(given.get("client_id", "")) or Reason.REQUEST_MALFORMED)
    else:
        found = Diagnosis(_REASONS.get(error, Reason.REQUEST_MALFORMED))
    about = {"client_id": given.get("client_id", "")} if found.connection is None else watch.about(found.connection)
    watch.stopped(Step.TOKEN, found.reason, peer, **about)


def _json(response: HttpResponse) -> dict[str, Any]:
    """The object that the view answered."""
    content: dict[str, Any] = json.loads(response.content or b"{}")
    return content


def _parameters(request: HttpRequest, read: Callable[[HttpRequest], list[tuple[str, str]]]) -> dict[str, str]:
    """The request's parameters; none where the view could not read them either."""
    try:
        return dict(read(request))
    except (Problem, RawPostDataException):
        return {}
