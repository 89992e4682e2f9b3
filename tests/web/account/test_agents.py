"""My agents: made, listed, changed, deactivated; another person's are unknown."""

import pytest
from django.test import Client

from agentboard.identity.models import Agent, Person
from tests.web.account.reading import Page

pytestmark = pytest.mark.django_db
NEW = {"handle": "night-desk", "display_name": "Night desk", "purpose": "Sorts what comes in\r\nat night"}
PATHS = (
    "",
    "/edit",
    "/deactivate",
    "/activate",
    "/keys/new",
    "/keys/env",
    "/keys/1/replace",
    "/keys/1/end",
)


def test_an_agent_is_made_and_stands_in_the_list(browser: Client, mira: Person) -> None:
    assert "No agents yet" in Page(browser.get("/account")).text
    assert browser.post("/account/new-agent", NEW)["Location"] == "/account/agents/night-desk"
    made = Agent.objects.get()
    assert (made.owner, made.display_name, made.purpose) == (mira, "Night desk", "Sorts what comes in\nat night")
    page = Page(browser.get("/account"))
    assert "/account/agents/night-desk" in page.links
    assert "Night desk" in page.text


def test_without_a_name_an_agent_is_called_by_its_handle(browser: Client) -> None:
    browser.post("/account/new-agent", {"handle": "night-desk"})
    assert Agent.objects.get().display_name == "night-desk"


def test_the_same_form_sent_twice_makes_one_agent_and_both_lead_to_it(browser: Client) -> None:
    answers = [browser.post("/account/new-agent", NEW) for _ in range(2)]
    assert {answer["Location"] for answer in answers} == {"/account/agents/night-desk"}
    assert Agent.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"handle": ""}, "handle", "required"),
        ({"handle": "Night Desk"}, "handle", "“Night Desk” is not a handle"),
        ({"handle": "boreas"}, "handle", "taken by another agent"),
        ({"handle": "atlas"}, "handle", "taken by another agent"),
        ({"handle": "a" * 81}, "handle", "at most 80"),
        ({"display_name": "n" * 201}, "display_name", "at most 200"),
        ({"purpose": "ä" * 1_025}, "purpose", "2050 bytes"),
        ({"purpose": "a\0b"}, "purpose", "Null characters"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_typed_is_lost(
    browser: Client, atlas: Agent, boreas: Agent, changed: dict[str, str], field: str, words: str
) -> None:
    page = Page(browser.post("/account/new-agent", {**NEW, **changed}))
    assert page.status == 422
    assert page.inputs[field]["aria-invalid"] == "true"
    assert words in page.text.partition(f'id="id_{field}_error"')[2].partition("</p>")[0]
    for name in {"handle", "display_name"} - {field}:
        assert page.value(name) == NEW[name]
    assert Agent.objects.count() == 2


def test_a_taken_handle_does_not_tell_whose_it_is(browser: Client, boreas: Agent) -> None:
    assert "nora" not in Page(browser.post("/account/new-agent", {"handle": "boreas"})).text


def test_name_and_purpose_change_and_the_handle_stays(browser: Client, atlas: Agent) -> None:
    form = {"handle": "other", "display_name": "The Atlas", "purpose": "Draws maps"}
    assert browser.post("/account/agents/atlas/edit", form)["Location"] == "/account/agents/atlas"
    atlas.refresh_from_db()
    assert (atlas.handle, atlas.display_name, atlas.purpose) == ("atlas", "The Atlas", "Draws maps")
    assert Page(browser.post("/account/agents/atlas/edit", {"purpose": "x" * 2_049})).status == 422


def test_a_deactivated_agent_can_be_activated_again(browser: Client, atlas: Agent) -> None:
    assert "Deactivate atlas" in Page(browser.get("/account/agents/atlas/deactivate")).text
    assert Agent.objects.get().active
    browser.post("/account/agents/atlas/deactivate")
    assert not Agent.objects.get().active
    assert "atlas is out" in Page(browser.get("/account/agents/atlas")).text
    browser.post("/account/agents/atlas/activate")
    assert Agent.objects.get().active


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("handle", ["boreas", "nobody", "Atlas", "%00"])
def test_another_persons_agent_is_answered_as_one_that_never_was(
    browser: Client, boreas: Agent, path: str, handle: str
) -> None:
    address = f"/account/agents/{handle}{path}"
    assert {browser.get(address).status_code, browser.post(address, NEW).status_code} <= {404, 405}
    assert browser.post(address, NEW).status_code in ((404,) if path else (404, 405))
    boreas.refresh_from_db()
    assert (boreas.active, boreas.display_name, boreas.keys.count()) == (True, "boreas", 0)


def test_the_list_shows_nothing_of_others(browser: Client, atlas: Agent, boreas: Agent) -> None:
    assert "boreas" not in Page(browser.get("/account")).text


def test_hostile_names_are_text(browser: Client) -> None:
    browser.post(
        "/account/new-agent", {"handle": "a", "display_name": "<b onclick=x>", "purpose": "<script>1</script>"}
    )
    for path in ("/account", "/account/agents/a", "/account/agents/a/edit"):
        text = Page(browser.get(path)).text
        assert "<b onclick" not in text
        assert "<script>1" not in text
