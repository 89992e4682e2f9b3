"""Rotation: no text is lost, whatever happens beside it, and keys go only when nothing needs them."""

import os
import stat
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from agentboard.encryption import rotation
from agentboard.encryption.field import Ciphertext, seal
from agentboard.encryption.keyfile import KeyFileRefused, put_first
from agentboard.encryption.keys import fingerprint, register_primary
from agentboard.encryption.management.commands import rotate_encryption_keys as command
from agentboard.encryption.models import KeyCheck
from tests.encryption.conftest import UseKeys, new_key
from tests.encryption.page import REGISTRY, Page

OLD, NEW = new_key(), new_key()
HEADING = "# Keep a copy.\n"

Stored = Callable[..., Any]
Swap = Callable[..., bool]


@pytest.fixture(autouse=True)
def test_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "apps", REGISTRY)


@pytest.fixture
def key_file(settings: Settings, tmp_path: Path) -> Path:
    """A key file with the old key alone."""
    file = tmp_path / "encryption.keys"
    file.write_text(f"{HEADING}{OLD}  # 2026\n")
    settings.ENCRYPTION_KEYS_FILE = file
    return file


@pytest.fixture
def old_texts(pages: None, use_keys: UseKeys, key_file: Path) -> list[Page]:
    """Three pages under the old key; the new one is configured above it."""
    return save_old_texts(use_keys, 3)


def save_old_texts(use_keys: UseKeys, count: int) -> list[Page]:
    use_keys(OLD)
    register_primary()
    made = [Page.objects.create(name=f"p{number}", body=f"text {number}", summary=None) for number in range(count)]
    use_keys(NEW, OLD)
    register_primary()
    return made


def rotated(*options: str) -> str:
    """What the command writes, on both streams."""
    output = StringIO()
    call_command("rotate_encryption_keys", *options, stdout=output, stderr=output)
    return output.getvalue()


def recorded() -> set[str]:
    return set(KeyCheck.objects.values_list("fingerprint", flat=True))


def is_under(key: str, token: str) -> bool:
    try:
        Fernet(key).decrypt(token)
    except InvalidToken:
        return False
    return True


def texts() -> list[str]:
    return [page.body for page in Page.objects.order_by("pk")]


# Fault 6


def test_rotation_brings_every_text_under_the_first_key(
    old_texts: list[Page], use_keys: UseKeys, stored: Stored
) -> None:
    Page.objects.filter(pk=old_texts[0].pk).update(summary=seal("new summary", "page:p0:1/summary"))
    rotated()
    assert all(is_under(NEW, stored(page)) for page in old_texts)
    use_keys(NEW)
    assert texts() == ["text 0", "text 1", "text 2"]
    assert Page.objects.get(pk=old_texts[0].pk).summary == "new summary"


