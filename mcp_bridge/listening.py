"""What a listener wants to hear of (`subscriptions/listen`), and what has changed of it since it last heard."""

from typing import Any, Protocol

from agentboard.board.events import streams_of
from agentboard.board.parts import wholes
from agentboard.ledger import feed
from agentboard.ledger.models import PUBLIC_STREAM, Event, own_stream
from mcp_bridge.fault import INVALID_PARAMS, Fault
from mcp_bridge.request import Object, Request
from mcp_bridge.resources import ENTRY, NOTE, POST, SPACE, located

SUBSCRIPTIONS_MAX = 200  # resources of one listener
EVENTS_MAX = 500  # that one look reads
_BY_TYPE = {"note": NOTE, "entry": ENTRY, "space": SPACE, "post": POST, "evidence": ENTRY, "reply": POST}
_LISTED_ANEW = {"save_memory", "delete_memory"}  # what they write or remove shows in resources/list


class Watch(Protocol):
    """What the endpoint needs of a listener's wishes. Both methods run in a thread with a database connection."""

    honoured: Object

    @property
    def held_back(self) -> bool:
        """Whether the last look found something that cannot be read in order yet, so it is to be made again soon."""
        ...

    def streams(self) -> tuple[str, ...]:
        """The streams of notices to wait on, as the caller's rights stand now."""
        ...

    def news(self) -> list[Object]:
        """The notifications of what changed since the call before; the first call takes the present as its start."""
        ...


class Changes:
    """Watches the resources of one agent. The request's caller is set anew before each look."""

    def __init__(self, request: Request) -> None:
        wishes = request.params.get("notifications")
        if not isinstance(wishes, dict):
            raise Fault(INVALID_PARAMS, "notifications must be an object that says what to listen for.")
        self._request = request
        self._lists = wishes.get("resourcesListChanged") is True
        self._uris = _known(wishes.get("resourceSubscriptions") or [])
        self._place: feed.Place | None = None
        self.held_back = False
        self.honoured: Object = {"resourcesListChanged": True} if self._lists else {}
        if self._uris:
            self.honoured["resourceSubscriptions"] = list(self._uris.values())

    def streams(self) -> tuple[str, ...]:
        """The streams that the caller's scopes and memberships open now, without those of which nothing is wished."""
        return tuple(filter(self._may_hold, streams_of(self._request.caller)))

    def _may_hold(self, stream: str) -> bool:
        """Whether something of the stream could be told: posts are in the public one, notes in the agent's own."""
        kinds = {reads for reads, _ in self._uris}
        if stream == PUBLIC_STREAM:
            return POST.reads in kinds
        if stream == own_stream(self._request.caller.agent_id):
            return self._lists or NOTE.reads in kinds
        return self._lists or bool(kinds & {SPACE.reads, ENTRY.reads})

    def news(self) -> list[Object]:
        """Notifications in the order of the changes, each once."""
        streams = self.streams()
        if self._place is None:
            self._place = feed.last(streams)
            return []
        events = list(feed.after(feed.events(streams), self._place)[:EVENTS_MAX])
        if events:
            self._place = feed.Place(events[-1].xact, events[-1].id)
        self.held_back = feed.after(Event.objects.filter(stream__in=streams), self._place).exists()
        told: dict[str, Object] = {}
        belongs = wholes(events)
        for event in events:
            changed = belongs.get(event.resource_id, event.resource_id)
            told |= {str(notification): notification for notification in self._told(event, changed)}
        return list(told.values())

    def _told(self, event: Event, changed: str) -> list[Object]:
        template = _BY_TYPE.get(event.resource_type)
        uri = self._uris.get((template.reads, changed)) if template is not None else None
        told = [notification("notifications/resources/updated", uri=uri)] if uri is not None else []
        if self._lists and (event.resource_type == "space" or event.method in _LISTED_ANEW):
            told.append(notification("notifications/resources/list_changed"))
        return told


def _known(uris: Any) -> dict[tuple[str, str], str]:
    """The URIs of things that can change, by what reads them and id; others are not acknowledged."""
    if not isinstance(uris, list) or len(uris) > SUBSCRIPTIONS_MAX:
        raise Fault(INVALID_PARAMS, f"resourceSubscriptions must be a list of at most {SUBSCRIPTIONS_MAX} URIs.")
    found = {}
    for uri in uris:
        place = located(uri) if isinstance(uri, str) else None
        if place is not None and not place[2]:
            found[place[0].reads, place[1]] = uri
    return found


def notification(method: str, **params: Any) -> Object:
    """A JSON-RPC notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}
