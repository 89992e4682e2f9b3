"""Writing a note: the form of save_memory, laid out for writing, with drafts that outlive every refusal."""

from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import slug
from agentboard.door import refusal_of
from agentboard.web import markdown
from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.answer import printed
from agentboard.web.workspace.drafts import Draft
from agentboard.web.workspace.form import Form, Given, Problems, lf, problems_of, with_row, without_row
from agentboard.web.workspace.note import file, to_note
from agentboard.web.workspace.once import keyed, nonce

SAVE = CATALOG["save_memory"]
BODY, VERSION = "data.body", "data.expected_version"
OF_PAGE = ("csrfmiddlewaretoken", "do", "draft", "once")  # fields that no draft keeps
CREATE = "0"


@require_http_methods(["GET", "HEAD", "POST"])
@of_agent
def edit(request: HttpRequest, acting: Acting, name: str) -> HttpResponse:
    """The form of one note."""
    if request.method == "POST":
        return acted(request, acting, request.POST, name)
    draft = asked_for(request, acting)
    if draft is not None:
        return written(request, acting, from_draft(draft), name, draft=draft)
    note = acting.done("get_memory", name)
    others = Draft.objects.living(acting.agent).filter(note=name)
    return written(request, acting, given_of(note), name, others=list(others[:5]))


