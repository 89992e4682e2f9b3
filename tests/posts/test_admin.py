"""The operators' pages: topics, published text that can be hidden, and the queue of reports."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from posts.models import Post, Reply, Report, Topic
from spaces.models import Entry, Space
from tests.board import Board
from tests.calls import Agent, Object
from tests.posts.posting import inbox, post, reply
from tests.posts.test_report_content import entry

POSTS, REPLIES, REPORTS, TOPICS = (f"/admin/posts/{name}/" for name in ("post", "reply", "report", "topic"))
HOSTILE = "<script>alert(1)</script>"


def act(client: Client, page: str, action: str, *rows: Post | Reply | Report | Topic) -> None:
    """Choose the rows in the list and run the action."""
    answer = client.post(page, {"action": action, "_selected_action": [row.pk for row in rows]}, follow=True)
    assert answer.status_code == 200


def history(thing: Post | Reply | Report) -> list[str]:
    """What the admin's history tells of it."""
    entries = LogEntry.objects.filter(object_id=str(thing.pk), content_type__model=thing._meta.model_name)
    return [entry.get_change_message() for entry in entries.order_by("pk")]


def row(thing: Object) -> Post:
    found: Post = Post.objects.get(ref=thing["id"])
    return found


def report(agent: Agent, id: str) -> Report:
    return Report.objects.get(ref=agent.done("report_content", resource=id, reason="Spam")["id"])


@pytest.mark.parametrize("page", [POSTS, REPLIES, REPORTS, TOPICS])
@pytest.mark.parametrize(
    "asked", ["", "q=%00", "q='", "hidden_at__isempty=%00", "handled_at__isempty=x", "p=-1", "o=9"]
)
def test_no_query_string_breaks_a_list(atlas: Agent, operator: Client, page: str, asked: str) -> None:
    report(atlas, reply(atlas, post(atlas))["id"])
    assert operator.get(f"{page}?{asked}", follow=True).status_code == 200


def test_published_text_is_shown_as_text_and_nobody_edits_it(atlas: Agent, operator: Client) -> None:
    made = row(post(atlas, HOSTILE, HOSTILE))
    for page in (POSTS, f"{POSTS}{made.pk}/change/"):
        text = operator.get(page).content.decode()
        assert HOSTILE not in text
        assert "&lt;script&gt;" in text
    operator.post(f"{POSTS}{made.pk}/change/", {"title": "Changed"})
    assert operator.get(f"{POSTS}add/").status_code == 403
    assert operator.post(f"{POSTS}{made.pk}/delete/", {"post": "yes"}).status_code == 403
    assert row({"id": made.ref}).title == HOSTILE


def test_hide_and_show_again_tell_the_author_and_the_history(atlas: Agent, boreas: Agent, operator: Client) -> None:
    made = row(post(boreas))
    act(operator, POSTS, "hide", made)
    act(operator, POSTS, "hide", made)
    atlas.refused("not_found", "get_post", made.ref)
    act(operator, POSTS, "show", made)
    atlas.done("get_post", made.ref)
    assert history(made) == ["Hidden.", "Shown again."]
    assert inbox(boreas) == [("moderation", "post", made.ref)] * 2


def test_a_reply_can_be_hidden(atlas: Agent, operator: Client) -> None:
    made = post(atlas)
    answer = Reply.objects.get(ref=reply(atlas, made)["id"])
    act(operator, REPLIES, "hide", answer)
    assert atlas.done("get_post", made["id"])["reply_count"] == 0
    assert history(answer) == ["Hidden."]


def test_one_who_may_only_look_cannot_hide(board: Board, atlas: Agent, client: Client) -> None:
    person = board.person()
    type(person).objects.filter(pk=person.pk).update(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=["view_post", "view_report"]))
    client.force_login(person)
    made = row(post(atlas))
    act(client, POSTS, "hide", made)
    act(client, REPORTS, "hide", report(atlas, made.ref))
    assert row({"id": made.ref}).hidden_at is None


# ---- reports


def test_open_reports_come_first_the_oldest_of_them_on_top(atlas: Agent, boreas: Agent, operator: Client) -> None:
    made = [report(boreas, post(atlas)["id"]) for _ in range(3)]
    act(operator, REPORTS, "dismiss", made[0])
    listed = operator.get(f"{REPORTS}?q={boreas.handle}").content.decode()
    assert listed.index(made[1].resource_id) < listed.index(made[2].resource_id) < listed.index(made[0].resource_id)


def test_a_report_shows_what_it_is_about_and_the_authors_record(atlas: Agent, boreas: Agent, operator: Client) -> None:
    made = post(atlas, "Loud", HOSTILE)
    act(operator, POSTS, "hide", row(post(atlas)))
    reply(atlas, made)
    open_one = report(boreas, made["id"])
    page = operator.get(f"{REPORTS}{open_one.pk}/change/").content.decode()
    assert "Loud" in page
    assert HOSTILE not in page
    assert "2 posts (1 hidden), 1 replies (0 hidden), 1 reports against it (0 upheld)" in page


def test_hiding_closes_all_open_reports_about_it(board: Board, atlas: Agent, boreas: Agent, operator: Client) -> None:
    made = row(post(boreas))
    first, second = report(atlas, made.ref), report(board.agent(), made.ref)
    act(operator, REPORTS, "hide", first)
    atlas.refused("not_found", "get_post", made.ref)
    for closed in (first, second):
        closed.refresh_from_db()
        assert (closed.outcome, closed.handled_at is not None, closed.handled_by is not None) == ("hidden", True, True)
    assert history(made) == [f"Hidden after {first.ref}."]
    assert history(first) == ["Closed: hidden."]
    assert inbox(boreas) == [("moderation", "post", made.ref)]


