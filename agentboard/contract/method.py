"""What a method is: one declaration from which every door, document and form is drawn."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError

from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import SLUG_WORDS, Field, Problem, Schema

Arguments = dict[str, Any]
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL refuses NUL, UTF-8 has no lone surrogates
_SHOWN_MAX = 40  # characters of a refused value or name that a message repeats; our keys are longer, so none ever is
_TYPES = {
    "integer": "an integer",
    "string": "text",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
}


@dataclass(frozen=True)
class Wait:
    """An empty answer that its door may hold back until something comes to one of the streams, for so long at most."""

    streams: tuple[str, ...]
    seconds: int


@dataclass(frozen=True)
class Answer:
    """What a method gives back: the JSON object, and whether it made something new (201 at REST)."""

    content: dict[str, Any]
    created: bool = False
    wait: Wait | None = None


@dataclass(frozen=True)
class Hint:
    """One MCP tool annotation with its justification."""

    value: bool
    why: str


@dataclass(frozen=True)
class Effects:
    """What a method does to the world, as MCP tool annotations."""

    read_only: Hint
    destructive: Hint
    open_world: Hint


@dataclass(frozen=True)
class Method:
    """One method of the catalog.

    `run(caller or change, **arguments)` does the work and returns an Answer; reads get the Caller, writes a
    ledger.Change. The id in the path is passed under the name `id_name`. `scope` None: any valid credential will do;
    `public`: no credential is needed at REST.
    """

    name: str
    title: str
    group: str
    scope: str | None
    verb: str
    path: str  # below /v1/, with {id} where the id stands
    description: str
    run: Callable[..., Answer]
    effects: Effects
    answer: Schema  # of a successful answer, for OpenAPI
    arguments: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    id: Field | None = None
    id_name: str = "id"
    id_required: bool = True
    example: Mapping[str, Any] = field(default_factory=dict)
    creates: bool = False  # may answer 201
    public: bool = False
    confirm: str | None = None  # what to ask the person first, with {id}, where the door can: nothing brings it back
    may_see: Callable[[Any, str, str], bool] | None = None  # whether a caller may still see (type, id) of a receipt

    @property
    def reads(self) -> bool:
        """Whether the method changes nothing."""
        return self.verb == "GET"

    @property
    def keyed(self) -> bool:
        """Whether the method takes an operation_key."""
        return "operation_key" in self.arguments

    @cached_property
    def data_schema(self) -> Schema:
        """JSON Schema of `data`: the body of a write, the query of a read."""
        schema: Schema = {
            "type": "object",
            "properties": {name: argument.schema for name, argument in self.arguments.items()},
            "additionalProperties": False,
        }
        return {**schema, "required": list(self.required)} if self.required else schema

    @cached_property
    def id_schema(self) -> Schema | None:
        """JSON Schema of the path parameters, or None when the path has none."""
        if self.id is None:
            return None
        schema: Schema = {"type": "object", "properties": {"id": self.id.schema}, "additionalProperties": False}
        return {**schema, "required": ["id"]} if self.id_required else schema

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.data_schema, validate_formats=True)

    @cached_property
    def _id_validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.id.schema if self.id else {}, validate_formats=True)

    @cached_property
    def _defaults(self) -> Arguments:
        return {name: f.schema["default"] for name, f in self.arguments.items() if "default" in f.schema}

    def check(self, resource: str | None, data: Mapping[str, Any]) -> Arguments:
        """The arguments as `run` takes them: nulls removed, 3.0 made 3, defaults filled in.

        `resource` is the id of the path. Raises invalid_arguments with every problem in `details`.
        """
        given = without_nulls(data, self.data_schema)
        problems = [*unstorable(resource, "id"), *unstorable(given)]  # first: the validator chokes on surrogates
        problems = problems or [*self._id_problems(resource), *self._schema_problems(given)]
        problems = problems or [*self._rule_problems(given)]
        if problems:
            raise refusal(problems)
        arguments = {**self._defaults, **whole_numbers(given)}
        if self.id is not None and resource is not None:
            arguments[self.id_name] = resource
        return arguments

    def _id_problems(self, resource: str | None) -> Iterator[Problem]:
        if self.id is None:
            if resource is not None:
                yield "id", f"is not an argument of {self.name}"
        elif resource is None:
            if self.id_required:
                yield "id", "is required"
        else:
            errors = [self._told(error) for error in self._id_validator.iter_errors(resource)]
            yield from (("id", message) for _, message in errors)
            if not errors:
                yield from self.id.problems(resource, "id")

    def _schema_problems(self, given: Arguments) -> Iterator[Problem]:
        """What the schema has against the arguments. Of a list that is too long only that: each error inside would cost
        25 µs, and 256 KiB hold 125 000 of them."""
        if self._validator.is_valid(given):
            return
        overlong = [*self._overlong(given)]
        yield from overlong or map(self._told, self._validator.iter_errors(given))

    def _overlong(self, given: Arguments) -> Iterator[Problem]:
        for name, value in given.items():
            limit = self.arguments[name].schema.get("maxItems") if name in self.arguments else None
            if isinstance(value, list) and limit is not None and len(value) > limit:
                yield name, told("maxItems", {"limit": limit}, value)

    def _rule_problems(self, given: Arguments) -> Iterator[Problem]:
        for name, value in given.items():
            yield from self.arguments[name].problems(value, name)

    def _told(self, error: ValidationError) -> Problem:
        """A schema error in our words."""
        path = ".".join(map(str, error.instance_path))
        kind = error.kind.as_dict()
        match error.kind.name:
            case "required":
                return dotted(path, kind["property"]), "is required"
            case "additionalProperties":
                return dotted(path, kind["unexpected"][0]), self._unknown(kind["unexpected"][0], path)
        return path, told(error.kind.name, kind, error.instance)

    def _unknown(self, name: str, path: str) -> str:
        if name == "data" and not path:
            return "is not an argument here: send the fields of data themselves, one level higher"
        if path:
            return "is not a field of this object"
        known = ", ".join(self.arguments) or "none"
        return f"is not an argument of {self.name}; it takes {known}"


def dotted(path: str, name: str) -> str:
    """The path of `name` inside `path`."""
    return f"{path}.{named(name)}" if path else named(name)


def named(name: str) -> str:
    """A name that a client made up, as a message repeats it."""
    return name if len(name) <= _SHOWN_MAX else f"{name[:12]}…"


def told(keyword: str, kind: Mapping[str, Any], value: Any) -> str:
    """What is wrong with `value` when it fails a schema `keyword`."""
    match keyword:
        case "type":
            wanted = " or ".join(_TYPES.get(name, name) for name in kind["types"])
            return f"must be {wanted}; {shown(value)} is not"
        case "enum":
            return f"must be one of {', '.join(map(str, kind['options']))}; {shown(value)} is not"
        case "pattern" if kind["pattern"] == limits.SLUG:
            return f"{SLUG_WORDS}; {shown(value)} is not"
        case "pattern":
            return f"must match {kind['pattern']}; {shown(value)} does not"
        case "format":
            return f"must be an RFC 3339 time with an offset, such as 2026-11-30T18:50:00Z; {shown(value)} is not"
        case "minLength":
            return "must not be empty"
        case "maxLength":
            return f"has {len(value)} characters; at most {kind['limit']} are allowed"
        case "minimum":
            return f"must be at least {kind['limit']}; {shown(value)} is not"
        case "maximum":
            return f"must be at most {kind['limit']}; {shown(value)} is not"
        case "minItems":
            return f"must have at least {kind['limit']} items"
        case "maxItems":
            return f"has {len(value)} items; at most {kind['limit']} are allowed"
        case "uniqueItems":
            return "holds the same item twice"
    return f"does not fit the schema ({keyword})"


def shown(value: Any) -> str:
    """A refused value as a message repeats it: short ones as JSON would write them, others by their kind."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return str(value) if abs(value) < 10**_SHOWN_MAX else "a number this large"
    if isinstance(value, str):
        printable = len(value) <= _SHOWN_MAX and value.isprintable()
        return f'"{value}"' if printable else "this text"
    return "a list" if isinstance(value, list) else "an object"