@require_http_methods(["GET", "HEAD", "POST"])
@of_agent
def new(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The form of a note that does not exist yet."""
    if request.method == "POST":
        return acted(request, acting, request.POST, None)
    draft = asked_for(request, acting)
    given = from_draft(draft) if draft else QueryDict(mutable=True)
    if draft is None:
        given["id"] = request.GET.get("id", "")
        given[VERSION] = CREATE
    return written(request, acting, given, None, draft=draft)


def asked_for(request: HttpRequest, acting: Acting) -> Draft | None:
    """The draft that the address names. Raises Http404 where it is none of this agent's."""
    ref = request.GET.get("draft")
    if not ref:
        return None
    draft = Draft.objects.living(acting.agent).filter(ref=ref).first()
    if draft is None:
        raise Http404
    return draft


def acted(request: HttpRequest, acting: Acting, given: Given, name: str | None) -> HttpResponse:
    """What a button of the form does."""
    act, _, about = given.get("do", "").partition(":")
    if act == "add":
        return written(request, acting, with_row(given, SAVE, about), name)
    if act == "drop":
        return written(request, acting, without_row(given, about), name)
    if act == "preview":
        return written(request, acting, given, name, draft=kept(acting, given, name), preview=True)
    return saved(request, acting, given, name)


def saved(request: HttpRequest, acting: Acting, given: Given, name: str | None) -> HttpResponse:
    """Save, and go to the note; whatever stands in the way, the words are kept and shown again."""
    form, once = form_of(given, name), given.get("once", "")
    try:
        data = form.data()
        answer = acting.call(SAVE, form.id, keyed(SAVE, once, form.id, data) if once else data)
    except Exception as error:
        return kept_from(request, acting, given, name, refusal_of(error))
    Draft.objects.drop(acting.agent, given.get("draft", ""))
    return to_note(acting, form.id or "", answer.content)


def kept_from(request: HttpRequest, acting: Acting, given: Given, name: str | None, refused: Refusal) -> HttpResponse:
    """After a refusal: putting the versions together where somebody was faster, else the form with what is wrong."""
    conflict = refused.code == "version_conflict"
    draft = kept(acting, given, name, conflict=conflict)
    if conflict:
        return redirect("workspace-merge", acting.agent.handle, draft.ref)
    problems = problems_of(refused)
    if refused.code == "not_found" and given.get(VERSION, CREATE) != CREATE:
        given = given.copy()
        given[VERSION] = CREATE  # it was deleted meanwhile: the next press makes it anew
        problems = {"": "This note was deleted meanwhile. Your text is still here; saving it makes the note anew."}
    response = written(request, acting, given, name, draft=draft, problems=problems, refused=refused)
    if wait := refused.more.get("retry_after_seconds"):
        response["Retry-After"] = str(wait)
    return response


def kept(acting: Acting, given: Given, name: str | None, conflict: bool = False) -> Draft:
    """The draft of what was typed."""
    typed = {field: lf(str(value)) for field, value in given.items() if field not in OF_PAGE}
    note, version = name or given.get("id", ""), str(given.get(VERSION, CREATE))
    known = slug(note) is None and version.isascii() and version.isdecimal() and len(version) < 10
    return Draft.objects.keep(
        acting.agent,
        given.get("draft", ""),
        typed,
        note=note,
        version=int(version) if known else 0,
        conflict=conflict,
    )


def written(
    request: HttpRequest,
    acting: Acting,
    given: Given,
    name: str | None,
    *,
    draft: Draft | None = None,
    others: list[Draft] | None = None,
    problems: Problems | None = None,
    refused: Refusal | None = None,
    preview: bool = False,
) -> HttpResponse:
    """The page with the form."""
    form = form_of(given, name, problems)
    inputs = {each.path: each for each in form.inputs}
    version = str(given.get(VERSION, CREATE))
    context = {
        "acting": acting,
        "section": "memory",
        "name": name,
        "form": form,
        "version": version,
        "next": int(version) + 1 if version.isdecimal() else 1,
        "id": inputs["id"],
        "body": inputs["body"],
        "first": [inputs[path] for path in ("summary", "tags")],
        "more": [inputs[path] for path in more_fields(version)],
        "unfolded": any(inputs[path].faulty for path in more_fields(version)),
        "problems": form.problem_list(),
        "refused": refused,
        "draft": draft or known_draft(acting, given),
        "others": others or [],
        "preview": markdown.render(inputs["body"].typed) if preview else None,
        "once": given.get("once") or nonce(),
        "bytes_max": limits.BODY_MAX,
    }
    status = 200 if refused is None else refused.status if refused.status >= 429 else 422
    return render(request, "workspace/edit.html", context, status=status)


def more_fields(version: str) -> tuple[str, ...]:
    """The arguments that are folded away; only a new note can take the place of another."""
    always = ("use_when", "status", "review_after", "memory_references", "superseded_by")
    return (*always, "supersedes") if version == CREATE else always


def known_draft(acting: Acting, given: Given) -> Draft | None:
    """The draft that the form has named."""
    ref = given.get("draft")
    return Draft.objects.living(acting.agent).filter(ref=ref).first() if ref else None


def form_of(given: Given, name: str | None, problems: Problems | None = None) -> Form:
    """The form of save_memory; the name of a note that exists is that of the address."""
    if name is not None:
        given = given.copy()
        given["id"] = name
    return Form(SAVE, given, problems or {})


def given_of(note: Object) -> QueryDict:
    """A note as its form holds it."""
    given = QueryDict(mutable=True)
    given["id"], given[VERSION] = note["name"], str(note["version"])
    for name in ("body", "summary", "use_when", "status", "superseded_by"):
        given[f"data.{name}"] = note[name] or ""
    given["data.tags"] = ", ".join(note["tags"])
    given["data.review_after"] = moment_text(note["review_after"])
    for number, reference in enumerate(note["memory_references"]):
        for part in ("name", "version"):
            given[f"data.memory_references.{number}.{part}"] = str(reference[part])
    return given


def rfc3339(moment: datetime) -> str:
    """The moment as answers show it."""
    return printed([moment])[1:-1].strip().strip('"')


def moment_text(moment: datetime | None) -> str:
    """A moment as the browser's control for times holds it; one that it cannot hold as RFC 3339 writes it."""
    if moment is None:
        return ""
    return rfc3339(moment) if moment.microsecond else rfc3339(moment).removesuffix("Z")


def from_draft(draft: Draft) -> QueryDict:
    """What a draft holds, as its form."""
    given = QueryDict(mutable=True)
    for name, value in draft.fields.items():
        given[name] = value
    given["draft"] = draft.ref
    return given


# ---- drafts by themselves


@require_POST
@of_agent
def keep(request: HttpRequest, acting: Acting) -> HttpResponse:
    """Keep what was typed so far; the page's script asks for it. Answers the draft's id."""
    draft = kept(acting, request.POST, request.POST.get("id"))
    return JsonResponse({"draft": draft.ref, "kept_until": draft.kept_until.isoformat()})


@require_safe
@of_agent
def go_on(request: HttpRequest, acting: Acting, ref: str) -> HttpResponse:
    """Lead to where a draft is gone on with."""
    draft = one(acting, ref)
    if draft.conflict:
        return redirect("workspace-merge", acting.agent.handle, ref)
    return redirect(f"{address(acting, draft)}?draft={ref}")


@require_POST
@of_agent
def drop(request: HttpRequest, acting: Acting, ref: str) -> HttpResponse:
    """Forget a draft; leads to its note, or home."""
    draft = one(acting, ref)
    Draft.objects.drop(acting.agent, ref)
    if draft.version:
        return redirect("workspace-note", acting.agent.handle, draft.note)
    return redirect("workspace-home", acting.agent.handle)


@require_safe
@of_agent
def download(request: HttpRequest, acting: Acting, ref: str) -> HttpResponse:
    """The text of a draft as a file."""
    draft = one(acting, ref)
    return file(f"{ref}.md", draft.fields.get(BODY, ""))


def one(acting: Acting, ref: str) -> Draft:
    """A draft of this agent. Raises Http404."""
    draft = Draft.objects.living(acting.agent).filter(ref=ref).first()
    if draft is None:
        raise Http404
    return draft


def address(acting: Acting, draft: Draft) -> str:
    """The page on which a draft is written."""
    if draft.version:
        return reverse("workspace-edit", args=[acting.agent.handle, draft.note])
    return reverse("workspace-new", args=[acting.agent.handle])
