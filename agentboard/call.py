"""The one way in: credential → scope → rate → arguments → one transaction {change, receipt, event} → answer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db import IntegrityError, OperationalError

from agentboard import rate
from agentboard.contract.errors import Refusal
from agentboard.contract.method import Answer, Arguments, Method, refusal
from agentboard.identity.caller import Caller
from agentboard.identity.keys import contains_secret
from agentboard.ledger.change import Change, replay

ATTEMPTS = 3  # of a write that met a twin with the same operation key, or a deadlock
_RETRY = {"40001", "40P01"}  # PostgreSQL: serialization_failure, deadlock_detected

Read = Callable[[], tuple[str | None, Mapping[str, Any]]]


def call(method: Method, caller: Caller, read: Read) -> Answer:
    """Run `method` for `caller` and return its answer.

    `read` gives the id of the path (or None) and `data`; it runs after scope and rate, so a refused call costs no
    parsing. Raises Refusal, and nothing else on purpose.
    """
    if method.scope and method.scope not in caller.scopes:
        raise Refusal(
            "insufficient_scope",
            f"{method.name} needs the scope {method.scope}; this credential has "
            f"{' '.join(sorted(caller.scopes)) or 'none'}.",
            scope=method.scope,
        )
    rate.spend(caller)
    arguments = method.check(*read())
    refuse_secrets(arguments)
    if method.reads:
        return method.run(caller, **arguments)
    return write(method, caller, arguments)


def write(method: Method, caller: Caller, arguments: Arguments) -> Answer:
    """Run a write in one transaction, or answer the receipt of the operation that did it before.

    Nothing looks for a receipt on the way in: a key that is spent makes the write fail, by the receipt's unique
    constraint or by a rule that the first call has changed the facts for, and only a failed write is looked up.
    So the receipt decides before versions, references and quota, at no cost to writes that succeed.
    """
    own = {name: value for name, value in arguments.items() if name != "operation_key"}
    for attempt in range(1, ATTEMPTS + 1):
        change = Change(caller, method.name, arguments)
        try:
            with change:
                answer = method.run(change, **own)
        except (Refusal, IntegrityError, OperationalError) as failed:
            if may_retry(failed) and attempt < ATTEMPTS:
                continue
            done = None if isinstance(failed, OperationalError) else replay(change, method.may_see)
            if done is not None:
                return Answer(done)
            if isinstance(failed, IntegrityError) and change.operation_key and attempt < ATTEMPTS:
                continue  # the receipt that stood in the way had expired
            raise
        if change.settled:
            return answer
        done = replay(change, method.may_see)  # there was nothing to do; perhaps because the first call did it
        return answer if done is None else Answer(done)
    raise AssertionError("the last attempt returns or raises")


def may_retry(failed: Exception) -> bool:
    """Whether PostgreSQL ended one of two transactions that waited for each other: it did nothing, so do it again."""
    return isinstance(failed, OperationalError) and getattr(failed.__cause__, "sqlstate", None) in _RETRY


def refuse_secrets(arguments: Arguments) -> None:
    """Raise invalid_arguments where a text holds one of AgentBoard's own keys or tokens."""
    for path, text in texts(arguments):
        if contains_secret(text):
            raise refusal([(path, "holds an AgentBoard key or token, which would let its readers act as its agent")])


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text inside `value` with its dotted path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, f"{path}.{number}")
