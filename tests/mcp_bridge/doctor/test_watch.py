"""What is kept of an attempt to connect, and what belongs to one."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentboard.identity.keys import new_key
from agentboard.identity.models import Person
from agentboard.rate import Buckets
from mcp_bridge.doctor import watch
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import Peer, hashed
from mcp_bridge.doctor.reasons import WORDS, Reason, words_of
from tests.board import Board
from tests.calls import Agent

BROWSER = "Mozilla/5.0"


@pytest.fixture
def mira(board: Board) -> Person:
    return board.person()


def attempts(*peers: Peer) -> list[Attempt]:
    """All attempts from the peers' addresses, the oldest first."""
    return list(Attempt.objects.filter(address__in=[peer.address for peer in peers]).order_by("id"))


def only(peer: Peer) -> Attempt:
    (found,) = attempts(peer)
    return found


def from_elsewhere(peer: Peer) -> Peer:
    return replace(peer, address=hashed(f"not {peer.address}"))


def age(attempt: Attempt, by: timedelta) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(updated_at=timezone.now() - by)


def test_all_steps_of_one_app_are_one_attempt(peer: Peer, mira: Person, board: Board) -> None:
    agent = board.agent(owner=mira)
    browser = replace(peer, program=BROWSER)
    watch.reached(Step.DISCOVERY, peer)
    watch.reached(Step.REGISTRATION, peer, client_id="c1", client="Claude Code")
    watch.stopped(Step.CONSENT, Reason.CONSENT_OPEN, browser, client_id="c1", person=mira.pk)
    watch.reached(Step.CONSENT, browser, client_id="c1", person=mira.pk, agent=agent.pk)
    watch.reached(Step.TOKEN, peer, client_id="c1", person=mira.pk, agent=agent.pk)
    found = only(peer)
    assert (found.step, found.reason, found.stopped_at) == (Step.TOKEN, "", Step.NONE)
    assert (found.client, found.program, found.client_id) == ("Claude Code", "claude-code/2.1", "c1")
    assert (found.person_id, found.agent_id) == (mira.pk, agent.pk)


def test_an_attempt_keeps_the_furthest_step_and_where_it_stopped(peer: Peer) -> None:
    watch.reached(Step.REGISTRATION, peer, client_id="c2")
    watch.stopped(Step.CONSENT, Reason.PKCE_MISSING, peer, client_id="c2")
    found = only(peer)
    assert (found.step, found.stopped_at, found.reason) == (Step.REGISTRATION, Step.CONSENT, "pkce_missing")


def test_going_on_takes_the_reason_away_and_looking_around_does_not(peer: Peer) -> None:
    watch.stopped(Step.CONSENT, Reason.CONSENT_OPEN, peer, client_id="c3")
    watch.reached(Step.DISCOVERY, peer)
    assert only(peer).reason == "consent_open"
    watch.reached(Step.CONSENT, peer, client_id="c3")
    assert (only(peer).reason, only(peer).stopped_at) == ("", Step.NONE)


def test_two_apps_at_one_address_are_two_attempts(peer: Peer) -> None:
    other = replace(peer, program="cursor/3")
    for each, client in ((peer, "c4"), (other, "c5")):
        watch.reached(Step.DISCOVERY, each)
        watch.reached(Step.REGISTRATION, each, client_id=client)
    assert [found.client_id for found in attempts(peer)] == ["c4", "c5"]


def test_an_app_that_registers_again_begins_a_new_attempt(peer: Peer) -> None:
    watch.reached(Step.REGISTRATION, peer, client_id="c6")
    watch.reached(Step.REGISTRATION, peer, client_id="c7")
    assert len(attempts(peer)) == 2


def test_somebody_who_had_a_token_and_asks_for_consent_again_begins_a_new_attempt(peer: Peer, mira: Person) -> None:
    watch.reached(Step.TOKEN, peer, client_id="c8", person=mira.pk)
    watch.stopped(Step.CONSENT, Reason.CONSENT_OPEN, peer, client_id="c8", person=mira.pk)
    assert [found.step for found in attempts(peer)] == [Step.TOKEN, Step.NONE]


def test_an_app_that_registered_elsewhere_is_known_again_when_its_person_signs_in(peer: Peer, mira: Person) -> None:
    hosted = from_elsewhere(peer)
    watch.reached(Step.REGISTRATION, hosted, client_id="c9", client="ChatGPT")
    watch.reached(Step.CONSENT, peer, client_id="c9", person=mira.pk)
    watch.reached(Step.TOKEN, hosted, client_id="c9", person=mira.pk)
    (found,) = attempts(peer, hosted)
    assert (found.client, found.person_id, found.step) == ("ChatGPT", mira.pk, Step.TOKEN)


def test_two_people_with_copies_of_one_app_have_an_attempt_each(peer: Peer, board: Board) -> None:
    document, other = "https://app.example/client.json", from_elsewhere(peer)
    mira, noor = board.person(), board.person()
    watch.reached(Step.CONSENT, peer, client_id=document, person=mira.pk)
    watch.reached(Step.CONSENT, other, client_id=document, person=noor.pk)
    watch.stopped(Step.TOKEN, Reason.CODE_UNKNOWN, peer, client_id=document)
    of_mira, of_noor = attempts(peer, other)
    assert (of_mira.person_id, of_mira.reason) == (mira.pk, "code_unknown")
    assert (of_noor.person_id, of_noor.reason) == (noor.pk, "")


def test_news_of_another_address_never_changes_the_attempt_of_a_person(peer: Peer, mira: Person) -> None:
    watch.reached(Step.CONSENT, peer, client_id="c10", person=mira.pk)
    watch.stopped(Step.TOKEN, Reason.CODE_UNKNOWN, from_elsewhere(peer), client_id="c10")
    assert only(peer).reason == ""