def refusal(problems: list[Problem]) -> Refusal:
    """invalid_arguments that names every problem; the message carries the first."""
    seen = list(dict.fromkeys(problems))[:50]
    path, message = seen[0]
    more = f" ({len(seen) - 1} more in details)" if len(seen) > 1 else ""
    details = [{"path": path, "message": message} for path, message in seen]
    return Refusal("invalid_arguments", f"{path} {message}{more}.", details=details)


def without_nulls(value: Mapping[str, Any], schema: Schema) -> Arguments:
    """A copy without known members that are null, in inner objects too: null for an optional argument means absent.

    An unknown member stays, null or not, so that the schema refuses it.
    """
    known: Schema = schema.get("properties", {})
    kept = {name: inner for name, inner in value.items() if inner is not None or name not in known}
    return {name: _inner_without_nulls(inner, known.get(name, {})) for name, inner in kept.items()}


def _inner_without_nulls(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        return without_nulls(value, schema)
    if isinstance(value, list):
        return [_inner_without_nulls(item, schema.get("items", {})) for item in value]
    return value


def whole_numbers(value: Any) -> Any:
    """A copy in which 3.0 is 3; the schema has made sure that numbers are whole."""
    if isinstance(value, dict):
        return {name: whole_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) else value


def unstorable(value: Any, path: str = "") -> Iterator[Problem]:
    """Texts and numbers that no database row can hold."""
    if isinstance(value, str):
        if not value.isascii() or "\x00" in value:
            yield from _unstorable_text(value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) > limits.INTEGER_MAX:
            yield path, f"must be at most {limits.INTEGER_MAX}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not name.isascii() and _UNSTORABLE.search(name):
                yield path or "arguments", "holds a name that is not text"
            else:
                yield from unstorable(inner, dotted(path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from unstorable(item, dotted(path, str(number)))


def _unstorable_text(value: str, path: str) -> Iterator[Problem]:
    if match := _UNSTORABLE.search(value):
        what = "the NUL character" if match[0] == "\x00" else "a lone surrogate"
        yield path, f"holds {what} at position {match.start()}, which cannot be stored"
