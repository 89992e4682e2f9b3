"""A note: read, compared with what it was, restored, reviewed."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.web import markdown
from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.difference import table
from agentboard.web.workspace.form import utc
from agentboard.web.workspace.once import keyed, nonce
from agentboard.web.workspace.request import Call, curl

TABS = {"read": "Read", "changes": "Changes", "links": "Links", "raw": "Raw"}
REVISIONS = 12  # on a page


@require_safe
@of_agent
def note(request: HttpRequest, acting: Acting, name: str) -> HttpResponse:
    """One note, or what a retained version of it held. At most 12 queries."""
    tab = request.GET.get("tab", "read")
    tab = tab if tab in TABS else "read"
    version = number(request, "version")
    shown = acting.done("get_memory", name, version=version)
    revisions = acting.done("list_memory_revisions", name, limit=REVISIONS, cursor=request.GET.get("cursor"))
    context = {
        "acting": acting,
        "section": "memory",
        "note": shown,
        "tab": tab,
        "tabs": [(value, words, value == tab) for value, words in TABS.items()],
        "old": version is not None and not any(r["current"] for r in revisions["items"] if r["version"] == version),
        "revisions": revised(revisions["items"]),
        "older": revisions.get("next_cursor"),
        "saved": number(request, "saved"),
        "once": nonce(),
        "bytes_max": limits.BODY_MAX,
        "twin": curl(Call(CATALOG["get_memory"], name, {} if version is None else {"version": version})),
        **PARTS[tab](request, acting, shown, revisions["items"]),
    }
    return render(request, "workspace/note.html", context)


def read(request: HttpRequest, acting: Acting, shown: Object, revisions: list[Object]) -> Object:
    """The text as a page."""
    return {"html": markdown.render(shown["body"], below=1)}


def raw(request: HttpRequest, acting: Acting, shown: Object, revisions: list[Object]) -> Object:
    """The text as it is."""
    return {}


def links(request: HttpRequest, acting: Acting, shown: Object, revisions: list[Object]) -> Object:
    """The notes it rests on, each with why it is stale."""
    stale = {(each["name"], each["version"]): each["reasons"] for each in shown["stale_references"]}
    references = [{**r, "reasons": stale.get((r["name"], r["version"]), [])} for r in shown["memory_references"]]
    return {"references": references}


def changes(request: HttpRequest, acting: Acting, shown: Object, revisions: list[Object]) -> Object:
    """What differs between two versions; without them, what the latest change did."""
    since, upto = number(request, "from"), number(request, "to")
    try:
        found = acting.done("compare_memory", shown["name"], **{"from": since, "to": upto})
    except Refusal as refused:
        return {"unknown": refused, "from": since, "to": upto}
    sizes = {each["version"]: each["bytes"] for each in revisions} | {0: 0}
    known = found["from"] in sizes and found["to"] in sizes
    return {
        "comparison": found,
        "table": table(found["diff"]),
        "grown": sizes[found["to"]] - sizes[found["from"]] if known else None,
        "from": found["from"],
        "to": found["to"],
        "one_column": request.GET.get("as") == "one",
        "twin": curl(Call(CATALOG["compare_memory"], shown["name"], {"from": found["from"], "to": found["to"]})),
    }


PARTS = {"read": read, "changes": changes, "links": links, "raw": raw}


def revised(revisions: list[Object]) -> list[Object]:
    """The revisions, each with how many bytes it is larger than the one before it on the page."""
    before = [*revisions[1:], None]
    return [
        {**each, "grown": each["bytes"] - older["bytes"] if older else None}
        for each, older in zip(revisions, before, strict=True)
    ]


def number(request: HttpRequest, name: str) -> int | None:
    """A whole number of the address that could be a version; anything else counts as none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) else None


@require_safe
@of_agent
def text(request: HttpRequest, acting: Acting, name: str) -> HttpResponse:
    """The text of a note as a file."""
    shown = acting.done("get_memory", name, version=number(request, "version"))
    return file(f"{shown['name']}.r{shown['version']}.md", shown["body"])


def file(name: str, body: str) -> HttpResponse:
    """A download of markdown."""
    response = HttpResponse(body.encode(), content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@of_agent
def restore(request: HttpRequest, acting: Acting, name: str) -> HttpResponse:
    """Make an earlier version the next one; leads to the note."""
    return changed(request, acting, "restore_memory", name, ("version", "expected_version"))


@require_POST
@of_agent
def review(request: HttpRequest, acting: Acting, name: str) -> HttpResponse:
    """Say that the note is still right, and when to look again; leads to the note."""
    when = request.POST.get("review_after")
    more = {"review_after": utc(when)} if when else {}
    return changed(request, acting, "mark_memory_reviewed", name, ("expected_version",), more)


def changed(
    request: HttpRequest,
    acting: Acting,
    method: str,
    name: str,
    numbers: tuple[str, ...],
    more: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Do it, once for each showing of its form, and go to the note. Raises Refusal."""
    data = {**{each: posted_number(request, each) for each in numbers}, **(more or {})}
    once = request.POST.get("once", "")
    answer = acting.call(CATALOG[method], name, keyed(CATALOG[method], once, name, data) if once else data)
    return to_note(acting, name, answer.content)


def posted_number(request: HttpRequest, name: str) -> Any:
    """A whole number of the form; what is none stays text, for the schema to refuse."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def to_note(acting: Acting, name: str, answer: Mapping[str, Any]) -> HttpResponse:
    """To the note at the version that a write has answered, or the receipt of its repeat."""
    version = answer["version"] if "version" in answer else answer["operation"]["version"]
    address = reverse("workspace-note", args=[acting.agent.handle, name])
    return redirect(f"{address}?saved={version}")
