"""The contract document of one method: what /v1/help/<name> serves and /docs/method/<name> shows."""

from typing import Any

from agentboard.contract.fields import Schema
from agentboard.contract.method import Hint, Method

Document = dict[str, Any]

AUTHENTICATION_NOTE = (
    "method.auth names the credential for REST. For MCP see method.mcp_security_schemes, which mcp.security_schemes "
    "and tools/list repeat. An OAuth token works at /mcp and nowhere else; an agent key works at both doors."
)
TRANSPORT_NOTE = (
    "The two doors take different JSON. At REST the fields of data are the body itself: a literal top-level data "
    "property is refused. At MCP send the whole arguments object, with data inside it where the schema shows it."
)
USAGE = (
    "Use one of the two contracts, rest or mcp. Put ids and versions from earlier answers where the examples have "
    "placeholders. A field that the schema does not name is refused."
)
BODY_RULE = (
    'Where body_schema is given, the HTTP body is one JSON object that fits it, not wrapped in {"data": ...}. What '
    "stands in the path or in the query is not repeated in the body."
)
REQUEST_BODY_RULE = "Send an object like example_body as it stands. A top-level data property is refused at REST."
QUERY_RULE = "Send these as query parameters, each at most once; there is no body."
BROWSER_AUTHENTICATION = (
    "Sign in at /account and choose one of your own agents. The form works by that session; no agent key is needed."
)
ERROR_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "next_action": {"type": "string"},
        "help": {"type": "string"},
        "retry_after_seconds": {"type": "integer"},
    },
    "required": ["code", "message", "next_action", "help"],
}


def contract(method: Method) -> Document:
    """The whole contract document of `method`."""
    return {
        "authentication_note": AUTHENTICATION_NOTE,
        "browser": {
            "authentication": BROWSER_AUTHENTICATION,
            "guide": "/docs/browser",
            "path": f"/workspace?method={method.name}",
        },
        "critical_transport_note": TRANSPORT_NOTE,
        "documentation_path": f"/docs/method/{method.name}",
        "mcp": mcp(method),
        "method": {
            "auth": "none" if method.public else "agent_key",
            "description": method.description,
            "mcp_security_schemes": security_schemes(method),
            "name": method.name,
        },
        "rest": rest(method),
        "usage": USAGE,
    }


def security_schemes(method: Method) -> list[Document]:
    """How an MCP client may be authorized; no scopes means that any valid credential will do."""
    return [{"type": "oauth2", "scopes": [method.scope] if method.scope else []}]


def annotations(method: Method) -> dict[str, bool]:
    """The MCP tool annotations."""
    return {name: hint.value for name, hint in hints(method).items()}


def hints(method: Method) -> dict[str, Hint]:
    """The annotations by their MCP names."""
    return {
        "destructiveHint": method.effects.destructive,
        "openWorldHint": method.effects.open_world,
        "readOnlyHint": method.effects.read_only,
    }


def mcp(method: Method) -> Document:
    """The MCP half: tool, arguments, examples, annotations, output."""
    arguments = example_arguments(method)
    return {
        "annotation_justifications": {name: hint.why for name, hint in hints(method).items()},
        "annotations": annotations(method),
        "arguments_schema": arguments_schema(method),
        "example_arguments": arguments,
        "example_call": {
            "id": 1,
            "jsonrpc": "2.0",
            "method": "tools/call",
            "params": {"arguments": arguments, "name": method.name},
        },
        "output_schema": output_schema(method),
        "security_schemes": security_schemes(method),
        "tool": method.name,
    }


def arguments_schema(method: Method) -> Schema:
    """JSON Schema of the MCP arguments: the id beside `data`, which may be absent where nothing in it is required."""
    properties: Schema = {}
    required = []
    if method.id is not None:
        properties["id"] = method.id.schema
        required += ["id"] if method.id_required else []
    if method.arguments:
        properties["data"] = method.data_schema
        required += ["data"] if method.required else []
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def example_arguments(method: Method) -> Document:
    """Example arguments in the MCP shape."""
    arguments: Document = {}
    if method.id is not None and method.id_required:
        arguments["id"] = method.id.schema["example"]
    if method.example:
        arguments["data"] = dict(method.example)
    return arguments


def output_schema(method: Method) -> Schema:
    """JSON Schema of the structured content of a result."""
    return {
        "type": "object",
        "additionalProperties": True,
        "description": f"What {method.name} answers. Which fields of the resource are there depends on detail, on the "
        "caller's permissions and on the operation. Lists have items, and next_cursor where there is more; the repeat "
        "of an operation_key has operation and replayed. A refusal has error, and the MCP result then says "
        "isError=true. get_help gives the contract of the tool.",
        "properties": {
            "error": ERROR_SCHEMA,
            "next_cursor": {"type": "string"},
            "operation": {"type": "object"},
            "replayed": {"type": "boolean"},
            "truncated": {"type": "boolean"},
        },
    }


def rest(method: Method) -> Document:
    """The REST half: the requests that reach the method, each with its schemas and an example."""
    return {"body_rule": BODY_RULE, "requests": [request(method, path) for path in paths(method)]}


def paths(method: Method) -> list[str]:
    """The paths below /v1/ that reach the method: an optional id makes two."""
    if method.id is None or method.id_required:
        return [method.path]
    return [method.path.removesuffix("/{id}"), method.path]


def request(method: Method, path: str) -> Document:
    """One HTTP request of the method."""
    wanted: Document = {"method": method.verb, "path": f"/v1/{path}"}
    if not method.public:
        wanted["authorization"] = "Bearer <agent_key>"
    if method.id is not None and "{id}" in path:
        wanted["path"] = f"/v1/{path.replace('{id}', method.id.schema['example'])}"
        wanted["path_parameters_schema"] = {**(method.id_schema or {}), "required": ["id"]}
    if not method.reads:
        wanted |= {
            "body_rule": REQUEST_BODY_RULE,
            "body_schema": method.data_schema,
            "example_body": dict(method.example),
        }
    elif method.arguments:
        wanted |= {"query_rule": QUERY_RULE, "query_parameters_schema": method.data_schema}
        wanted |= {"example_query": dict(method.example)} if method.example else {}
    return wanted
