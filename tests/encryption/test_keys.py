"""Which keys are recorded, and that keys which don't open what is stored are refused."""

import threading
from typing import cast

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentboard.encryption.keys import KNOWN_TEXT, WrongKeys, fingerprint, register_primary, verify
from agentboard.encryption.models import KeyCheck
from tests.encryption.conftest import UseKeys, new_key

pytestmark = pytest.mark.django_db


def recorded() -> set[str]:
    return set(KeyCheck.objects.values_list("fingerprint", flat=True))


def test_a_key_is_recorded_by_its_fingerprint_and_a_text_only_it_opens(use_keys: UseKeys) -> None:
    key = new_key()
    use_keys(key, new_key())
    register_primary()
    check = KeyCheck.objects.get()
    assert check.fingerprint == str(check) == fingerprint(key)
    assert Fernet(key).decrypt(check.token) == KNOWN_TEXT
    assert key not in check.token


def test_a_key_is_recorded_once(use_keys: UseKeys) -> None:
    use_keys(new_key())
    register_primary()
    with CaptureQueriesContext(connection) as queries:
        register_primary()
    assert len(queries) == 1
    assert KeyCheck.objects.count() == 1


def test_a_fingerprint_is_short_and_tells_keys_apart() -> None:
    one, other = new_key(), new_key()
    assert len(fingerprint(one)) == cast(int, KeyCheck._meta.get_field("fingerprint").max_length)
    assert fingerprint(one) == fingerprint(one) != fingerprint(other)


def test_an_empty_database_accepts_any_keys(use_keys: UseKeys) -> None:
    use_keys(new_key())
    verify()


def test_an_older_key_is_accepted_below_a_new_one(use_keys: UseKeys) -> None:
    old, new = new_key(), new_key()
    use_keys(old)
    register_primary()
    use_keys(new, old)
    verify()
    register_primary()
    verify()
    assert recorded() == {fingerprint(old), fingerprint(new)}


def test_keys_that_cannot_open_what_is_stored_are_refused_in_one_sentence_that_says_what_to_do(
    use_keys: UseKeys,
) -> None:
    lost = new_key()
    use_keys(lost)
    register_primary()
    use_keys(new_key())
    with pytest.raises(WrongKeys) as refused:
        verify()
    message = str(refused.value)
    assert "encryption.keys" in message
    assert "FIELD_ENCRYPTION_KEY" in message
    assert fingerprint(lost) in message
    assert lost not in message
    assert message.count(". ") == 0
    assert "\n" not in message


def test_a_record_that_was_tampered_with_is_refused(use_keys: UseKeys) -> None:
    key = new_key()
    use_keys(key)
    register_primary()
    KeyCheck.objects.update(token=Fernet(key).encrypt(b"something else").decode())
    with pytest.raises(WrongKeys):
        verify()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_connections")
def test_processes_that_start_at_once_record_the_key_once(use_keys: UseKeys) -> None:
    use_keys(new_key())
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def start() -> None:
        try:
            together.wait(timeout=20)  # seconds
            register_primary()
        except BaseException as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)  # seconds
    assert failures == []
    assert KeyCheck.objects.count() == 1
