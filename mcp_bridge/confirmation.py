"""Asking the person at the client before something is lost for good, without keeping anything between the two calls."""

from typing import Any

from django.core import signing

from agentboard.contract.errors import Refusal
from agentboard.contract.method import Method
from agentboard.ledger.change import fingerprint
from mcp_bridge.fault import INVALID_PARAMS, Fault
from mcp_bridge.request import Object, Request

ANSWER_SECONDS = 600  # for the person to answer in
ASKED = "confirm"  # the question's name in inputRequests and inputResponses
_SALT = "mcp_bridge.confirmation"


def must_ask(request: Request, method: Method) -> bool:
    """Whether the client can put a question to its person, and this method wants one."""
    elicitation = request.capabilities.get("elicitation")
    able = isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)
    return method.confirm is not None and able


def question(request: Request, method: Method, resource: str | None, data: Object) -> Object:
    """The result that asks (2026-07-28, "Multi Round-Trip Requests"); the state binds the answer to this very call."""
    assert method.confirm is not None
    schema = {
        "type": "object",
        "properties": {"yes": {"type": "boolean", "title": "Yes, for good", "description": "Nothing brings it back."}},
        "required": ["yes"],
    }
    form = {"mode": "form", "message": method.confirm.format(id=resource), "requestedSchema": schema}
    return {
        "resultType": "input_required",
        "inputRequests": {ASKED: {"method": "elicitation/create", "params": form}},
        "requestState": signing.dumps(_about(request, method, resource, data), salt=_SALT),
    }


def answered(request: Request, method: Method, resource: str | None, data: Object) -> bool:
    """Whether this call brings the person's yes; False where it brings no answer yet.

    Raises Refusal forbidden for a no, and Fault where the state is not the one that was given out for this call.
    """
    state = request.params.get("requestState")
    if state is None:
        return False
    if not isinstance(state, str) or _opened(state) != _about(request, method, resource, data):
        raise Fault(INVALID_PARAMS, "requestState does not belong to this call.", reason="invalid_request_state")
    responses = request.params.get("inputResponses")
    answer: Any = responses.get(ASKED) if isinstance(responses, dict) else None
    if not isinstance(answer, dict):
        return False
    content = answer.get("content")
    if answer.get("action") == "accept" and isinstance(content, dict) and content.get("yes") is True:
        return True
    raise Refusal(
        "forbidden",
        f"The person at the client did not confirm {method.name}, so nothing was done.",
        next_action="Leave it as it is, unless the person asks for it again.",
    )


def _about(request: Request, method: Method, resource: str | None, data: Object) -> list[Any]:
    caller = request.caller
    return [
        caller.agent_id,
        caller.credential,
        caller.credential_id,
        fingerprint(method.name, {"id": resource, **data}),
    ]


def _opened(state: str) -> Any:
    """What the state holds, or None where it is not ours, changed by a single character, or too old."""
    try:
        return signing.loads(state, salt=_SALT, max_age=ANSWER_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
