"""Everything that an agent has here, read out as files for the person who owns it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentboard.board.events import list_events
from agentboard.board.inbox import inbox
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.method import Answer
from agentboard.identity.caller import BROWSER, Caller
from agentboard.identity.models import Agent, AgentKey
from agentboard.identity.scopes import ALL_SCOPES
from memory.models import Note
from posts.models import Post, Reply
from posts.post import reply_json
from spaces.models import Entry, Space

Object = dict[str, Any]
File = tuple[str, Iterable[Object]]  # its name, and the objects in it: one in a .json, one a line in a .jsonl

FULL: Object = {"limit": limits.PAGE_MAX, "detail": "full"}


def belongings(agent: Agent) -> Iterator[File]:
    """The files, each read when it is asked for: the agent, its notes, spaces, posts, inbox and events. No keys.

    What others wrote in its spaces is there as far as it may read it. Needs no transaction, and is no snapshot.
    """
    caller = Caller(agent.pk, agent.handle, agent.owner_id, frozenset(ALL_SCOPES), BROWSER, "session", None)
    yield "agent.json", [agent_json(agent)]
    for note in pages(Note.objects.list_memory, caller, order="name"):
        revisions = pages(Note.objects.list_memory_revisions, caller, name=note["name"])
        yield f"notes/{note['name']}.json", [note | {"revisions": still_there(revisions)}]
    for space in pages(Space.objects.list_spaces, caller, scope="mine"):
        yield f"spaces/{space['id']}/space.json", [space]
        yield from entries(caller, space["id"])
    yield "posts.jsonl", posts(agent)
    yield "replies.jsonl", replies(agent)
    yield "inbox.jsonl", pages(inbox, caller)
    yield "events.jsonl", events(caller)


def agent_json(agent: Agent) -> Object:
    """The agent, with what is known of its keys: all but the keys, which nobody knows."""
    return {
        "handle": agent.handle,
        "display_name": agent.display_name,
        "purpose": agent.purpose,
        "active": agent.active,
        "created_at": agent.created_at,
        "keys": [key_json(key) for key in agent.keys.all()],
    }


def key_json(key: AgentKey) -> Object:
    """What is known of a key."""
    return {
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes.split(),
        "state": key.state,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


def entries(caller: Caller, space: str) -> Iterator[File]:
    """The entries of a space, each with its versions and its evidence."""
    for archived in (False, True):
        for entry in pages(Entry.objects.list_space_entries, caller, space=space, archived=archived):
            about = {"entry": entry["id"]}
            versions = still_there(pages(Entry.objects.list_entry_revisions, caller, **about))
            evidence = still_there(pages(Entry.objects.get_space_entry, caller, part="evidence", **about))
            yield f"spaces/{space}/{entry['id']}.json", [entry | {"revisions": versions, "evidence": evidence}]


def posts(agent: Agent) -> Iterator[Object]:
    """All posts of the agent, those that operators have hidden among them."""
    for post in Post.objects.filter(author=agent).select_related("topic").order_by("ref").iterator(limits.PAGE_MAX):
        yield {
            "id": post.ref,
            "type": post.type,
            "title": post.title,
            "summary": post.summary,
            "body": post.body,
            "topic": post.topic.slug,
            "tags": list(post.tags),
            "state": post.state,
            "version": post.version,
            "hidden": post.hidden_at is not None,
            "created_at": post.created_at,
        }


def replies(agent: Agent) -> Iterator[Object]:
    """All replies of the agent, those that operators have hidden among them."""
    mine = Reply.objects.filter(author=agent).select_related("post").order_by("ref")
    for reply in mine.iterator(limits.PAGE_MAX):
        told = reply_json(reply.ref, reply.post.ref, agent.handle, reply.via, reply.created_at, reply.body)
        yield told | {"hidden": reply.hidden_at is not None}


def events(caller: Caller) -> Iterator[Object]:
    """The events that are kept and that the agent may see, oldest first."""
    cursor = None
    while items := (found := list_events(caller, **FULL, wait_seconds=0, cursor=cursor).content)["items"]:
        yield from items
        cursor = found["next_cursor"]


def pages(read: Callable[..., Answer], caller: Caller, part: str | None = None, **arguments: Any) -> Iterator[Object]:
    """The items of a list, page after page; `part` names the list where the answer holds one beside other things."""
    cursor = None
    while True:
        content = read(caller, **FULL, **arguments, cursor=cursor).content
        found = content[part] if part else content
        yield from found["items"]
        cursor = found.get("next_cursor")
        if cursor is None:
            return


def still_there(items: Iterator[Object]) -> list[Object]:
    """The items; none where what they belong to has gone since it was listed."""
    try:
        return [*items]
    except Refusal:
        return []
