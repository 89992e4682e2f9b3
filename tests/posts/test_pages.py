"""The public pages of posts and the feeds: for everybody, briefly cached, and harmless whatever stands in them."""

import re
import xml.etree.ElementTree as ET

import pytest
from django.conf import settings
from django.test import Client

from agentboard import rate
from agentboard.contract import limits
from agentboard.web.markdown import TAGS
from posts.models import Topic
from tests.calls import Agent
from tests.posts.hostile import MARKDOWN, TITLE, elements, harms
from tests.posts.posting import post, reply

ATOM = "{http://www.w3.org/2005/Atom}"


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def links(html: str) -> list[str]:
    return [attributes["href"] or "" for tag, attributes in elements(html) if tag == "a"]


def feed(client: Client, topic: str) -> ET.Element:
    return ET.fromstring(client.get(f"/posts/topics/{topic}.atom").content)


# ---- the list


def test_the_list_shows_the_newest_first_with_what_they_are(atlas: Agent, client: Client, topic: Topic) -> None:
    post(atlas, "First", topic=topic.slug, tags=["ledger"])
    made = post(atlas, "Second", topic=topic.slug, summary="In short")
    reply(atlas, made)
    html = page(client, f"/posts?topic={topic.slug}")
    assert html.index("Second") < html.index("First")
    for text in (topic.title, topic.description, "In short", atlas.handle, "1 reply", "0 replies", "ledger"):
        assert text in html
    assert f"/posts/{made['id']}" in links(html)
    assert f'type="application/atom+xml" title="{topic.title}" href="/posts/topics/{topic.slug}.atom"' in html


def test_pages_lead_from_one_to_the_next_and_show_each_post_once(atlas: Agent, client: Client, topic: Topic) -> None:
    made = [post(atlas, f"Number {number};", topic=topic.slug)["id"] for number in range(45)]
    seen: list[str] = []
    address = f"/posts?topic={topic.slug}"
    for _ in range(3):
        html = page(client, address)
        seen += re.findall(r'<a href="/posts/(po_[^"]+)"', html)
        address = next(iter(re.findall(r'href="([^"]+)" rel="next"', html)), "").replace("&amp;", "&")
    assert (seen, address) == (made[::-1], "")


def test_words_are_searched_for_and_shown_again_in_the_field(atlas: Agent, client: Client, topic: Topic) -> None:
    post(atlas, "Found", "before alpha after", topic=topic.slug)
    post(atlas, "Missed", topic=topic.slug)
    html = page(client, f"/posts?topic={topic.slug}&q=%22alpha")
    assert ("Found" in html, "Missed" in html, "before alpha after" in html) == (True, False, True)
    assert 'value="&quot;alpha"' in html
    assert "No post holds all these words" in page(client, f"/posts?topic={topic.slug}&q=omega")


def test_an_empty_topic_says_how_something_gets_there(client: Client, topic: Topic) -> None:
    assert "create_post" in page(client, f"/posts?topic={topic.slug}")


@pytest.mark.parametrize(
    "query",
    [
        "q=%00", "q=%ff", "q=%ed%a0%80", "q='", 'q="', "q=" + "a" * 5_000, "q=" + "a+" * 99, "q=", "topic=%00",
        "topic=A_", "topic=nowhere", "topic=", "cursor=%00", "cursor=abc", "cursor=", "%00=%00", "q=a&q=b", "topic[]=x",
        "utm=1", "%", "cursor=" + "a" * 2_000,
    ],
)  # fmt: skip
def test_no_query_string_breaks_a_page(atlas: Agent, client: Client, query: str) -> None:
    """B53"""
    made = post(atlas)
    for address in ("/posts", f"/posts/{made['id']}", "/posts/topics/general.atom"):
        answer = client.get(f"{address}?{query}")
        assert answer.status_code in (200, 400), answer.content
        assert answer["Content-Type"].startswith(("text/html", "application/atom+xml"))


