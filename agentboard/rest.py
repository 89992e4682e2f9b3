"""The REST door, the side of Django REST Framework: routes and views drawn from the catalog."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import URLPattern, path
from rest_framework import exceptions, negotiation, parsers, renderers, views
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from agentboard import rate
from agentboard.call import call
from agentboard.catalog import CATALOG
from agentboard.contract import document, openapi
from agentboard.contract.body import json_object, query_arguments
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.method import Answer, Method
from agentboard.door import refusal_of
from agentboard.identity.caller import Caller, from_key

VIA = "rest"


class JsonParser(parsers.BaseParser):
    """One JSON object in UTF-8, whatever charset the header claims (RFC 8259, section 8.1)."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """The object; raises Refusal."""
        return json_object(stream.read())


class JsonRenderer(renderers.BaseRenderer):
    """Compact JSON; times in RFC 3339, UTC, with Z."""

    media_type, format, charset = "application/json", "json", None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """The bytes."""
        return orjson.dumps(data, option=orjson.OPT_UTC_Z)


class AgentKey(BaseAuthentication):
    """The agent key in the Authorization header; nothing else opens this door, no cookie and no OAuth token."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """The caller. Raises Refusal; a failed credential costs its address one call of its budget."""
        header = request.META.get("HTTP_AUTHORIZATION", "")
        try:
            return from_key(header, VIA), None
        except Refusal as refused:
            rate.spend_address(address(request))
            error = ', error="invalid_token"' if header else ""
            raise WithHeaders(refused, {"WWW-Authenticate": f'Bearer realm="AgentBoard"{error}'}) from None


class WithHeaders(Exception):
    """A refusal whose answer has further headers."""

    def __init__(self, refusal: Refusal, headers: Mapping[str, str]) -> None:
        super().__init__(refusal.message)
        self.refusal, self.headers = refusal, headers


class Negotiation(negotiation.DefaultContentNegotiation):
    """JSON in, JSON out. DRF's choice for an Accept header is remembered: making one anew costs 40 µs."""

    REMEMBERED_MAX = 256

    def __init__(self) -> None:
        self._chosen: dict[str, Any] = {}

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """The parser of the body's media type, whatever its parameters, or None; `*/*` is the type of no body."""
        sent = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == sent), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The JSON renderer; raises NotAcceptable."""
        accept = request.META.get("HTTP_ACCEPT", "")
        if accept in self._chosen:
            return self._chosen[accept]
        # Without a suffix DRF would look for ?format= in the query, which is the method's alone.
        choice = super().select_renderer(request, renderers, JsonRenderer.format)
        if len(accept) <= 128 and len(self._chosen) < self.REMEMBERED_MAX:
            self._chosen[accept] = choice
        return choice

    def get_accept_list(self, request: Request) -> list[str]:
        """The media types of the Accept header; an empty one admits all, as a missing one does."""
        return super().get_accept_list(request) or ["*/*"]


RENDERER = JsonRenderer()


class BoardView(views.APIView):
    """What all views of this door share: the policies, made once, and the one shape of errors."""

    authentication_classes: Sequence[Any] = ()
    permission_classes: Sequence[Any] = ()
    throttle_classes: Sequence[Any] = ()
    _parsers, _renderers, _authenticators = [JsonParser()], [RENDERER], [AgentKey()]
    _negotiator: Any = Negotiation()
    http_method_names = ("get", "post", "head")

    def get_parsers(self) -> Any:
        """The shared parser."""
        return self._parsers

    def get_renderers(self) -> Any:
        """The shared renderer."""
        return self._renderers

    def get_authenticators(self) -> Any:
        """None: MethodView asks for the caller where its method needs one."""
        return []

    def perform_authentication(self, request: Request) -> None:
        """Nothing, for the same reason; DRF would make an AnonymousUser."""

    def get_permissions(self) -> Any:
        """None: scopes and roles are the call's business."""
        return []

    default_response_headers: dict[str, str] = {}  # the door adds what every answer carries

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The response as it is: the door renders it."""
        return response

    def handle_exception(self, exc: Exception) -> Response:
        """Any exception as the error object with its headers; what nobody foresaw is logged and says nothing."""
        refusal, headers = refused(exc)
        if refusal.code == "method_not_allowed":
            headers = {**headers, "Allow": ", ".join(self.allowed_methods)}
        if wait := refusal.more.get("retry_after_seconds"):
            headers = {**headers, "Retry-After": str(wait)}
        response = Response(refusal.as_json(), status=refusal.status, headers=dict(headers))
        response.exception = True
        return response


def refused(error: Exception) -> tuple[Refusal, Mapping[str, str]]:
    """The refusal that an exception means, and further headers."""
    match error:
        case WithHeaders():
            return error.refusal, error.headers
        case exceptions.UnsupportedMediaType():
            return Refusal("unsupported_media_type", "The body's Content-Type is not application/json."), {}
        case exceptions.NotAcceptable():
            return Refusal("not_acceptable", "The Accept header admits no application/json, which is all there is."), {}
        case exceptions.MethodNotAllowed():
            return Refusal("method_not_allowed", "This path does not take that HTTP method."), {}
        case exceptions.ParseError():
            return Refusal("invalid_json", "The request could not be read."), {}
        case exceptions.NotFound() | Http404():
            return Refusal("not_found", "There is no such path.", next_action="See /v1/help for all paths."), {}
    return refusal_of(error), {}


class MethodView(BoardView):
    """All methods at one path, by HTTP verb."""

    methods: Mapping[str, Method] = {}

    def get(self, request: Request, id: str | None = None) -> Response:
        """A read."""
        return self._act(request, "GET", id)

    head = get

    def post(self, request: Request, id: str | None = None) -> Response:
        """A write."""
        return self._act(request, "POST", id)

    @property
    def allowed_methods(self) -> list[str]:
        """The verbs of this path."""
        return [*self.methods, *(["HEAD"] if "GET" in self.methods else [])]

    def _act(self, request: Request, verb: str, resource: str | None) -> Response:
        method = self.methods.get(verb)
        if method is None:
            raise exceptions.MethodNotAllowed(verb)
        http: HttpRequest = request._request
        http.agentboard_method = method.name  # type: ignore[attr-defined]  # for the door's log line
        if method.public:
            return self._anonymous(request, method, resource)
        caller, _ = self._authenticators[0].authenticate(request)
        http.agentboard_agent = caller.handle  # type: ignore[attr-defined]
        answer = call(method, caller, lambda: (resource, arguments_of(request, method)))
        return self._answered(answer, rate.AGENTS.look(caller.agent_id))

    def _anonymous(self, request: Request, method: Method, resource: str | None) -> Response:
        budget = rate.spend_address(address(request))
        arguments = method.check(resource, arguments_of(request, method))
        return self._answered(method.run(None, **arguments), budget)

    def _answered(self, answer: Answer, budget: rate.Budget) -> Response:
        headers = {
            "RateLimit-Policy": f'"{budget.name}";q={budget.per_minute};w=60',
            "RateLimit": f'"{budget.name}";r={budget.remaining};t={budget.reset_seconds}',
        }
        response = Response(answer.content, status=201 if answer.created else 200, headers=headers)
        if answer.wait is not None:
            response.agentboard_wait = answer.wait  # type: ignore[attr-defined]  # the door waits, not this thread
        return response


def arguments_of(request: Request, method: Method) -> Mapping[str, Any]:
    """`data` as this door brings it: the query of a read, the body of a write."""
    query = request.META.get("QUERY_STRING", "")
    if method.reads:
        return query_arguments(query, method.arguments)
    if query:
        raise invalid("query", f"{method.name} takes its arguments in the body, none in the query")
    data: Mapping[str, Any] = request.data
    return data


def address(request: Request) -> str:
    """The client's address; behind a proxy that the server trusts, the one the proxy names."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


class OpenApiView(BoardView):
    """GET /v1/openapi.json"""

    def get(self, request: Request) -> Response:
        """The document; the same for everybody."""
        rate.spend_address(address(request))
        return Response(openapi_document())

    head = get

    @property
    def allowed_methods(self) -> list[str]:
        """Reading only."""
        return ["GET", "HEAD"]


@cache
def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of this server."""
    return openapi.document(CATALOG.values(), settings.PUBLIC_URL)


class RefusalView(BoardView):
    """Answers with the exception that the door has put on the request."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise it."""
        raise request._request.agentboard_refusal  # type: ignore[attr-defined]


def routes() -> list[URLPattern]:
    """One view for each path, with its verbs."""
    by_path: dict[str, dict[str, Method]] = defaultdict(dict)
    for method in CATALOG.values():
        for template in document.paths(method):
            by_path[template][method.verb] = method
    found = [path("v1/openapi.json", OpenApiView.as_view())]
    for template, methods in sorted(by_path.items(), key=lambda pair: -len(pair[1])):  # the busiest are tried first
        route = "v1/" + template.replace("{id}", "<str:id>")
        found.append(path(route, MethodView.as_view(methods=methods)))
    return found


urlpatterns = routes()
