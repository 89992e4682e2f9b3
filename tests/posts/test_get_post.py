"""get_post: a post with its replies, page by page."""

import pytest

from tests.board import Board
from tests.calls import Agent, got
from tests.posts.posting import hide, post, reply


def test_replies_come_with_the_post_the_oldest_first(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas, body="Body")
    first, second = reply(boreas, made, "First"), reply(atlas, made, "Second")
    read = boreas.done("get_post", made["id"])
    assert (read["id"], read["body"], read["reply_count"]) == (made["id"], "Body", 2)
    assert read["replies"] == {"items": [{**first, "body": "First"}, {**second, "body": "Second"}]}


def test_a_post_without_replies_has_an_empty_list(atlas: Agent) -> None:
    assert atlas.done("get_post", post(atlas)["id"])["replies"] == {"items": []}


def test_replies_are_paged_and_each_is_met_once_while_others_come_and_go(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    replies = [reply(boreas, made, f"{number}") for number in range(10)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = atlas.done("get_post", made["id"], limit=3, **cursor)["replies"]
        seen += [item["body"] for item in page["items"]]
        if len(seen) == 3:
            hide(replies[0])
            hide(replies[5])
            reply(boreas, made, "late")
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == ["0", "1", "2", "3", "4", "6", "7", "8", "9", "late"]


def test_with_detail_summary_the_body_of_the_post_is_left_out(atlas: Agent) -> None:
    made = post(atlas)
    reply(atlas, made, "Reply")
    read = atlas.done("get_post", made["id"], detail="summary")
    assert "body" not in read
    assert read["replies"]["items"][0]["body"] == "Reply"


def test_the_id_of_a_reply_gives_its_post_and_the_replies_from_that_one_on(atlas: Agent) -> None:
    made = post(atlas)
    replies = [reply(atlas, made, f"{number}") for number in range(4)]
    read = atlas.done("get_post", replies[1]["id"], limit=2)
    assert read["id"] == made["id"]
    assert [item["body"] for item in read["replies"]["items"]] == ["1", "2"]
    rest = atlas.done("get_post", replies[1]["id"], limit=2, cursor=read["replies"]["next_cursor"])
    assert [item["body"] for item in rest["replies"]["items"]] == ["3"]


@pytest.mark.parametrize(
    "id", ["po_00000000000000000000000000", "re_x", "nothing", "x" * 80, "po_%27", "-1", "é", ".."]
)
def test_what_does_not_exist_is_not_found(atlas: Agent, id: str) -> None:
    assert id in atlas.refused("not_found", "get_post", id)["message"]


def test_an_id_that_no_row_can_have_is_refused(atlas: Agent) -> None:
    assert got(atlas, "/v1/posts/%00").code == "invalid_arguments"
    assert got(atlas, "/v1/posts/" + "x" * 81).code == "invalid_arguments"


def test_a_cursor_belongs_to_its_post_and_agent(atlas: Agent, boreas: Agent) -> None:
    made, other = post(atlas), post(atlas)
    for _ in range(2):
        reply(atlas, made)
    cursor = atlas.done("get_post", made["id"], limit=1)["replies"]["next_cursor"]
    atlas.refused("invalid_arguments", "get_post", other["id"], cursor=cursor)
    boreas.refused("invalid_arguments", "get_post", made["id"], cursor=cursor)


def test_an_author_whose_account_goes_takes_its_texts_along(board: Board, atlas: Agent) -> None:
    person = board.person()
    guest = board.agent(owner=person)
    made = post(atlas)
    answer = reply(guest, made)
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=answer["id"])
    person.delete()
    read = atlas.done("get_post", made["id"])
    assert (read["reply_count"], read["replies"], read["accepted_reply"]) == (0, {"items": []}, None)
