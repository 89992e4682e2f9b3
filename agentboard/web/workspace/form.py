"""A method's arguments as a form: inputs drawn from their schemas, and what was typed read back as arguments.

An input is named as its argument is, `id` or `data.` and the dotted path: the path that a refusal names.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from agentboard.contract.body import json_object, typed
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import Field, Schema, https_link, slug
from agentboard.contract.method import Method
from agentboard.web.workspace.once import KEYS  # left empty, the form sends one of its own

LINE_MAX = 1_024  # characters or bytes; a text that may be longer gets a text area
LONG = 4_096  # bytes; a text that may be longer gets a high text area
CHOICES_MAX = 4  # values; more of them stand in a list that opens
SHOWN_OPTIONAL_MAX = 4  # optional arguments that are not folded away
ABSENT: Any = object()
Given = QueryDict
Problems = Mapping[str, str]
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?\Z")  # what a browser sends for datetime-local


@dataclass(frozen=True)
class Input:
    """One argument on the form, with what was typed into it and what is wrong with that."""

    name: str  # of the HTML control; its path with a prefix
    path: str  # as refusals name it
    kind: str  # the template's name for how it looks
    schema: Schema
    required: bool
    bytes_max: int | None
    typed: str
    error: str | None
    parts: tuple["Input", ...] = ()  # of an object
    rows: tuple[tuple["Input", ...], ...] = ()  # of a list of objects

    @property
    def html_id(self) -> str:
        """The id of the control."""
        return "f-" + self.name.replace(".", "-")

    @property
    def argument(self) -> str:
        """The argument's own name."""
        return self.path.rpartition(".")[2]

    @property
    def label(self) -> str:
        """The name in words."""
        return self.argument.replace("_", " ").capitalize()

    @property
    def hint(self) -> str:
        """What may stand there, in a few words."""
        return ", ".join([told_type(self.schema), *self._limits()])

    def _limits(self) -> Iterator[str]:
        schema = self.schema
        if self.bytes_max:
            yield f"up to {self.bytes_max:,} bytes"
        elif "maxLength" in schema:
            yield f"up to {schema['maxLength']:,} characters"
        if "maxItems" in schema:
            yield f"up to {schema['maxItems']}"
        if "maximum" in schema:
            yield f"{schema['minimum']:,} to {schema['maximum']:,}"
        elif "minimum" in schema:
            yield f"at least {schema['minimum']}"
        if "default" in schema:
            yield f"default {json.dumps(schema['default']).strip(chr(34))}"

    @property
    def help(self) -> str:
        """The argument's description, in the words of its contract."""
        return str(self.schema.get("description", ""))

    @property
    def described_by(self) -> str:
        """The ids of what explains the control."""
        parts = (("help", self.help), ("error", self.error), ("size", self.bytes_max and self.wide))
        return " ".join(f"{self.html_id}-{name}" for name, there in parts if there)

    @property
    def options(self) -> list[tuple[str, str, bool]]:
        """Value, words and whether it is chosen, of each choice; "" leaves the argument out."""
        values = self.schema.get("enum", ["true", "false"])
        words = {"true": "yes", "false": "no"} if "enum" not in self.schema else {}
        chosen = self.typed if self.typed in values else str(self.schema.get("default", ""))
        left_out = [] if self.required or "default" in self.schema else [("", "leave out", chosen == "")]
        return [*left_out, *((value, words.get(value, value), value == chosen) for value in values)]

    @property
    def checked(self) -> bool:
        """Whether a check box is on."""
        return self.typed == "true"

    @property
    def local_time(self) -> bool:
        """Whether the browser's own control for a time can show what was typed."""
        return not self.typed or _LOCAL.match(self.typed) is not None

    @property
    def size(self) -> int:
        """Bytes of what was typed, as they will be counted."""
        return len(self.typed.encode())

    @property
    def wide(self) -> bool:
        """Whether it needs a text area: a line input would drop line breaks."""
        return self.kind in ("area", "json") or "\n" in self.typed

    @property
    def lines(self) -> int:
        """How high a text area is at first."""
        return 10 if self.bytes_max and self.bytes_max > LONG else 3

    @property
    def faulty(self) -> bool:
        """Whether something is wrong in it."""
        return bool(self.error) or any(part.faulty for part in self.inside)

    @property
    def filled(self) -> bool:
        """Whether something was typed into it that does not stand there by itself."""
        return (
            self.typed not in ("", str(self.schema.get("default", "")))
            or bool(self.rows)
            or any(part.filled for part in self.parts)
        )

    @property
    def inside(self) -> Iterator["Input"]:
        """The inputs of an object, or of all objects of a list."""
        yield from self.parts
        for row in self.rows:
            yield from row

    # What was typed, as an argument

    def value(self) -> Any:
        """The argument, or ABSENT where nothing was typed. What does not read as its type stays text."""
        match self.kind:
            case "object":
                return self._object(self.parts) or (ABSENT if not self.required else {})
            case "rows":
                found = [self._object(row) for row in self.rows if any(part.filled for part in row)]
                return found or ABSENT
            case "list":
                return re.split(r"[\s,]+", self.typed.strip(" ,\n\t")) if self.typed.strip(" ,\n\t") else ABSENT
            case "check":
                return self.checked
            case "time":
                return utc(self.typed) if self.typed else ABSENT
            case "json":
                return json_or_text(self.typed) if self.typed.strip() else ABSENT
        return self._single()

    def _single(self) -> Any:
        if self.kind in ("number", "choice", "select"):
            return typed(self.typed.strip(), self.schema.get("type")) if self.typed.strip() else ABSENT
        return self.typed if self.typed or self._empty_counts else ABSENT

    @property
    def _empty_counts(self) -> bool:
        """Whether an empty text is a value: of an object that has others, where the schema admits it."""
        return self.required and "." in self.path and "minLength" not in self.schema

    @staticmethod
    def _object(parts: Sequence["Input"]) -> dict[str, Any]:
        if not any(part.filled for part in parts):
            return {}
        return {part.argument: value for part in parts if (value := part.value()) is not ABSENT}


