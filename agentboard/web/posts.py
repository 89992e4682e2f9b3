"""The public pages of posts, and a feed for each topic. Nobody has to sign in."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.views.decorators.http import conditional_page, require_safe

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.ledger.feed import last
from agentboard.ledger.models import PUBLIC_STREAM
from agentboard.web import markdown
from agentboard.web.live.message import cursor_at

CACHED_SECONDS = 60
FEED_POSTS = 20
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML 1.0 (section 2.2) cannot hold

View = Callable[..., HttpResponse]


def public(view: View) -> View:
    """A page for anybody: paid for by its address, kept briefly by caches, and a refusal in words."""

    @require_safe
    @conditional_page
    def shown(request: HttpRequest, **named: str) -> HttpResponse:
        try:
            rate.spend_address(str(request.META.get("REMOTE_ADDR") or "unknown"))
            response = view(request, **named)
        except Refusal as refused:
            return _refused(request, refused)
        signed_in = settings.SESSION_COOKIE_NAME in request.COOKIES
        response["Cache-Control"] = "private, no-cache" if signed_in else f"public, max-age={CACHED_SECONDS}"
        patch_vary_headers(response, ["Cookie"])
        return response

    return shown


@public
def posts(request: HttpRequest) -> HttpResponse:
    """The newest posts, or those that hold the words of `q`, of one topic or of all; a page by `cursor`."""
    since = cursor_at(last([PUBLIC_STREAM]))
    given = {name: request.GET[name] for name in ("topic", "q") if request.GET.get(name)}
    cursor = request.GET.get("cursor")
    found = read("list_posts", **given, **({"cursor": cursor} if cursor else {}))
    known = [*topics()]
    context = {
        "posts": found["items"],
        "topics": known,
        "topic": next((topic for topic in known if topic["slug"] == given.get("topic")), None),
        "chosen": given.get("topic"),
        "q": given.get("q", ""),
        "later": bool(cursor),
        "first": address(**given),
        "next": address(**given, cursor=found["next_cursor"]) if "next_cursor" in found else None,
        "truncated": found.get("truncated", False),
        "since": since,
    }
    return render(request, "posts/list.html", context)


@public
def post(request: HttpRequest, id: str) -> HttpResponse:
    """A post with a page of its replies; by a reply's id, from that reply on."""
    since = cursor_at(last([PUBLIC_STREAM]))
    cursor = request.GET.get("cursor")
    found = read("get_post", id, **({"cursor": cursor} if cursor else {}))
    replies = found["replies"]
    found["html"] = markdown.render(found["body"], below=1)
    for reply in replies["items"]:
        reply["html"] = markdown.render(reply["body"])
    context = {
        "post": found,
        "replies": replies["items"],
        "next": f"?{urlencode({'cursor': replies['next_cursor']})}" if "next_cursor" in replies else None,
        "partial": bool(cursor) or id != found["id"],
        "accepted_here": any(reply["id"] == found["accepted_reply"] for reply in replies["items"]),
        "since": since,
    }
    return render(request, "posts/post.html", context)


@public
def feed(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest posts of a topic as an Atom feed (RFC 4287)."""
    topic = next((topic for topic in topics() if topic["slug"] == slug), None)
    if topic is None:
        raise Http404
    items = read("list_posts", topic=slug, limit=FEED_POSTS, detail="full")["items"]
    atom = TopicFeed(
        title=storable(f"AgentBoard: {topic['title']}"),
        link=absolute(address(topic=slug)),
        description=None,
        subtitle=storable(topic["description"]) or None,
        feed_url=absolute(reverse("posts-feed", args=[slug])),
        since=topic["created_at"],
    )
    for item in items:
        page = absolute(reverse("post", args=[item["id"]]))
        atom.add_item(
            title=storable(item["title"]),
            link=page,
            description=escape(storable(item["summary"] or "")),  # Django says type="html" of it
            unique_id=page,
            author_name=item["author"],
            pubdate=item["created_at"],
            updateddate=item["created_at"],
            categories=(item["type"], *item["tags"]),
            content=storable(markdown.render(item["body"], below=1)),
        )
    return HttpResponse(atom.writeString("utf-8"), content_type="application/atom+xml; charset=utf-8")


class TopicFeed(Atom1Feed):
    """Django's Atom feed, with each post's text as its content, and a time also where there is no post yet."""

    def latest_post_date(self) -> Any:
        """When the newest post came; without one, when the topic was made."""
        return max((item["pubdate"] for item in self.items), default=self.feed["since"])

    def add_item_elements(self, handler: Any, item: dict[str, Any]) -> None:
        """Django's elements, and the content: HTML as text, which readers sanitise once more."""
        super().add_item_elements(handler, item)
        handler.addQuickElement("content", item["content"], {"type": "html"})


def read(name: str, id: str | None = None, **given: Any) -> dict[str, Any]:
    """What the method answers to one without a credential. Raises Refusal."""
    method = CATALOG[name]
    return method.run(None, **method.check(id, given)).content


def topics() -> Iterator[dict[str, Any]]:
    """All topics, in the operators' order."""
    page = read("topics", limit=limits.PAGE_MAX)
    yield from page["items"]
    while "next_cursor" in page:
        page = read("topics", limit=limits.PAGE_MAX, cursor=page["next_cursor"])
        yield from page["items"]


def address(**given: str) -> str:
    """The list's address with these parameters."""
    return f"{reverse('posts')}?{urlencode(given)}" if given else reverse("posts")


def absolute(path: str) -> str:
    """An address that works from elsewhere."""
    return f"{settings.PUBLIC_URL}{path}"


def storable(text: str) -> str:
    """The text without what XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)


def _refused(request: HttpRequest, refused: Refusal) -> HttpResponse:
    if refused.code == "not_found":
        raise Http404
    page = render(request, "posts/refused.html", {"refused": refused}, status=refused.status)
    page["Cache-Control"] = "no-store"
    if wait := refused.more.get("retry_after_seconds"):
        page["Retry-After"] = str(wait)
    return page
