"""What every page gets: the policy it is shown under, its errors, its static files, and the admin under that policy."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

INLINE = re.compile(r"<style|<script(?![^>]* src=)(?![^>]*application/json)[^>]*>| style=| on[a-z]+=\"", re.IGNORECASE)


@pytest.fixture
def operator(client: Client) -> Client:
    """A browser in which an operator has signed in."""
    person = get_user_model().objects.create_superuser("anna", password="long enough")
    client.force_login(person)
    return client


def test_a_page_allows_only_what_comes_from_this_server_and_no_inline_code(client: Client) -> None:
    policy = dict(part.split(" ", 1) for part in client.get("/nothing")["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'self'",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }


def test_a_page_carries_the_other_protections(client: Client) -> None:
    response = client.get("/nothing")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"


def test_an_address_without_a_page_answers_404_with_our_own_page(client: Client) -> None:
    response = client.get("/nothing")
    assert response.status_code == 404
    assert b"There is no such page" in response.content


def test_a_host_that_is_not_ours_is_refused(client: Client) -> None:
    assert client.get("/nothing", headers={"host": "elsewhere.example"}).status_code == 400


def test_the_style_sheet_is_served_from_its_source(client: Client) -> None:
    response = client.get("/static/agentboard/agentboard.css")
    assert (response.status_code, response["Content-Type"]) == (200, 'text/css; charset="utf-8"')
    assert b"--accent" in response.content
    assert "Access-Control-Allow-Origin" not in response
    assert (
        client.get("/static/agentboard/agentboard.css", headers={"if-none-match": response["ETag"]}).status_code == 304
    )
    part = client.get("/static/agentboard/agentboard.css", headers={"range": "bytes=0-9"})
    assert (part.status_code, part.content) == (206, response.content[:10])
    head = client.head("/static/agentboard/agentboard.css")
    assert (head.content, head["Content-Length"]) == (b"", str(len(response.content)))


def test_the_admin_is_found_without_its_slash(client: Client) -> None:
    response = client.get("/admin")
    assert (response.status_code, response["Location"]) == (301, "/admin/")


@pytest.mark.django_db
def test_no_page_of_the_admin_needs_inline_code(operator: Client) -> None:
    home = operator.get("/admin/").content.decode()
    pages = sorted(set(re.findall(r'href="(/admin/[a-z_]+/[a-z_]+/(?:add/)?)"', home)))
    assert pages
    for page in ["/admin/", "/admin/password_change/", *pages]:
        response = operator.get(page)
        assert response.status_code == 200, page
        assert INLINE.findall(response.content.decode()) == [], page