@dataclass(frozen=True)
class Form:
    """The form of one method, with what was given and what is wrong with it."""

    method: Method
    given: Given
    problems: Problems

    @cached_property
    def inputs(self) -> list[Input]:
        """All arguments: the id, those that must be given, the others."""
        method, found = self.method, []
        if method.id is not None:
            found.append(self._input("id", "id", method.id.schema, method.id, method.id_required))
        arguments = sorted(method.arguments.items(), key=lambda pair: pair[0] not in method.required)
        for name, field in arguments:
            must = name in method.required and name not in KEYS
            found.append(self._input(f"data.{name}", name, field.schema, field, must))
        return found

    @property
    def shown(self) -> list[Input]:
        """The inputs that always stand there."""
        return [each for each in self.inputs if each not in self.folded]

    @cached_property
    def folded(self) -> list[Input]:
        """Optional arguments that unfold on demand, where there are many."""
        optional = [each for each in self.inputs if not each.required]
        return optional if len(optional) > SHOWN_OPTIONAL_MAX and len(optional) < len(self.inputs) else []

    @property
    def unfolded(self) -> bool:
        """Whether something was typed there, or is wrong there."""
        return any(each.filled or each.faulty for each in self.folded)

    @property
    def as_json(self) -> bool:
        """Whether the arguments are typed as one JSON object."""
        return "json" in self.given

    def json_text(self) -> str:
        """What was typed as JSON; at first, what the form held."""
        text = lf(str(self.given.get("json", "")))
        return text or json.dumps(self._typed(), indent=2, ensure_ascii=False)

    @property
    def id(self) -> str | None:
        """The id of the path, or None."""
        return self.given.get("id") or None if self.method.id is not None else None

    def data(self) -> dict[str, Any]:
        """The arguments that were given. Raises Refusal for JSON that is none."""
        if self.as_json and self.given.get("json"):
            return json_object(lf(str(self.given["json"])).encode("utf-8", "surrogatepass"))
        return self._typed()

    def _typed(self) -> dict[str, Any]:
        top = [each for each in self.inputs if each.path != "id"]
        return {each.argument: value for each in top if (value := each.value()) is not ABSENT}

    def problem_list(self) -> list[tuple[Input | None, str, str]]:
        """Each problem with the input that it is about: (input or None, path, message)."""
        everything = [*self._walk(self.inputs)]
        return [(_holder(path, everything), path, message) for path, message in self.problems.items()]

    def _walk(self, inputs: Sequence[Input]) -> Iterator[Input]:
        for each in inputs:
            yield each
            yield from self._walk([*each.inside])

    def _input(self, name: str, path: str, schema: Schema, field: Field | None, required: bool) -> Input:
        kind = kind_of(schema, field)
        bytes_max = field.bytes_max if field else None
        parts = self._parts(name, path, schema, field) if kind == "object" else ()
        rows = self._rows(name, path, schema["items"], field) if kind == "rows" else ()
        error = next((message for where, message in self.problems.items() if about(where, path, kind)), None)
        return Input(name, path, kind, schema, required, bytes_max, self._text(name, kind), error, parts, rows)

    def _text(self, name: str, kind: str) -> str:
        return lf(str(self.given.get(name, ""))) if kind not in ("object", "rows") else ""

    def _parts(self, name: str, path: str, schema: Schema, field: Field | None) -> tuple[Input, ...]:
        inner = (field.inner or {}) if field else {}
        required = schema.get("required", ())
        return tuple(
            self._input(f"{name}.{part}", f"{path}.{part}", shape, inner.get(part), part in required)
            for part, shape in schema["properties"].items()
        )

    def _rows(self, name: str, path: str, schema: Schema, field: Field | None) -> tuple[tuple[Input, ...], ...]:
        numbers = range(min(rows_in(self.given, name), 100))
        return tuple(self._parts(f"{name}.{number}", f"{path}.{number}", schema, field) for number in numbers)