def test_rotation_shows_its_progress_batch_by_batch(old_texts: list[Page], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH_ROWS", 2)
    lines = rotated().splitlines()
    assert lines[:3] == [
        "encryption.page: 2 of 3",
        "encryption.page: 3 of 3",
        "Once more, to see that nothing is left under another key.",
    ]
    assert lines.count("encryption.page: 3 of 3") == 2


def test_texts_under_the_first_key_are_left_alone(old_texts: list[Page], stored: Stored) -> None:
    rotated()
    before = [stored(page) for page in old_texts]
    assert "Once more" not in rotated()
    assert [stored(page) for page in old_texts] == before


def test_rotation_says_which_keys_can_go_and_forgets_them(old_texts: list[Page], key_file: Path) -> None:
    assert recorded() == {fingerprint(OLD), fingerprint(NEW)}
    output = rotated()
    assert f"key number 2 (fingerprint {fingerprint(OLD)})" in output
    assert str(key_file) in output
    assert OLD not in output
    assert NEW not in output
    assert recorded() == {fingerprint(NEW)}


def test_rotation_with_one_key_names_none_to_remove(pages: None, use_keys: UseKeys, key_file: Path) -> None:
    use_keys(NEW)
    assert rotated() == f"Everything stored is under the first key (fingerprint {fingerprint(NEW)}).\n"
    assert recorded() == {fingerprint(NEW)}


def test_a_text_no_key_opens_is_named_and_never_destroyed(old_texts: list[Page], stored: Stored) -> None:
    lost = Ciphertext(Fernet(new_key()).encrypt(b"lost").decode())
    Page.objects.filter(pk=old_texts[1].pk).update(body=lost, summary=seal("kept", "page:p1:1/summary"))
    output = StringIO()
    with pytest.raises(CommandError, match=r"Texts that no key opens: 1\. They were left as they are"):
        call_command("rotate_encryption_keys", stdout=output, stderr=output)
    assert output.getvalue().count(f"encryption.page {old_texts[1].pk}: no key opens body.") == 1
    assert lost not in output.getvalue()
    assert stored(old_texts[1]) == lost
    assert is_under(NEW, stored(old_texts[2]))
    assert recorded() == {fingerprint(OLD), fingerprint(NEW)}


def test_a_text_written_meanwhile_wins(old_texts: list[Page], monkeypatch: pytest.MonkeyPatch) -> None:
    swap: Swap = rotation.swap

    def overtaken(model: type[Page], pk: int, *values: Any) -> bool:
        Page.objects.filter(pk=pk, version=1).update(version=2, body=seal(f"newer {pk}", f"page:{names[pk]}:2/body"))
        return swap(model, pk, *values)

    names = {page.pk: page.name for page in old_texts}
    monkeypatch.setattr(rotation, "swap", overtaken)
    rotated()
    assert texts() == [f"newer {page.pk}" for page in old_texts]


def test_a_text_written_meanwhile_under_an_old_key_is_brought_over_before_the_key_is_given_up(
    old_texts: list[Page], use_keys: UseKeys, monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    swap: Swap = rotation.swap
    late = dict.fromkeys(page.pk for page in old_texts)

    def overtaken(model: type[Page], pk: int, *values: Any) -> bool:
        if pk in late:
            del late[pk]
            use_keys(OLD, NEW)
            page = Page.objects.get(pk=pk)
            Page.objects.filter(pk=pk).update(body=seal("late", f"{page.sealing_place()}/body"))
        return swap(model, pk, *values)

    monkeypatch.setattr(rotation, "swap", overtaken)
    rotated()
    assert all(is_under(NEW, stored(page)) for page in old_texts)
    assert texts() == ["late"] * 3


def test_a_row_deleted_meanwhile_stays_deleted(old_texts: list[Page], monkeypatch: pytest.MonkeyPatch) -> None:
    swap: Swap = rotation.swap

    def deleted(model: type[Page], pk: int, *values: Any) -> bool:
        Page.objects.filter(pk=old_texts[1].pk).delete()
        return swap(model, pk, *values)

    monkeypatch.setattr(rotation, "swap", deleted)
    rotated()
    assert texts() == ["text 0", "text 2"]


def test_keys_stay_while_a_process_still_seals_under_an_old_one(
    old_texts: list[Page], use_keys: UseKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap: Swap = rotation.swap

    def sealing_under_old(model: type[Page], pk: int, *values: Any) -> bool:
        done = swap(model, pk, *values)
        use_keys(OLD, NEW)
        Page.objects.filter(pk=pk).update(body=seal("late", f"page:{names[pk]}:1/body"))
        return done

    names = {page.pk: page.name for page in old_texts}
    monkeypatch.setattr(rotation, "swap", sealing_under_old)
    with pytest.raises(CommandError, match="keep every key"):
        rotated()
    assert recorded() == {fingerprint(OLD), fingerprint(NEW)}
    assert texts() == ["late"] * 3


def test_an_interrupted_rotation_leaves_every_text_readable_and_goes_on(
    old_texts: list[Page], monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    swap: Swap = rotation.swap

    def interrupted(model: type[Page], pk: int, *values: Any) -> bool:
        if pk == old_texts[1].pk:
            raise KeyboardInterrupt
        return swap(model, pk, *values)

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "swap", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rotated()
    assert texts() == ["text 0", "text 1", "text 2"]
    assert recorded() == {fingerprint(OLD), fingerprint(NEW)}
    rotated()
    assert all(is_under(NEW, stored(page)) for page in old_texts)


@pytest.mark.usefixtures("several_connections")
def test_two_rotations_at_once_both_succeed(
    committed_pages: None, use_keys: UseKeys, key_file: Path, monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    made = save_old_texts(use_keys, 60)
    monkeypatch.setattr(rotation, "BATCH_ROWS", 7)
    together = threading.Barrier(2)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            together.wait(timeout=20)  # seconds
            rotated()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)  # seconds
    assert failures == []
    assert all(is_under(NEW, stored(page)) for page in made)
    assert texts() == [f"text {number}" for number in range(60)]
    assert recorded() == {fingerprint(NEW)}


# A new key


def test_a_new_key_is_put_first_into_the_file_and_used(
    old_texts: list[Page], use_keys: UseKeys, key_file: Path
) -> None:
    use_keys(OLD)
    output = rotated("--new")
    heading, key, old = key_file.read_text().splitlines()
    assert (heading + "\n", old) == (HEADING, f"{OLD}  # 2026")
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert list(key_file.parent.iterdir()) == [key_file]
    assert recorded() == {fingerprint(key)}
    assert key not in output
    use_keys(key)
    assert texts() == ["text 0", "text 1", "text 2"]


def test_a_new_key_is_refused_where_the_file_holds_other_keys_than_this_process(
    old_texts: list[Page], key_file: Path, stored: Stored
) -> None:
    before = key_file.read_text()
    with pytest.raises(CommandError, match="does not hold the keys this process was started with"):
        rotated("--new")
    assert key_file.read_text() == before
    assert is_under(OLD, stored(old_texts[0]))


def test_a_new_key_is_refused_where_there_is_no_file(pages: None, use_keys: UseKeys, key_file: Path) -> None:
    use_keys(OLD)
    key_file.unlink()
    with pytest.raises(CommandError, match=r"encryption\.keys can't be changed: No such file"):
        rotated("--new")
    key_file.parent.rmdir()
    with pytest.raises(CommandError, match="can't be opened: No such file"):
        rotated("--new")


def test_a_key_file_that_cannot_be_replaced_stays_whole(key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = key_file.read_text()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(KeyFileRefused, match="No space left"):
        put_first(key_file, NEW, [OLD])
    assert key_file.read_text() == before
    assert list(key_file.parent.iterdir()) == [key_file]


def test_of_two_new_keys_at_once_none_is_lost(key_file: Path) -> None:
    together = threading.Barrier(2)
    added: list[str] = []

    def add() -> None:
        key = new_key()
        together.wait(timeout=20)  # seconds
        try:
            put_first(key_file, key, [OLD])
        except KeyFileRefused:
            return
        added.append(key)

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)  # seconds
    assert key_file.read_text().splitlines()[1:] == [*added, f"{OLD}  # 2026"]
    assert len(added) == 1
