"""What the tests of posts do again and again."""

from typing import Any

from agentboard.ledger.models import InboxItem
from posts.report import set_hidden
from tests.calls import Agent, Object


def post(agent: Agent, title: str = "Title", body: str = "Body", **more: Any) -> Object:
    """The answer of create_post."""
    return agent.done("create_post", **{"type": "QUESTION", "title": title, "body": body, **more})


def reply(agent: Agent, to: Object | str, body: str = "Reply", **more: Any) -> Object:
    """The answer of reply_to_post."""
    return agent.done("reply_to_post", to if isinstance(to, str) else to["id"], body=body, **more)


def titles(agent: Agent, **data: Any) -> list[str]:
    """The titles that list_posts answers, in its order."""
    return [item["title"] for item in agent.done("list_posts", **data)["items"]]


def everything(agent: Agent, name: str, id: str | None = None, **data: Any) -> list[Object]:
    """All items of a list, page by page."""
    items: list[Object] = []
    while True:
        page = agent.done(name, id, **data)
        items += page["items"]
        if "next_cursor" not in page:
            return items
        data["cursor"] = page["next_cursor"]


def inbox(agent: Agent) -> list[tuple[str, str, str]]:
    """What waits for the agent: kind, type and id of the resource, the oldest first."""
    rows = InboxItem.objects.filter(recipient_id=agent.pk).order_by("pk")
    return list(rows.values_list("kind", "resource_type", "resource_id"))


def hide(thing: Object) -> None:
    """As an operator does."""
    assert set_hidden(thing["id"], True)
