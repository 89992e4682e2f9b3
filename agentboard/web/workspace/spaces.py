"""Spaces as their members see them: entries, tasks by state, members, and what was proved."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentboard.catalog import CATALOG
from agentboard.web import markdown
from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.activity import more
from agentboard.web.workspace.form import Form
from agentboard.web.workspace.methods import Turn, answer_page
from agentboard.web.workspace.note import number, revised
from agentboard.web.workspace.once import keyed, nonce

PAGE, TASKS = 25, 100
TABS = {"entries": "Entries", "tasks": "Tasks", "members": "Members"}
STATES = CATALOG["list_space_entries"].arguments["state"].schema["enum"]
FILTERS = ("q", "kind", "tag")
REVISIONS = 12


@require_safe
@of_agent
def spaces(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The spaces that the agent is a member of, or all public ones."""
    scope = "public" if request.GET.get("scope") == "public" else "mine"
    found = acting.done("list_spaces", scope=scope, cursor=request.GET.get("cursor") or None, limit=PAGE)
    context = {
        "acting": acting,
        "section": "spaces",
        "spaces": found["items"],
        "scope": scope,
        "later": "cursor" in request.GET,
        "next": more(found, {"scope": scope}),
    }
    return render(request, "workspace/spaces.html", context)


@require_safe
@of_agent
def space(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """One space."""
    tab = request.GET.get("tab", "entries")
    tab = tab if tab in TABS else "entries"
    context = {
        "acting": acting,
        "section": "spaces",
        "space": acting.done("get_space", id),
        "tab": tab,
        "tabs": [(value, words, value == tab) for value, words in TABS.items()],
        **PARTS[tab](request, acting, id),
    }
    return render(request, "workspace/space.html", context)


def entries(request: HttpRequest, acting: Acting, id: str) -> Object:
    """A page of entries under the filters of the address."""
    given = {name: request.GET[name] for name in FILTERS if request.GET.get(name)}
    archived = request.GET.get("archived") == "true"
    found = acting.done(
        "list_space_entries", id, **given, archived=archived, limit=PAGE, cursor=request.GET.get("cursor") or None
    )
    given |= {"archived": "true"} if archived else {}
    kinds = CATALOG["list_space_entries"].arguments["kind"].schema["enum"]
    return {
        "entries": found["items"],
        "given": given,
        "archived": archived,
        "kinds": [(kind, kind.capitalize(), kind == given.get("kind")) for kind in kinds],
        "without_tag": urlencode({name: value for name, value in given.items() if name != "tag"}),
        "later": "cursor" in request.GET,
        "next": more(found, given),
    }


def tasks(request: HttpRequest, acting: Acting, id: str) -> Object:
    """The tasks by state, as many as one call gives."""
    found = acting.done("list_space_entries", id, kind="TASK", limit=TASKS)
    columns = [(state, [each for each in found["items"] if each["task"]["state"] == state]) for state in STATES]
    return {"columns": columns, "more_tasks": "next_cursor" in found}


def members(request: HttpRequest, acting: Acting, id: str) -> Object:
    """Nothing that the space does not tell itself."""
    return {}


PARTS = {"entries": entries, "tasks": tasks, "members": members}


@require_safe
@of_agent
def entry(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """One entry, or what an earlier version said, with its evidence and its past."""
    version = number(request, "version")
    cursor = request.GET.get("cursor") or None
    found = acting.done("get_space_entry", id, version=version, cursor=cursor)
    revisions = acting.done("list_entry_revisions", id, limit=REVISIONS)["items"]
    evidence = [{**each, "html": markdown.render(each["body"])} for each in found["evidence"]["items"]]
    current = revisions[0]["version"] if revisions else found["version"]
    context = {
        "acting": acting,
        "section": "spaces",
        "entry": found,
        "html": markdown.render(found["body"], below=1),
        "result": markdown.render(found["task"]["result"] or "") if found.get("task") else "",
        "evidence": evidence,
        "next": more(found["evidence"], {}),
        "revisions": revised(revisions),
        "current": current,
        "old": version is not None and version != current,
        "once": nonce(),
        "states": CATALOG["update_task"].arguments["state"].schema["enum"],
        "open": found.get("task") is not None and found["task"]["state"] == "open",
        "held": found.get("task") is not None and found["task"]["assignee"] == acting.agent.handle,
    }
    return render(request, "workspace/entry.html", context)


@require_safe
@of_agent
def edit(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """The form of the method that writes an entry's next version, filled in with what it says now."""
    found = acting.done("get_space_entry", id)
    method = CATALOG["publish_knowledge" if found["kind"] == "KNOWLEDGE" else "update_space_entry"]
    given = QueryDict(mutable=True)
    given["agent"], given["id"], given["data.expected_version"] = acting.agent.handle, id, str(found["version"])
    for name in ("title", "body", "summary", "priority"):
        if name in method.arguments and found[name] is not None:
            given[f"data.{name}"] = str(found[name])
    given["data.tags"] = ", ".join(found["tags"])
    given["data.pinned"] = "true" if found["pinned"] else "false"
    return answer_page(request, Turn(acting, method, given))


ACTS = ("claim_task", "release_task", "update_task", "archive_space_entry", "restore_space_entry", "add_evidence")


@require_POST
@of_agent
def act(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """Do one of the things that the page of an entry has a button for; leads back to the entry. Raises Refusal."""
    name = request.POST.get("do", "")
    if name not in ACTS:
        raise Http404
    done(acting, name, id, request.POST)
    return redirect("workspace-entry", acting.agent.handle, id)


def done(acting: Acting, name: str, id: str, posted: Any) -> Mapping[str, Any]:
    """Call a method with what its small form holds, once for each showing of it. Raises Refusal."""
    method, once = CATALOG[name], posted.get("once", "")
    data = Form(method, posted, {}).data()
    answer = acting.call(method, id, keyed(method, once, id, data) if once else data)
    return answer.content
