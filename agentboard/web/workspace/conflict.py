"""A newer version was found: what both sides changed is put together, and no word that was typed is lost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import slug
from agentboard.door import refusal_of
from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.difference import LINE_SECONDS, marked
from agentboard.web.workspace.drafts import Draft, oldest
from agentboard.web.workspace.edit import BODY, SAVE, VERSION, address, form_of, from_draft, given_of, rfc3339
from agentboard.web.workspace.form import lf, problems_of
from agentboard.web.workspace.merge import BEFORE, BOTH, CHOICES, MINE, SAVED, Part, build, merged
from agentboard.web.workspace.note import to_note
from agentboard.web.workspace.once import keyed, nonce

TEXT = "text"  # the field with the merged text
SEEN = "seen"  # the version that was put together with mine
FIELDS = ("summary", "use_when", "tags", "status", "review_after", "memory_references", "superseded_by")
EMPTY: Object = {
    **dict.fromkeys(FIELDS),
    "tags": [],
    "memory_references": [],
    "status": "active",
    "body": "",
}
BETWEEN_MAX = 20  # revisions that are named
MARKED_MAX = 4_000  # characters of a clash whose words are compared


@dataclass(frozen=True)
class Sides:
    """The three states of a note: before (None where it is kept no longer, or never was), saved, and mine."""

    draft: Draft
    before: Object | None
    saved: Object
    mine: Object

    @property
    def version(self) -> int:
        """The version that is saved now."""
        return int(self.saved["version"])

    def parts(self) -> list[Part]:
        """The bodies put together."""
        return merged(self.before["body"] if self.before else "", self.saved["body"], self.mine["body"])

    def fields(self, chosen: Mapping[str, str]) -> "list[Choice]":
        """Everything beside the body that differs, with what is taken."""
        found = (self._field(name, chosen) for name in FIELDS)
        return [choice for choice in found if choice is not None]

    def _field(self, name: str, chosen: Mapping[str, str]) -> "Choice | None":
        before = self.before.get(name) if self.before else None
        saved, mine = self.saved[name], self.mine.get(name)
        if comparable(saved) == comparable(mine):
            return None
        clash = self.before is None or (comparable(before) not in (comparable(saved), comparable(mine)))
        takes = SAVED if comparable(before) == comparable(mine) and not clash else MINE
        return Choice(name, saved, mine, clash, chosen.get(f"take.{name}", takes) if clash else takes)


@dataclass(frozen=True)
class Choice:
    """A field that differs; where both sides changed it, which one is taken is asked."""

    name: str
    saved: Any
    mine: Any
    clash: bool
    takes: str

    @property
    def label(self) -> str:
        """Its name in words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def value(self) -> Any:
        """What is taken."""
        return self.saved if self.takes == SAVED else self.mine


@dataclass(frozen=True)
class Place:
    """A place where both sides changed the same lines, as it is shown."""

    number: int
    part: Part
    saved: SafeString | str
    mine: SafeString | str
    choice: str


@require_http_methods(["GET", "HEAD", "POST"])
@of_agent
def merge(request: HttpRequest, acting: Acting, ref: str) -> HttpResponse:
    """The page on which a draft meets the version that was faster."""
    draft = Draft.objects.filter(agent=acting.agent, ref=ref).first()
    if draft is not None and draft.saved_as is not None:  # by the same form, sent twice
        return to_note(acting, draft.note, {"version": draft.saved_as})
    if draft is None or draft.updated_at <= oldest():
        raise Http404
    if slug(draft.note) is not None:  # no note could be called so: there is nothing to meet
        return redirect(f"{address(acting, draft)}?draft={ref}")
    given = request.POST
    if given.get("do") == "drop":
        Draft.objects.drop(acting.agent, ref)
        return redirect("workspace-note", acting.agent.handle, draft.note)
    if given.get("do") == "copy":
        return copied(acting, draft, given)
    try:
        sides = sides_of(acting, draft)
    except Refusal as refused:
        if refused.code != "not_found":
            raise
        return redirect(f"{address(acting, draft)}?draft={ref}")  # it was deleted: there is nothing to put together
    if request.method != "POST" and sides.version == draft.version:
        return redirect(f"{address(acting, draft)}?draft={ref}")  # nothing is newer any more
    if given.get("do") == "save":
        return saved(request, acting, sides, given)
    return shown(request, acting, sides, given)


def sides_of(acting: Acting, draft: Draft) -> Sides:
    """The three states. Raises Refusal where the note is gone."""
    now = acting.done("get_memory", draft.note)
    return Sides(draft, before(acting, draft), now, mine_of(draft))


def before(acting: Acting, draft: Draft) -> Object | None:
    """The note as it was when writing began, or None."""
    if not draft.version:
        return None
    try:
        return acting.done("get_memory", draft.note, version=draft.version)
    except Refusal as refused:
        if refused.code != "not_found":
            raise
        return None


def mine_of(draft: Draft) -> Object:
    """What was typed, in a note's shape."""
    return {**EMPTY, **form_of(from_draft(draft), draft.note).data()}


