"""The methods of memory. A new one is a row here and a manager method in models.py."""

from typing import Any

from agentboard.contract import limits, shapes
from agentboard.contract.fields import (
    BODY,
    CURSOR,
    DETAIL,
    DETAIL_LIST,
    EXPECTED_VERSION,
    LIMIT,
    LIST,
    OPERATION_KEY,
    SLUG,
    SUMMARY,
    TAGS,
    TIME,
    Field,
    at_least,
    at_most_bytes,
    distinct_names,
    slug,
)
from agentboard.contract.method import Effects, Hint, Method
from memory.models import Note

NAME = SLUG.described(
    "The note's name, which stays the same over all versions; each agent has its own names.", example="working-context"
)
STATUS = Field({"type": "string", "enum": ["active", "superseded", "archived"]})
TAG = SLUG.described("Only notes with this tag.")
VERSION = Field({"type": "integer"}, (at_least(1),))
OTHER_NAME = Field({"type": "string"}, (slug,))
REFERENCES = Field(
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": OTHER_NAME.schema, "version": VERSION.schema},
            "required": ["name", "version"],
            "additionalProperties": False,
        },
        "maxItems": limits.REFERENCES_MAX,
        "description": "The notes this one rests on: at most 20 of the agent's other notes, each once, at a version "
        "that is current or retained when you save. Reads report each as current, historical, version_not_found or "
        "unavailable. Only this list counts: names in the text are not looked for. Saving without it clears it.",
    },
    (distinct_names,),
    {"name": OTHER_NAME, "version": VERSION},
)
SUPERSEDES = Field(
    {
        "type": "object",
        "properties": {
            "name": OTHER_NAME.schema,
            "expected_version": EXPECTED_VERSION.schema,
        },
        "required": ["name", "expected_version"],
        "additionalProperties": False,
        "description": "Another own note that this new one replaces: creating this note and marking that one "
        "superseded happen together or not at all. Takes that note's version as its expected_version, and the outer "
        "expected_version must be 0. The answer tells how the old note stands, and the repeat of an operation_key "
        "stands for both writes.",
    },
    inner={"name": OTHER_NAME},
)

WRITES_OWN = "Reaches nothing but the private memory of the connected agent."
READS_OWN = "Reads nothing but the private memory of the connected agent."
PRIVATE = " Only this agent and the person who owns it can read it."


def writes(what: str, *, destructive: bool = True, why: str = "") -> Effects:
    """Annotations of a write to the agent's own memory."""
    changes = Hint(False, f"Changes what is stored: {what}")
    return Effects(changes, Hint(destructive, why or what), Hint(False, WRITES_OWN))


def reads(what: str) -> Effects:
    """Annotations of a read of the agent's own memory."""
    return Effects(Hint(True, what), Hint(False, "Changes nothing."), Hint(False, READS_OWN))


WRITE: dict[str, Any] = {"group": "memory", "scope": "memory:write", "verb": "POST", "id_name": "name", "id": NAME}
READ: dict[str, Any] = {"group": "memory", "scope": "memory:read", "verb": "GET", "id_name": "name", "id": NAME}
LISTED: dict[str, Any] = {"group": "memory", "scope": "memory:read", "verb": "GET"}

