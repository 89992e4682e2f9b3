"""Reading what a client sends: one JSON object from bytes, and typed arguments from a query string."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.fields import Field
from agentboard.contract.method import named

DEPTH_MAX = 32  # of nested lists and objects; arguments need four
PARAMETERS_MAX = 64
_INTEGER = re.compile(r"-?[0-9]{1,20}\Z")


def json_object(body: bytes) -> dict[str, Any]:
    """The object in `body`; no bytes, or white space, count as {}. Raises invalid_json."""
    value = {} if not body or body.isspace() else json_value(body)
    if not isinstance(value, dict):
        raise Refusal("invalid_json", f"The body must be a JSON object, not {_kind(value)}.")
    return value


def json_value(body: bytes) -> Any:
    """The JSON value in `body`, of a depth that is safe to walk. Raises invalid_json.

    The standard module, with hooks: orjson keeps the last of two equal keys and makes floats of large integers.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refusal("invalid_json", f"The body is not UTF-8: byte {error.start} does not belong there.") from None
    value = _parsed(text)
    if text.count("[") + text.count("{") > DEPTH_MAX and deeper(value, DEPTH_MAX):
        raise Refusal("invalid_json", f"The body nests lists and objects more than {DEPTH_MAX} deep.")
    return value


def _parsed(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Refusal("invalid_json", f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise Refusal("invalid_json", f"The body nests lists and objects more than {DEPTH_MAX} deep.") from None
    except ValueError:  # Python reads no integer of more than 4 300 digits
        raise Refusal("invalid_json", "The body holds a number that is too long to be read.") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = _repeated(name for name, _ in pairs)
        told = f'"{twice}"' if len(twice) <= 40 and twice.isprintable() else "a key"
        raise Refusal("invalid_json", f"The body has {told} twice in one object.")
    return found


def _repeated(names: Iterable[str]) -> str:
    """The first of `names` that has come before; there is one."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("no name comes twice")


def _constant(name: str) -> Any:
    raise Refusal("invalid_json", f"The body holds {name}, which is not JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Refusal("invalid_json", "The body holds a number that is too large to be read.")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_finite)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a boolean"
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else "a number"


def deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects nest more than `depth` levels; without recursion, for any depth."""
    level = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def query_arguments(query: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The parameters of a query string, typed by their fields' schemas. Raises invalid_arguments.

    A text that does not read as its type stays text, so that the schema tells what is wrong with it.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX)
    except UnicodeDecodeError:
        raise invalid("query", "is not UTF-8 where it is decoded") from None
    except ValueError:
        raise invalid("query", f"has more than {PARAMETERS_MAX} parameters") from None
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name in found:
            raise invalid(named(name), "stands twice in the query")
        found[name] = typed(text, fields[name].schema.get("type")) if name in fields else text
    return found


def typed(text: str, kind: Any) -> Any:
    """The text as an integer or boolean where the schema wants one and it reads as one."""
    if kind == "integer" and _INTEGER.match(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text
