"""What the endpoints for programs answer: JSON, to scripts of any site, since nothing here works by cookie."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from agentboard import rate
from agentboard.contract.errors import Refusal
from mcp_bridge.address import own_origin
from mcp_bridge.oauth.problem import Problem, too_many

PREFLIGHT_SECONDS = 86_400
View = Callable[[HttpRequest], HttpResponse]


def endpoint(method: str) -> Callable[[View], View]:
    """A view for programs: takes this one method and preflights, and answers its Problems as JSON."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @functools.wraps(view)
        def answered(request: HttpRequest) -> HttpResponse:
            if request.method == "OPTIONS":
                return _open(_preflight(method))
            try:
                return _open(_served(request, method, view))
            except Problem as problem:
                return _open(refused(problem))

        return answered

    return decorate


def refused(problem: Problem) -> HttpResponse:
    """The problem as RFC 6749, section 5.2, has it; a 401 names the scheme that section 11.6.1 of RFC 9110 wants."""
    headers = {"WWW-Authenticate": f'Bearer error="{problem.error}"'} if problem.status == 401 else {}
    return unstored(problem.parameters, problem.status, {**headers, **problem.headers})


def unstored(content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """JSON that no cache keeps (RFC 6749, section 5.1)."""
    return JsonResponse(content, status=status, headers={"Cache-Control": "no-store", **(headers or {})})


def origin(request: HttpRequest) -> str:
    """The origin by which the client reached this server: the issuer, in its eyes."""
    return own_origin(request.scheme or "http", request.get_host())


def address(request: HttpRequest) -> str:
    """The client's address; behind a proxy that the server trusts, the one the proxy names."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def spend(budgets: rate.Buckets, request: HttpRequest) -> None:
    """Take one request from the address's budget. Raises Problem 429."""
    try:
        budgets.take(address(request))
    except Refusal as limited:
        raise too_many(limited.more["retry_after_seconds"]) from None


def _served(request: HttpRequest, method: str, view: View) -> HttpResponse:
    if request.method != method and not (method == "GET" and request.method == "HEAD"):
        raise Problem("invalid_request", f"This address takes {method} only.", 405, {"Allow": f"{method}, OPTIONS"})
    return view(request)


def _preflight(method: str) -> HttpResponse:
    headers = {
        "Access-Control-Allow-Methods": method,
        "Access-Control-Allow-Headers": "*, Authorization",  # the wildcard does not cover this one (Fetch, CORS)
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
    return HttpResponse(status=204, headers=headers)


def _open(response: HttpResponse) -> HttpResponse:
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = "Retry-After, WWW-Authenticate"
    return response
