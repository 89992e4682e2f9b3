"""Who is refused a socket, and what ends one at once."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.serving import Served, wait_for
from tests.web.live.conftest import Installation
from tests.web.live.pages import SECONDS, Reader, opened, watching

SOCKETS_MAX = 50
FLOOD = 60


@pytest.fixture(scope="module")
def mira(board: tuple[Installation, Served]) -> Reader:
    """Somebody with an agent, for all tests here: few of them write."""
    return board[0].reader()


@pytest.fixture(scope="module")
def nora(board: tuple[Installation, Served]) -> Reader:
    """Somebody else."""
    return board[0].reader()


@pytest.mark.no_database
@pytest.mark.parametrize(
    "origin", ["", "null", "https://elsewhere.example", "http://127.0.0.1", "http://127.0.0.1:1", "HTTP://127.0.0.1"]
)
def test_a_page_of_another_origin_gets_no_socket(server: Served, mira: Reader, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, mira, origin=origin):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.no_database
def test_a_page_by_another_scheme_gets_no_socket(server: Served, mira: Reader) -> None:
    with pytest.raises(InvalidStatus), opened(server, mira, origin=server.url.replace("http:", "https:")):
        pass


@pytest.mark.no_database
@pytest.mark.parametrize("path", ["/", "/live/", "/live/x", "/mcp", "/v1/events"])
def test_no_other_path_has_a_socket(server: Served, mira: Reader, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, mira, path=path):
        pass
    assert refused.value.response.status_code in (403, 404)


def code_of(server: Served, reader: Reader | None, *messages: Any) -> int | None:
    """What a socket is closed with after these messages."""
    with opened(server, reader) as page:
        with suppress(ConnectionClosed):  # it may be over before all is sent
            for message in messages:
                page.send(message)
        return page.code()


@pytest.mark.parametrize(
    "kind", ["note:{}:plan", "notes:{}", "inbox:{}", "agent:{}", "spaces:{}", "space:{}:sp_x", "entry:{}:en_x"]
)
def test_what_is_anothers_and_what_does_not_exist_are_refused_alike(
    server: Served, mira: Reader, nora: Reader, kind: str
) -> None:
    own = {f"notes:{nora.handle}": 0}
    for handle in (mira.handle, "nobody"):
        topic = kind.format(handle)
        assert code_of(server, nora, {"watch": own | {topic: 0}}) == 4403
        assert code_of(server, None, {"watch": {topic: 0}}) == 4401


@pytest.mark.parametrize("topic", ["space:{}:{}", "public:{}"])
def test_a_private_space_is_unknown_to_outsiders(server: Served, mira: Reader, nora: Reader, topic: str) -> None:
    made = mira.agent(server).done("create_space", request_id=topic[:5], name=topic[:5], title="Space")
    names = (nora.handle, made["id"]) if topic.startswith("space") else (made["id"],)
    assert code_of(server, nora, {"watch": {topic.format(*names): 0}}) == 4403


def test_an_invited_agent_is_an_outsider_until_it_accepts(server: Served, mira: Reader, nora: Reader) -> None:
    atlas = mira.agent(server)
    space = atlas.done("create_space", request_id="invited", name="invited", title="Space")["id"]
    atlas.done("set_space_member", space, agent=nora.handle, role="owner")
    assert code_of(server, nora, {"watch": {f"space:{nora.handle}:{space}": 0}}) == 4403


def test_a_session_that_is_none_is_nobodys(server: Served, mira: Reader) -> None:
    forged = Reader(mira.pk, ("x" * 32, "'; --"), mira.agent_id, mira.handle, mira.key)
    for session in (0, 1):
        with opened(server, forged, session=session) as page:
            page.send({"watch": {f"notes:{mira.handle}": 0}})
            assert page.code() == 4401


@pytest.mark.no_database
@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "[]",
        "1",
        '"watch"',
        "{}",
        {"watch": {}},
        {"watch": ["posts"]},
        {"watch": None},
        {"watch": {"posts": 0}, "more": 1},
        {"watch": {"posts": True}},
        {"watch": {"posts": -1}},
        {"watch": {"posts": 1.5}},
        {"watch": {"posts": 2**31}},
        {"watch": {"posts": "1"}},
        {"watch": {"posts": 0}, "since": 1},
        {"watch": {"posts:": 0}},
        {"watch": {"posts:x": 0}},
        {"watch": {"note:atlas": 0}},
        {"watch": {"note:atlas:plan:x": 0}},
        {"watch": {"note::plan": 0}},
        {"watch": {"": 0}},
        {"watch": {"__class__:x": 0}},
        {"watch": {f"post:{'x' * 81}": 0}},
        {"watch": {f"post:po_{number}": 0 for number in range(13)}},
        {"ping": 1},
        b"\xff\xfe",
        b'{"watch": {"posts": 0}}',
    ],
    ids=str,
)
def test_a_first_message_that_no_page_sends_ends_the_socket(server: Served, mira: Reader, message: Any) -> None:
    assert code_of(server, mira, message) == 4400


@pytest.mark.no_database
@pytest.mark.parametrize(
    "message",
    [{"watch": {"posts": 0}}, {"ping": -1}, {"ping": True}, {"ping": "1"}, {"ping": 1, "x": 1}, {}, "x", b"x"],
)
def test_a_later_message_that_no_page_sends_ends_the_socket(server: Served, mira: Reader, message: Any) -> None:
    assert code_of(server, mira, {"watch": {"posts": 0}}, message) == 4400


@pytest.mark.no_database
def test_a_page_that_does_not_say_what_it_shows_is_closed(server: Served, mira: Reader) -> None:
    assert code_of(server, mira) == 4408


def test_a_message_that_is_too_large_ends_the_socket(server: Served, mira: Reader) -> None:
    assert code_of(server, mira, "x" * 4097) == 1009
    # Closed while much is still on its way, the connection may be reset, and what the close said is lost with it.
    assert code_of(server, mira, {"watch": {"posts": 0}}, b"x" * 1_000_000) in (1009, None)


@pytest.mark.no_database
def test_too_many_signs_of_life_end_the_socket(server: Served, mira: Reader) -> None:
    with watching(server, mira, "posts") as page:
        with suppress(ConnectionClosed):
            for number in range(FLOOD):
                page.send({"ping": number})
        assert page.code() == 4429


@pytest.mark.no_database
def test_one_person_may_have_so_many_sockets_and_another_is_not_hindered(
    server: Served, mira: Reader, nora: Reader
) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(watching(server, mira, "posts")) for _ in range(SOCKETS_MAX)]
        assert code_of(server, mira, {"watch": {"posts": 0}}) == 4429
        with watching(server, nora, "posts"):
            pass
        pages[0].connection.close()
        wait_for(lambda: let_in(server, mira), SECONDS)  # the server hears of the end a moment later


def let_in(server: Served, reader: Reader) -> bool:
    """Whether one more socket of the reader is taken."""
    try:
        with watching(server, reader, "posts"):
            return True
    except ConnectionClosed:
        return False


def test_nothing_of_this_is_a_fault(server: Served) -> None:
    assert '"level":"ERROR"' not in server.err
    assert "Traceback" not in server.err
