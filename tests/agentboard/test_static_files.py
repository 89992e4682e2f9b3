"""Static files: names that hold their content, kept for good, and compressed for who takes that."""

import gzip
import re

import pytest
from django.templatetags.static import static
from django.test import Client

from agentboard.static_files import takes_gzip

SHEET = "/static/agentboard/agentboard.css"


@pytest.fixture
def named() -> str:
    return static("agentboard/agentboard.css")


def test_a_page_names_files_by_their_content_and_they_are_kept_for_good(client: Client, named: str) -> None:
    assert re.fullmatch(r"/static/agentboard/agentboard\.[0-9a-f]{12}\.css", named)
    assert named in client.get("/account/sign-in").content.decode()
    answer = client.get(named)
    assert (answer.status_code, answer["Cache-Control"]) == (200, "max-age=315360000, public, immutable")
    assert answer.content == client.get(SHEET).content
    assert client.get(SHEET)["Cache-Control"] == "max-age=3600, public"


@pytest.mark.parametrize("digest", ["000000000000", "0", "x" * 12, "%00"])
def test_another_hash_is_no_address(client: Client, digest: str) -> None:
    assert client.get(f"/static/agentboard/agentboard.{digest}.css").status_code == 404


def test_every_file_that_a_page_names_is_there(client: Client) -> None:
    named = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', client.get("/account/sign-in").content.decode()))
    assert len(named) > 5
    assert {client.get(each).status_code for each in named} == {200}


def test_what_a_style_sheet_names_is_loaded_under_that_one_name(client: Client) -> None:
    fonts = re.findall(r"url\((fonts/[^)]+)\)", client.get("/static/agentboard/tokens.css").content.decode())
    assert len(fonts) == 2
    page = client.get("/docs").content.decode()
    assert f"/static/agentboard/{fonts[0]}" in page  # preloaded
    assert {client.get(f"/static/agentboard/{font}").status_code for font in fonts} == {200}


def test_texts_are_compressed_for_who_takes_gzip(client: Client, named: str) -> None:
    whole = client.get(named)
    short = client.get(named, headers={"accept-encoding": "br, gzip"})
    assert (short["Content-Encoding"], short["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(short.content) == whole.content
    assert short["Content-Length"] == str(len(short.content))
    assert len(short.content) < len(whole.content) / 3
    assert "Content-Encoding" not in whole
    assert whole["Vary"] == "Accept-Encoding"


def test_parts_pictures_and_small_files_stay_as_they_are(client: Client, named: str) -> None:
    part = client.get(named, headers={"accept-encoding": "gzip", "range": "bytes=0-9"})
    assert (part.status_code, len(part.content)) == (206, 10)
    for path in ("/static/agentboard/mark.svg", "/static/agentboard/fonts/atkinson-hyperlegible-mono.woff2"):
        assert "Content-Encoding" not in client.get(path, headers={"accept-encoding": "gzip"})


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("br;q=1, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("", False),
        ("br", False),
    ],
)
def test_a_coding_is_used_where_it_is_accepted(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) is takes
