"""Many at once, against a real server of one process and of four."""

from collections.abc import Iterator

import pytest

from tests.mcp_bridge.oauth import serving
from tests.mcp_bridge.oauth.fixtures import HEADLESS
from tests.mcp_bridge.oauth.flow import App, tokens
from tests.mcp_bridge.oauth.serving import Site, call, content
from tests.races.arena import together


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving.site(tmp_path_factory.mktemp("four"), WORKERS="4") as made:
        yield made


@pytest.fixture(scope="module", params=["site", "four"])
def many(request: pytest.FixtureRequest) -> Iterator[Site]:
    made: Site = request.getfixturevalue(request.param)
    yield made
    assert [line for line in made.lines() if line["level"] == "ERROR"] == []


@pytest.fixture
def app(many: Site) -> App:
    made = App(many.web)
    assert made.register().status == 201
    return made


def test_four_refreshes_at_once_all_get_tokens_that_work(many: Site, app: App) -> None:
    newest = app.connect(many.browser()).refresh_token
    for _ in range(3):
        pairs = [tokens(answer) for answer in together([lambda old=newest: app.refresh(old)] * 4)]  # type: ignore[misc]
        pairs.append(tokens(app.refresh(newest)))  # and one whose answer was lost
        assert len({pair.refresh_token for pair in pairs}) == 5
        for pair in pairs:
            assert content(call(many.web, pair.access_token))["agent"]["handle"] == "atlas"
        newest = pairs[-1].refresh_token
    assert [tokens(app.refresh(pair.refresh_token)) for pair in pairs]


def test_of_two_who_redeem_one_code_at_once_one_gets_tokens_and_nobody_keeps_any(many: Site, app: App) -> None:
    for _ in range(3):
        code = app.code(many.browser())
        answers = together([lambda code=code: app.redeem(code)] * 2)  # type: ignore[misc]
        assert sorted(answer.status for answer in answers) == [200, 400]
        [lost] = [answer for answer in answers if answer.status == 400]
        [won] = [tokens(answer) for answer in answers if answer.status == 200]
        assert lost.json["error"] == "invalid_grant"
        assert call(many.web, won.access_token).status == 401
        assert app.refresh(won.refresh_token).status == 400


def test_a_connection_that_is_given_back_while_it_is_refreshed_is_over(many: Site, app: App) -> None:
    for _ in range(3):
        got = app.connect(many.browser())
        refreshes = [lambda old=got.refresh_token: app.refresh(old)] * 3
        answers = together([*refreshes, lambda old=got.access_token: app.revoke(old)])  # type: ignore[misc]
        assert answers[-1].status == 200
        assert {answer.status for answer in answers} <= {200, 400}
        for pair in (tokens(answer) for answer in answers[:-1] if answer.status == 200):
            assert call(many.web, pair.access_token).status == 401
            assert app.refresh(pair.refresh_token).json["error"] == "invalid_grant"


def test_a_new_agent_is_made_once_by_a_form_that_is_posted_twice_at_once(many: Site, app: App) -> None:
    path, handle = app.request(), f"twice-{many.server.port}"
    answers = together([lambda: many.browser().consent(path, agent="+", handle=handle)] * 2)
    assert {answer.status for answer in answers} <= {302, 422}
    assert any("code" in answer.told for answer in answers)
    shown = many.browser().get(path).text
    assert shown.count(f'value="{handle}"') == 1


def test_an_application_that_many_see_for_the_first_time_is_one(many: Site) -> None:
    app = App(many.web, "http://127.0.0.1:4444/callback", HEADLESS)
    answers = together([lambda: many.browser().get(app.request())] * 4)
    assert {answer.status for answer in answers} <= {
        200,
        400,
    }  # who finds no free place to fetch is asked to come again
    codes = [app.code(many.browser("noor")) for _ in range(2)]
    assert all(app.redeem(code).status == 200 for code in codes)
