"""/workspace: the form of a method, or the choice among my agents."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agentboard.web.workspace import methods
from agentboard.web.workspace.acting import mine, page


@page
def workspace(request: HttpRequest) -> HttpResponse:
    """The form of ?method=NAME; else my agents, and with only one of them its home."""
    if "method" in request.GET:
        return methods.form(request, request.GET["method"])
    agents = mine(request)
    if len(agents) == 1 and agents[0].active and "all" not in request.GET:
        return redirect("workspace-home", agents[0].handle)
    return render(request, "workspace/agents.html", {"agents": agents})