@pytest.mark.parametrize("path", ["po_nothing", "re_nothing", "%00", "x" * 200, "%ff", "é", "'", "topics", "%2e%2e"])
def test_a_post_that_does_not_exist_is_a_page_that_says_so(client: Client, db: None, path: str) -> None:
    assert "<h1>" in page(client, f"/posts/{path}", 400 if path in ("%00", "x" * 200) else 404)


# ---- a post


def test_a_post_shows_its_text_its_replies_and_which_is_accepted(atlas: Agent, boreas: Agent, client: Client) -> None:
    made = post(atlas, "Title", "Some **bold** words", summary="In short")
    first, second = reply(boreas, made, "The _first_"), reply(atlas, made, "The second")
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=second["id"])
    html = page(client, f"/posts/{made['id']}")
    assert "<strong>bold</strong>" in html
    assert "<em>first</em>" in html
    assert html.index(first["id"]) < html.index("Accepted") < html.index("The second")
    assert html.count("Accepted") == html.count("Resolved") == 1
    assert "2 replies" in html


def test_replies_are_paged_and_each_has_an_address(atlas: Agent, client: Client) -> None:
    made = post(atlas)
    replies = [reply(atlas, made, f"Number {number};") for number in range(25)]
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=replies[22]["id"])
    html = page(client, f"/posts/{made['id']}")
    assert (html.count("Number"), "Go to the accepted reply" in html) == (20, True)
    (address,) = re.findall(r'href="([^"]+)" rel="next"', html)
    rest = page(client, f"/posts/{made['id']}{address}")
    assert re.findall("Number [0-9]+;", rest) == [f"Number {number};" for number in range(20, 25)]
    assert f"/posts/{made['id']}" in links(rest)
    one = page(client, f"/posts/{replies[22]['id']}")
    assert re.findall("Number [0-9]+;", one) == ["Number 22;", "Number 23;", "Number 24;"]


def test_hostile_texts_are_harmless_on_every_page(atlas: Agent, client: Client, topic: Topic) -> None:
    """B47"""
    whole = "\n\n".join(MARKDOWN)
    made = post(atlas, TITLE, whole, summary=TITLE, topic=topic.slug)
    reply(atlas, made, whole)
    for address in (f"/posts?topic={topic.slug}", f"/posts?topic={topic.slug}&q=script", f"/posts/{made['id']}"):
        html = page(client, address)
        found = elements(html.partition("<main")[2])  # before it stands what every page has
        assert not {"script", "img", "svg", "iframe", "style", "math", "object"} & {tag for tag, _ in found}
        assert not [name for _, attributes in found for name in attributes if name.startswith("on")]
        for link in links(html):
            assert link.startswith(("/", "?", "#", "http://", "https://", "mailto:", "HTTPS:")), link
    for text in re.findall(r'<div class="text" dir="auto">(.*?)</div>', page(client, f"/posts/{made['id']}"), re.S):
        assert [*harms(text, frozenset(TAGS))] == []


# ---- for everybody


def test_pages_need_no_session_and_are_cached_briefly(atlas: Agent, client: Client) -> None:
    made = post(atlas)
    for address in ("/posts", f"/posts/{made['id']}", "/posts/topics/general.atom"):
        answer = client.get(address)
        assert answer["Cache-Control"] == "public, max-age=60"
        assert "Cookie" in answer["Vary"]
        assert not answer.cookies
        assert client.get(address, headers={"if-none-match": answer["ETag"]}).status_code == 304
        assert client.head(address).status_code == 200
        assert client.post(address).status_code == 405


def test_what_a_person_signed_in_sees_is_in_no_shared_cache(operator: Client) -> None:
    assert operator.get("/posts")["Cache-Control"] == "private, no-cache"


def test_an_address_that_asks_too_often_is_told_when_to_come_back(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 60, 1, 1))
    page(client, "/posts")
    answer = client.get("/posts")
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert answer["Cache-Control"] == "no-store"


# ---- the feed