def test_after_half_an_hour_an_app_without_a_registration_begins_anew(peer: Peer) -> None:
    watch.reached(Step.DISCOVERY, peer)
    age(only(peer), watch.ANONYMOUS_FOR)
    watch.reached(Step.REGISTRATION, peer, client_id="c11")
    assert [found.client_id for found in attempts(peer)] == ["", "c11"]


@pytest.mark.parametrize("repeats", [1, 5])
def test_looking_around_again_and_again_costs_one_row_and_no_query(peer: Peer, repeats: int) -> None:
    watch.reached(Step.DISCOVERY, peer)
    with CaptureQueriesContext(connection) as asked:
        for _ in range(repeats):
            watch.reached(Step.DISCOVERY, peer)
    assert (len(attempts(peer)), len(asked)) == (1, 0)


def test_a_step_costs_one_write(peer: Peer) -> None:
    watch.reached(Step.DISCOVERY, peer)
    with CaptureQueriesContext(connection) as asked:
        watch.reached(Step.REGISTRATION, peer, client_id="c12")
    written = [query["sql"] for query in asked if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert len(written) == 1


def test_four_look_at_once_and_are_one_attempt(peer: Peer) -> None:
    together = threading.Barrier(4)

    def look() -> None:
        together.wait(10)  # seconds
        watch.tell(watch.News(Step.REGISTRATION, "", peer, client_id="c13"))
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert only(peer).client_id == "c13"


def test_one_address_can_fill_only_so_many_rows(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "ROWS_A_DAY", 3)
    for number in range(9):
        watch.reached(Step.DISCOVERY, replace(peer, program=f"flood/{number}"))
    assert len(attempts(peer)) == 3


def test_many_addresses_together_can_fill_only_so_many_rows_a_minute(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "NEW_ROWS", Buckets("attempts", 1, 2, 1))
    peers = [replace(peer, address=hashed(f"{peer.address} {number}")) for number in range(5)]
    for each in peers:
        watch.reached(Step.DISCOVERY, each)
    assert len(attempts(*peers)) == 2


def test_a_database_that_takes_nothing_fails_no_request(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(watch, "_write", full)
    watch.reached(Step.REGISTRATION, peer, client_id="c14")
    assert [record.message for record in caplog.records] == ["an attempt to connect was not written down"]


HOSTILE = "A\x00\u202egreat\u200b app\n" + "x" * 1000


def test_a_hostile_name_becomes_one_visible_line(peer: Peer) -> None:
    watch.reached(Step.REGISTRATION, peer, client_id="c15", client=HOSTILE)
    name = only(peer).client
    assert name.startswith("A great app xxx")
    assert len(name) == 60


@pytest.mark.parametrize("client_id", ["", "x" * 256, "a\nb", "ключ", "\ud800", "\0"])
def test_a_client_id_that_none_can_have_is_not_kept(peer: Peer, client_id: str) -> None:
    watch.stopped(Step.CONSENT, Reason.CLIENT_UNKNOWN, peer, client_id=client_id)
    assert only(peer).client_id == ""


def test_a_key_in_the_place_of_a_name_is_not_kept(peer: Peer) -> None:
    key = new_key()
    watch.stopped(Step.CONSENT, Reason.CLIENT_UNKNOWN, peer, client_id=key, client=f"app {key}")
    assert (only(peer).client_id, only(peer).client) == ("", "")


def test_the_address_is_not_kept() -> None:
    assert "203.0.113.9" not in hashed("203.0.113.9")
    assert hashed("203.0.113.9") != hashed("203.0.113.8")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::1", "127.0.0.1"),
    ],
)
def test_one_home_has_one_hash(one: str, other: str) -> None:
    assert hashed(one) == hashed(other)


def test_neighbours_have_different_hashes() -> None:
    assert hashed("2001:db8:1:2::1") != hashed("2001:db8:1:3::1")


def test_a_person_sees_their_own_attempts_and_those_of_nobody_yet_from_their_address(peer: Peer, board: Board) -> None:
    mira, noor = board.person(), board.person()
    elsewhere = from_elsewhere(peer)
    watch.reached(Step.CONSENT, elsewhere, client_id="mine", person=mira.pk)
    watch.reached(Step.CONSENT, peer, client_id="theirs", person=noor.pk)
    watch.reached(Step.REGISTRATION, peer, client_id="nobodys")
    watch.reached(Step.REGISTRATION, elsewhere, client_id="strangers")
    seen = Attempt.objects.shown_to(mira.pk, peer.address)
    assert [found.client_id for found in seen] == ["nobodys", "mine"]


def test_attempts_are_seen_for_fourteen_days(peer: Peer, mira: Person) -> None:
    watch.reached(Step.CONSENT, peer, client_id="c16", person=mira.pk)
    age(only(peer), timedelta(days=14, minutes=1))
    assert not Attempt.objects.shown_to(mira.pk, peer.address).exists()


def test_attempts_go_with_their_person(peer: Peer, atlas: Agent, board: Board) -> None:
    watch.reached(Step.CONSENT, peer, client_id="c17", person=board.people[0].pk, agent=atlas.pk)
    board.people[0].delete()
    assert attempts(peer) == []


def test_every_reason_says_what_happened_and_what_to_do() -> None:
    assert WORDS.keys() == {*Reason}
    for words in WORDS.values():
        for sentence in (words.what, words.to_do):
            assert sentence.endswith(".")
            assert "user" not in sentence.lower()


def test_a_reason_that_is_no_longer_given_still_has_words() -> None:
    assert words_of("gone_since").what == "The app was refused."