def about(where: str, path: str, kind: str) -> bool:
    """Whether a problem at the path `where` is told at this input: a list of texts is one control."""
    return where == path or (kind in ("list", "json") and where.startswith(f"{path}."))


def _holder(path: str, inputs: Sequence[Input]) -> Input | None:
    """The innermost input that the path leads into."""
    inside = [each for each in inputs if path == each.path or path.startswith(f"{each.path}.")]
    return max(inside, key=lambda each: len(each.path), default=None)


def kind_of(schema: Schema, field: Field | None) -> str:
    """How an argument looks: check, choice, select, number, time, line, area, list, object, rows or json."""
    match schema.get("type"):
        case "boolean":
            return "check" if "default" in schema else "choice"
        case "integer":
            return "number"
        case "object" if "properties" in schema:
            return "object"
        case "array" if schema["items"].get("type") == "string":
            return "list"
        case "array" if "properties" in schema["items"]:
            return "rows"
        case "string" if "enum" in schema:
            return "choice" if len(schema["enum"]) <= CHOICES_MAX else "select"
        case "string" if schema.get("format") == "date-time":
            return "time"
        case "string":
            return "line" if one_line(schema, field) else "area"
    return "json"


def one_line(schema: Schema, field: Field | None) -> bool:
    """Whether a text is short by its schema or by its rules, or is a name that nothing but the method can judge."""
    if "pattern" in schema or schema.get("maxLength", LINE_MAX + 1) <= LINE_MAX:
        return True
    if field is None:
        return False
    if field.bytes_max:
        return field.bytes_max <= LINE_MAX
    return slug in field.rules or https_link in field.rules or not (field.rules or "minLength" in schema)


def told_type(schema: Schema) -> str:
    """The type in a word."""
    if "enum" in schema:
        return f"one of {len(schema['enum'])}"
    if schema.get("format") == "date-time":
        return "time in UTC"
    names = {"string": "text", "integer": "whole number", "boolean": "yes or no", "array": "list", "object": "object"}
    return names.get(schema.get("type", ""), "JSON")


def lf(text: str) -> str:
    """The text with line feeds, as it was before the browser made CR LF of them (HTML, section 4.10.21.4)."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_or_text(text: str) -> Any:
    """The JSON value that was typed; what is none stays text, for the schema to refuse."""
    try:
        return json_object(f'{{"value": {text}}}'.encode("utf-8", "surrogatepass"))["value"]
    except Refusal:
        return text


def utc(text: str) -> str:
    """A local time of the browser's control as RFC 3339 in UTC; anything else as it was typed."""
    found = _LOCAL.match(text)
    if not found:
        return text
    return f"{text}Z" if found[1] else f"{text}:00Z"


def rows_in(given: Given, name: str) -> int:
    """How many objects of the list `name` the form shows."""
    numbers = (re.match(rf"{re.escape(name)}\.(\d{{1,3}})\.", key) for key in given)
    return max((int(found[1]) + 1 for found in numbers if found), default=0)


def with_row(given: Given, method: Method, name: str) -> Given:
    """What was given, with one more empty object in the list `name` (the HTML name)."""
    changed, number = given.copy(), rows_in(given, name)
    field = method.arguments.get(name.removeprefix("data."))
    for part in field.schema["items"]["properties"] if field and kind_of(field.schema, field) == "rows" else ():
        changed[f"{name}.{number}.{part}"] = ""
    return changed


def without_row(given: Given, row: str) -> Given:
    """What was given, without one object of a list (the HTML name and its number); those behind it move up."""
    name, _, gone = row.rpartition(".")
    changed = QueryDict(mutable=True)
    for key, values in given.lists():
        found = re.match(rf"{re.escape(name)}\.(\d{{1,3}})(\..*)\Z", key)
        number = int(found[1]) - int(gone) if found and gone.isdecimal() else 0
        if number > 0 and found:
            changed.setlist(f"{name}.{int(found[1]) - 1}{found[2]}", values)
        elif number < 0 or not found:
            changed.setlist(key, values)
    return changed


def problems_of(refused: Refusal) -> dict[str, str]:
    """What a refusal has against which argument, by path; the whole refusal under "" where it names none."""
    details = refused.more.get("details")
    if details:
        return {detail["path"]: detail["message"] for detail in details}
    return {"": refused.message}