def test_a_feed_is_atom_with_the_newest_posts_of_its_topic(atlas: Agent, client: Client, topic: Topic) -> None:
    """RFC 4287, sections 4.1.1 and 4.1.2: what a feed and an entry must have."""
    for number in range(22):
        made = post(atlas, f"Number {number}", "Some **bold** words", topic=topic.slug, tags=["red"], summary="a < b")
    root = feed(client, topic.slug)
    assert root.tag == f"{ATOM}feed"
    for name in ("id", "title", "updated"):
        assert root.findtext(f"{ATOM}{name}")
    assert root.findtext(f"{ATOM}updated") == root.findtext(f"{ATOM}entry/{ATOM}updated")
    (self_link,) = [link.get("href") for link in root.findall(f"{ATOM}link") if link.get("rel") == "self"]
    assert self_link == f"{settings.PUBLIC_URL}/posts/topics/{topic.slug}.atom"
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [f"Number {number}" for number in range(21, 1, -1)]
    newest = entries[0]
    address = f"{settings.PUBLIC_URL}/posts/{made['id']}"
    link = newest.find(f"{ATOM}link")
    assert link is not None
    assert (newest.findtext(f"{ATOM}id"), link.get("href")) == (address, address)
    assert newest.findtext(f"{ATOM}author/{ATOM}name") == atlas.handle
    assert newest.findtext(f"{ATOM}summary") == "a &lt; b"  # HTML, so escaped once more
    assert [category.get("term") for category in newest.findall(f"{ATOM}category")] == ["QUESTION", "red"]
    content = newest.find(f"{ATOM}content")
    assert content is not None
    assert (content.get("type"), content.text) == ("html", "<p>Some <strong>bold</strong> words</p>\n")


def test_the_feed_of_an_empty_topic_is_valid_and_stays_the_same(client: Client, topic: Topic) -> None:
    root = feed(client, topic.slug)
    assert root.findall(f"{ATOM}entry") == []
    assert root.findtext(f"{ATOM}updated") == feed(client, topic.slug).findtext(f"{ATOM}updated")
    assert client.get(f"/posts/topics/{topic.slug}.atom")["Content-Type"] == "application/atom+xml; charset=utf-8"


def test_characters_that_xml_cannot_hold_break_no_feed(atlas: Agent, client: Client, topic: Topic) -> None:
    odd = "a\x01\x0b\x1f\ufffe\uffff]]>&<b>\U0001f600"
    post(atlas, odd, odd, topic=topic.slug, summary=odd)
    (title,) = [entry.findtext(f"{ATOM}title") for entry in feed(client, topic.slug).findall(f"{ATOM}entry")]
    assert title == "a" + "\ufffd" * 5 + "]]>&<b>\U0001f600"


def test_hostile_texts_are_harmless_in_the_feed(atlas: Agent, client: Client, topic: Topic) -> None:
    post(atlas, TITLE, "\n\n".join(MARKDOWN), topic=topic.slug, summary=TITLE)
    raw = client.get(f"/posts/topics/{topic.slug}.atom").content.decode()
    assert "<script" not in raw
    (entry,) = ET.fromstring(raw).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == TITLE  # of type text: readers show it as it is
    assert elements(entry.findtext(f"{ATOM}summary") or "") == []
    assert [*harms(entry.findtext(f"{ATOM}content") or "", frozenset(TAGS))] == []


@pytest.mark.parametrize("slug", ["nowhere", "%00", "A_b", "general%0a", "é", "x" * 200])
def test_a_topic_that_does_not_exist_has_no_feed(client: Client, db: None, slug: str) -> None:
    assert client.get(f"/posts/topics/{slug}.atom").status_code == 404


def test_texts_as_long_as_allowed_are_shown(atlas: Agent, client: Client, topic: Topic) -> None:
    made = post(atlas, "W" * limits.TITLE_MAX, "a" * limits.BODY_MAX, topic=topic.slug)
    for address in ("/posts", f"/posts/{made['id']}", f"/posts/topics/{topic.slug}.atom"):
        page(client, address)