METHODS = (
    Method(
        name="save_memory",
        title="Save a note",
        **WRITE,
        path="memory/{id}",
        description="Keep a private note, encrypted at rest together with its retained revisions; reading decrypts "
        "it for whoever may read it. A save replaces the whole note: body, tags and all metadata. expected_version 0 "
        "creates the note; to change it, send the version that your last read returned. memory_references must name "
        "versions that exist. supersedes creates this note and retires another in one step, checked against that "
        "note's version." + PRIVATE,
        run=Note.objects.save_memory,
        effects=writes(
            "A save can replace a note and its metadata. Version checks keep a stale save from doing so, but a save "
            "that passes them still replaces what was there."
        ),
        arguments={
            "body": BODY,
            "expected_version": EXPECTED_VERSION.described(
                EXPECTED_VERSION.schema["description"], minimum=0, example=0
            ),
            "summary": SUMMARY,
            "use_when": Field(
                {
                    "type": "string",
                    "maxLength": limits.SUMMARY_MAX,
                    "description": "When it helps to read this note, at most 2048 bytes in UTF-8.",
                },
                (at_most_bytes(limits.SUMMARY_MAX),),
            ),
            "tags": TAGS,
            "status": Field({**STATUS.schema, "default": "active"}),
            "memory_references": REFERENCES,
            "review_after": TIME,
            "superseded_by": Field(
                {
                    "type": "string",
                    "maxLength": limits.SLUG_MAX,
                    "description": "The own note that takes this one's place; it must exist. Saving without it "
                    "clears it.",
                },
                (slug,),
            ),
            "supersedes": SUPERSEDES,
            "operation_key": OPERATION_KEY,
        },
        required=("body", "expected_version"),
        example={"body": BODY.schema["example"], "expected_version": 0},
        answer=shapes.written(shapes.NOTE, superseded=shapes.SUPERSEDED),
        creates=True,
    ),
    Method(
        name="edit_memory",
        title="Edit a note",
        **WRITE,
        path="memory/{id}/edit",
        description="Change parts of a note's body without sending it whole: replace exact passages, append text, or "
        "both (edits first). Tags and all other metadata stay. The result is a new version under the same limits as a "
        "save.",
        run=Note.objects.edit_memory,
        effects=writes("An edit replaces passages of a note; the version before stays retained as a revision."),
        arguments={
            "expected_version": EXPECTED_VERSION,
            "edits": Field(
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old": {
                                "type": "string",
                                "minLength": 1,
                                "description": "A passage that occurs exactly once in the body as the edits before "
                                "this one have left it.",
                            },
                            "new": {"type": "string", "description": "What stands there instead; empty removes it."},
                        },
                        "required": ["old", "new"],
                        "additionalProperties": False,
                    },
                    "minItems": 1,
                    "maxItems": limits.EDITS_MAX,
                    "description": "Replacements, applied in their order, at most 20.",
                }
            ),
            "append": Field(
                {"type": "string", "minLength": 1, "description": "Text to add at the very end of the body, as it is."}
            ),
            "operation_key": OPERATION_KEY,
        },
        required=("expected_version",),
        example={"expected_version": 1, "append": "\nTotals agree with the March ledger."},
        answer=shapes.written(shapes.NOTE),
    ),
    Method(
        name="get_memory",
        title="Read a note",
        **READ,
        path="memory/{id}",
        description="Read a note as it stands, or what a retained version of it held. Says how the notes it rests on "
        "stand now, and in stale_references which of them changed, went, or are due for review." + PRIVATE,
        run=Note.objects.get_memory,
        effects=reads("Returns one note."),
        arguments={
            "version": VERSION.described("A retained version instead of the current one."),
            "detail": DETAIL,
        },
        answer=shapes.NOTE,
    ),
    Method(
        name="list_memory",
        title="List notes",
        **LISTED,
        path="memory",
        description="List the agent's notes, by name or the latest changed first, of all statuses unless one is asked "
        "for. The first page also tells in tags how often each tag is used.",
        run=Note.objects.list_memory,
        effects=reads("Returns a page of notes."),
        arguments={
            "status": STATUS.described("Only notes of this status."),
            "tag": TAG,
            "review_due": Field(
                {"type": "boolean", "description": "true: only notes whose review_after has passed; false: all others."}
            ),
            "updated_since": TIME.described("Only notes changed at or after this time."),
            "order": Field(
                {
                    "type": "string",
                    "enum": ["name", "updated"],
                    "default": "name",
                    "description": "name meets every note exactly once, also while notes change; updated puts the "
                    "latest changed first.",
                }
            ),
            **LIST,
        },
        answer=shapes.listed(shapes.NOTE, tags=shapes.TAG_COUNTS),
    ),
    Method(
        name="search_memory",
        title="Search notes",
        **LISTED,
        path="memory-search",
        description="Find the agent's notes that hold all the given words, in the name, tags, summary, use_when or "
        "body, the best first, each with a snippet. Words are taken literally: there is no query syntax. Case and "
        "accents don't matter, the last word may be the beginning of one, and text written without spaces is found by "
        "any part of it.",
        run=Note.objects.search_memory,
        effects=reads("Returns a page of notes that match."),
        arguments={
            "q": Field(
                {"type": "string", "minLength": 1, "description": "The words.", "example": "march ledger"},
                (at_most_bytes(limits.QUERY_MAX),),
            ),
            "status": STATUS.described("Only notes of this status."),
            "tag": TAG,
            **LIST,
        },
        required=("q",),
        example={"q": "march ledger"},
        answer=shapes.listed(shapes.FOUND_NOTE),
    ),
    Method(
        name="list_memory_revisions",
        title="List a note's revisions",
        **READ,
        path="memory/{id}/revisions",
        description="List the retained versions of a note, newest first; the current one is among them. get_memory "
        "with version reads one whole.",
        run=Note.objects.list_memory_revisions,
        effects=reads("Returns a page of revisions."),
        arguments={"limit": LIMIT, "cursor": CURSOR, "detail": DETAIL_LIST},
        answer=shapes.listed(shapes.REVISION),
    ),
    Method(
        name="compare_memory",
        title="Compare two versions of a note",
        **READ,
        path="memory/{id}/compare",
        description="Show what changed between two retained versions of a note: a unified diff of the body, and the "
        "metadata that differ.",
        run=lambda caller, name, **versions: Note.objects.compare_memory(
            caller, name=name, from_version=versions.get("from"), to_version=versions.get("to")
        ),
        effects=reads("Returns a comparison of two versions."),
        arguments={
            "from": VERSION.described("The earlier version; without it the one before `to`."),
            "to": VERSION.described("The later version; without it the current one."),
        },
        answer=shapes.COMPARISON,
    ),
    Method(
        name="restore_memory",
        title="Restore a revision",
        **WRITE,
        path="memory/{id}/restore",
        description="Make a retained revision the next version of the note, body and metadata, checked against "
        "expected_version, so a concurrent change is never overwritten. Its memory_references are checked again: where "
        "one of those versions is gone, the restore is refused." + PRIVATE,
        run=Note.objects.restore_memory,
        effects=writes(
            "A restore replaces the current content by an earlier one. Version checks keep a stale restore from doing "
            "so, and the content before stays retained as a revision."
        ),
        arguments={"version": VERSION, "expected_version": EXPECTED_VERSION, "operation_key": OPERATION_KEY},
        required=("version", "expected_version"),
        example={"version": 1, "expected_version": 1},
        answer=shapes.written(shapes.NOTE),
    ),
    Method(
        name="mark_memory_reviewed",
        title="Mark a note as reviewed",
        **WRITE,
        path="memory/{id}/review",
        description="Say that a note is still right, without sending it: makes a new version with the same content and "
        "the given review_after, or none.",
        run=Note.objects.mark_memory_reviewed,
        effects=writes(
            "A review sets or clears the date of the next review.",
            destructive=False,
            why="Keeps the content; only the date of the next review changes.",
        ),
        arguments={
            "expected_version": EXPECTED_VERSION,
            "review_after": TIME.described("When the note is due for review again; without it the date is cleared."),
            "operation_key": OPERATION_KEY,
        },
        required=("expected_version",),
        example={"expected_version": 1, "review_after": "2027-03-01T00:00:00Z"},
        answer=shapes.written(shapes.NOTE),
    ),
    Method(
        name="delete_memory",
        confirm="Erase the note {id} and all its revisions for good?",
        title="Delete a note",
        **WRITE,
        path="memory/{id}/delete",
        description="Erase a note and all its revisions for good. The name can be used again; its versions then go on "
        "from where they ended, so an old version number never means another text.",
        run=Note.objects.delete_memory,
        effects=writes("Deletion erases the body and every revision; nothing brings them back."),
        arguments={"expected_version": EXPECTED_VERSION, "operation_key": OPERATION_KEY},
        required=("expected_version",),
        example={"expected_version": 1},
        answer=shapes.written(shapes.DELETED),
    ),
)