def comparable(value: Any) -> Any:
    """The same for a value as a note shows it and as a form holds it."""
    if isinstance(value, list):
        return [(item["name"], item["version"]) if isinstance(item, dict) else item for item in value]
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else rfc3339(value)


def shown(
    request: HttpRequest, acting: Acting, sides: Sides, given: QueryDict, refused: Refusal | None = None
) -> HttpResponse:
    """The page: the places that need a choice, and the text as the choices make it or as it was typed."""
    parts = sides.parts()
    choices = chosen(given)
    built = build(parts, choices)
    stood = lf(given.get(TEXT, built))
    typed = stood if refused is not None else built
    context = {
        "acting": acting,
        "section": "memory",
        "draft": sides.draft,
        "sides": sides,
        "between": between(acting, sides),
        "places": [*places(parts, choices)],
        "together": [part for part in parts if part.kind in (SAVED, MINE)],
        "fields": sides.fields(given),
        "text": typed,
        "replaced": stood if stood not in (typed, lf(given.get("built", stood))) else None,
        "size": len(typed.encode()),
        "bytes_max": limits.BODY_MAX,
        "next": sides.version + 1,
        "problems": problems_of(refused) if refused else {},
        "refused": refused,
        "copy": given.get("name", f"{sides.draft.note[: limits.SLUG_MAX - 5]}-mine"),
        "once": nonce(),
        "options": {"both": BOTH, "before": BEFORE},
    }
    status = 200 if refused is None else refused.status if refused.status >= 429 else 422
    return render(request, "workspace/merge.html", context, status=status)


def chosen(given: Mapping[str, str]) -> dict[int, str]:
    """The choices that were made, by the number of the place."""
    made = {name.removeprefix("place."): value for name, value in given.items() if name.startswith("place.")}
    return {int(n): value for n, value in made.items() if n.isascii() and n.isdecimal() and value in CHOICES}


def places(parts: list[Part], choices: Mapping[int, str]) -> Iterator[Place]:
    """The clashing places with what differs in them marked."""
    for number, part in enumerate(part for part in parts if part.kind == "clash"):
        saved, mine = (
            marked(part.saved, part.mine, LINE_SECONDS)
            if len(part.saved) + len(part.mine) <= MARKED_MAX
            else (part.saved, part.mine)
        )
        yield Place(number, part, saved, mine, choices.get(number, MINE))


def between(acting: Acting, sides: Sides) -> list[Object]:
    """The revisions that came while the draft was written, the newest first."""
    found = acting.done("list_memory_revisions", sides.draft.note, limit=BETWEEN_MAX)["items"]
    return [each for each in found if each["version"] > sides.draft.version]


def saved(request: HttpRequest, acting: Acting, sides: Sides, given: QueryDict) -> HttpResponse:
    """Save the text as the next version after the one that was seen; if that is stale too, meet the newer one."""
    note, once, seen = sides.draft.note, given.get("once", ""), str(given.get(SEEN, ""))
    seen_version = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 10 else sides.version
    fields = {name: sides.saved[name] for name in FIELDS} | {each.name: each.value for each in sides.fields(given)}
    data = argued({**fields, "body": lf(given.get(TEXT, "")), "expected_version": seen_version})
    try:
        answer = acting.call(SAVE, note, keyed(SAVE, once, note, data) if once else data)
    except Exception as error:
        refused = refusal_of(error)
        again = kept(acting, sides, data)
        if refused.code == "version_conflict":
            return redirect("workspace-merge", acting.agent.handle, again.ref)
        return shown(request, acting, sides, given, refused)
    response, version = to_note(acting, note, answer.content), seen_version + 1
    Draft.objects.done(sides.draft, version)
    return response


def argued(data: Mapping[str, Any]) -> dict[str, Any]:
    """A note's fields as arguments of save_memory."""
    references = [{"name": each["name"], "version": each["version"]} for each in data["memory_references"]]
    moment = data["review_after"]
    moment = moment if moment is None or isinstance(moment, str) else rfc3339(moment)
    given = {**data, "memory_references": references, "review_after": moment}
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def kept(acting: Acting, sides: Sides, data: Mapping[str, Any]) -> Draft:
    """The merged words as the draft: they are mine now, begun from the version that they were put together with."""
    note = {**EMPTY, **data, "name": sides.draft.note, "version": data["expected_version"], "review_after": None}
    typed = given_of(note)
    typed["data.review_after"] = data.get("review_after", "").removesuffix("Z")
    return Draft.objects.keep(
        acting.agent,
        sides.draft.ref,
        {name: str(value) for name, value in typed.items()},
        note=sides.draft.note,
        version=data["expected_version"],
        conflict=True,
    )


def copied(acting: Acting, draft: Draft, given: QueryDict) -> HttpResponse:
    """Go on with my words as a note of another name."""
    typed = {**draft.fields, "id": given.get("name", ""), VERSION: "0", BODY: draft.fields.get(BODY, "")}
    again = Draft.objects.keep(acting.agent, draft.ref, typed, note=typed["id"], version=0, conflict=False)
    return redirect(f"{reverse('workspace-new', args=[acting.agent.handle])}?draft={again.ref}")