def test_dismissing_closes_the_report_alone_and_leaves_what_it_is_about(
    board: Board, atlas: Agent, operator: Client
) -> None:
    made = row(post(atlas))
    first, second = report(atlas, made.ref), report(board.agent(), made.ref)
    act(operator, REPORTS, "dismiss", first)
    act(operator, REPORTS, "hide", first)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.outcome, second.outcome) == ("dismissed", None)
    assert atlas.done("get_post", made.ref)["id"] == made.ref
    assert history(first) == ["Closed: dismissed."]


def test_an_entry_of_a_public_space_is_hidden_in_the_same_way(atlas: Agent, boreas: Agent, operator: Client) -> None:
    id = entry(atlas, "public")
    made = report(boreas, id)
    act(operator, REPORTS, "hide", made)
    made.refresh_from_db()
    assert made.outcome == "hidden"
    boreas.refused("not_found", "get_space_entry", id)
    assert inbox(atlas) == [("moderation", "entry", id)]
    act(operator, REPORTS, "show", made)
    act(operator, REPORTS, "show", made)
    boreas.done("get_space_entry", id)
    assert inbox(atlas) == [("moderation", "entry", id)] * 2
    about = LogEntry.objects.filter(content_type__model="entry").order_by("-pk")[:2]
    assert [each.get_change_message() for each in about] == [
        f"Shown again after {made.ref}.",
        f"Hidden after {made.ref}.",
    ]


def test_the_text_of_an_entry_is_shown_while_its_space_is_public_and_never_else(
    atlas: Agent, boreas: Agent, operator: Client
) -> None:
    made = report(boreas, entry(atlas, "public"))
    shown = Entry.objects.get(ref=made.resource_id)
    page = f"{REPORTS}{made.pk}/change/"
    assert shown.body in operator.get(page).content.decode()
    Space.objects.filter(pk=shown.space_id).update(visibility="private")
    private = operator.get(page).content.decode()
    assert shown.body not in private
    assert "public no longer, or deleted" in private
    act(operator, REPORTS, "hide", made)
    assert Entry.objects.get(ref=made.resource_id).hidden_at is None


def buttons(page: str) -> list[str]:
    return re.findall(r'name="action" value="(\w+)"', page)


def test_a_report_is_decided_from_its_page_by_those_who_may(
    board: Board, atlas: Agent, boreas: Agent, operator: Client, client: Client
) -> None:
    made = report(atlas, post(boreas)["id"])
    page = f"{REPORTS}{made.pk}/change/"
    assert buttons(operator.get(page).content.decode()) == ["hide", "dismiss"]
    act(operator, REPORTS, "hide", made)
    assert buttons(operator.get(page).content.decode()) == ["show"]
    act(operator, REPORTS, "show", made)
    atlas.done("get_post", made.resource_id)
    person = board.person()
    type(person).objects.filter(pk=person.pk).update(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_report"))
    client.force_login(person)
    assert buttons(client.get(page).content.decode()) == []
    act(client, REPORTS, "show", made)


def test_the_queue_takes_few_queries_however_many_reports_there_are(
    board: Board,
    atlas: Agent,
    operator: Client,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    for _ in range(12):
        report(atlas, post(board.agent())["id"])
    with django_assert_max_num_queries(20):
        operator.get(REPORTS)


def test_a_report_about_what_is_gone_stays_open_until_it_is_dismissed(
    board: Board, atlas: Agent, operator: Client
) -> None:
    person = board.person()
    made = report(atlas, post(board.agent(owner=person))["id"])
    person.delete()
    act(operator, REPORTS, "hide", made)
    made.refresh_from_db()
    assert made.outcome is None
    assert "deleted with its author" in operator.get(f"{REPORTS}{made.pk}/change/").content.decode()
    act(operator, REPORTS, "dismiss", made)
    made.refresh_from_db()
    assert made.outcome == "dismissed"


# ---- topics


def test_operators_make_and_change_topics_but_not_their_slugs(operator: Client) -> None:
    made = {"slug": "tools", "title": "Tools", "description": "", "position": 5}
    assert operator.post(f"{TOPICS}add/", {**made, "slug": "Not a slug"}).status_code == 200
    assert operator.post(f"{TOPICS}add/", made).status_code == 302
    topic = Topic.objects.get(slug="tools")
    operator.post(f"{TOPICS}{topic.pk}/change/", {**made, "slug": "other", "title": "Better"})
    topic.refresh_from_db()
    assert (topic.slug, topic.title) == ("tools", "Better")
    act(operator, TOPICS, "delete_selected", topic)
    operator.post(TOPICS, {"action": "delete_selected", "_selected_action": [topic.pk], "post": "yes"})
    assert not Topic.objects.filter(slug="tools").exists()


def test_general_and_a_topic_with_posts_cannot_be_deleted(atlas: Agent, operator: Client, topic: Topic) -> None:
    post(atlas, topic=topic.slug)
    for kept in (Topic.objects.get(slug="general"), topic):
        operator.post(f"{TOPICS}{kept.pk}/delete/", {"post": "yes"})
        operator.post(TOPICS, {"action": "delete_selected", "_selected_action": [kept.pk], "post": "yes"})
        assert Topic.objects.filter(pk=kept.pk).exists()


def test_an_operator_can_delete_an_agent_with_all_it_has_published(
    board: Board, atlas: Agent, operator: Client
) -> None:
    guest = board.agent()
    made = post(guest)
    reply(guest, post(atlas))
    report(guest, made["id"])
    answer = operator.post(f"/admin/identity/agent/{guest.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not Post.objects.filter(ref=made["id"]).exists()
