"""The data folder and the two secrets in it."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from cryptography.fernet import Fernet

from agentboard.datafolder import Secrets, WrongSetting, open_folder, private_file

pytestmark = pytest.mark.no_database


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_an_empty_folder_gets_two_secrets_that_only_its_owner_can_read(folder: Path) -> None:
    secrets = open_folder(folder)
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == {"secret.key": 0o600, "encryption.keys": 0o600}
    assert len(secrets.secret_key) >= 32
    Fernet(secrets.encryption_keys[0])


def test_the_second_start_finds_the_secrets_of_the_first(folder: Path) -> None:
    assert open_folder(folder) == open_folder(folder)


def test_of_several_starts_at_once_all_come_back_with_the_same_secrets_and_nothing_else_is_left(folder: Path) -> None:
    barrier = Barrier(8)

    def start(_: int) -> Secrets:
        barrier.wait()
        return open_folder(folder)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(start, range(8)))
    assert all(secrets == found[0] for secrets in found)
    assert sorted(path.name for path in folder.iterdir()) == ["encryption.keys", "secret.key"]


def test_the_secrets_are_not_in_what_the_object_prints(folder: Path) -> None:
    secrets = open_folder(folder)
    assert secrets.secret_key not in repr(secrets)
    assert secrets.encryption_keys[0] not in repr(secrets)


def test_the_keys_are_read_in_order_and_comments_and_blank_lines_are_not_keys(folder: Path) -> None:
    first, second = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    folder.mkdir()
    keys = folder / "encryption.keys"
    keys.write_text(f"# since spring\n\n{first}  # the one that writes\n  {second}\n")
    keys.chmod(0o600)
    assert open_folder(folder).encryption_keys == (first, second)


def test_a_secret_that_others_could_read_is_closed_to_them(folder: Path) -> None:
    open_folder(folder)
    (folder / "encryption.keys").chmod(0o644)
    open_folder(folder)
    assert mode(folder / "encryption.keys") == 0o600


def test_a_secret_of_somebody_else_that_others_could_read_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_folder(folder)
    (folder / "secret.key").chmod(0o640)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA: .*secret\.key must be readable by its owner alone"):
        open_folder(folder)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("encryption.keys", "", "encryption.keys holds no key"),
        ("encryption.keys", "# nothing\n\n", "encryption.keys holds no key"),
        ("encryption.keys", "# a\nnot-a-key\n", "line 2 of .*encryption.keys is not a Fernet key"),
        ("encryption.keys", "ümlaut\n", "line 1 of .*encryption.keys is not a Fernet key"),
        ("secret.key", "\n", "secret.key must hold one secret of at least 32 characters"),
        ("secret.key", "short", "secret.key must hold one secret of at least 32 characters"),
    ],
)
def test_a_file_without_its_secret_is_refused_by_name_and_left_as_it_is(
    folder: Path, name: str, text: str, sentence: str
) -> None:
    folder.mkdir()
    (folder / name).write_text(text)
    with pytest.raises(WrongSetting, match=f"^AGENTBOARD_DATA: .*{sentence}"):
        open_folder(folder)
    assert (folder / name).read_text() == text


def test_a_refused_key_is_not_repeated(folder: Path) -> None:
    folder.mkdir()
    (folder / "encryption.keys").write_text("nearly-a-key-with-a-typo\n")
    with pytest.raises(WrongSetting) as refused:
        open_folder(folder)
    assert "typo" not in str(refused.value)


def test_a_file_that_is_not_text_is_refused(folder: Path) -> None:
    folder.mkdir()
    (folder / "secret.key").write_bytes(b"\xff" * 64)
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA: .*secret\.key can't be used: it is not text\.$"):
        open_folder(folder)


def test_a_folder_in_the_place_of_a_file_is_refused(folder: Path) -> None:
    (folder / "secret.key").mkdir(parents=True)
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA: .*secret\.key can't be used: Is a directory\.$"):
        open_folder(folder)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA must be a folder, but .*data is not one\.$"):
        open_folder(tmp_path / "data")
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA must be a folder"):
        open_folder(tmp_path / "data" / "below")


def test_a_folder_that_cannot_be_written_to_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere, so its answer is given here
    with pytest.raises(WrongSetting, match=r"^AGENTBOARD_DATA must be a folder this process may write to"):
        open_folder(folder)


def test_a_private_file_is_made_once_and_keeps_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "database"
    private_file("DATABASE_URL", file)
    assert mode(file) == 0o600
    file.write_text("rows")
    private_file("DATABASE_URL", file)
    assert file.read_text() == "rows"


def test_a_private_file_that_cannot_be_made_names_its_setting(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting, match=r"^DATABASE_URL: .*missing/database can't be written: No such file"):
        private_file("DATABASE_URL", tmp_path / "missing" / "database")


def test_the_data_folder_can_be_opened_without_django(tmp_path: Path) -> None:
    code = "import sys, agentboard.datafolder; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
