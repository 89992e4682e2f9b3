"""`manage.py rotate_encryption_keys`: everything stored under the first key, so that the others can go."""

from argparse import ArgumentParser
from typing import Any

from cryptography.fernet import Fernet
from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentboard.encryption.keyfile import KeyFileRefused, put_first
from agentboard.encryption.keys import configured_keys, fingerprint, register
from agentboard.encryption.models import KeyCheck
from agentboard.encryption.rotation import Cell, Found, Keyring, rotate

PASSES_MAX = 5  # texts that are still under other keys then come from a process that was not restarted


class Command(BaseCommand):
    help = (
        "Re-encrypt every stored text that is not under the first key of the key file, and say which keys can then be "
        "removed. It can be interrupted and run again, also several times at once. It may run beside the server, if "
        "every running process was started with the key file as it is now: one that still seals under an older key "
        "would leave texts behind that are lost with that key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new",
            action="store_true",
            help="First put a fresh key at the top of the key file. Stop the server before and start it after: it "
            "reads the file when it starts, and without the new key it could open nothing that is re-encrypted "
            "here. After an interruption go on without --new.",
        )

    def handle(self, *args: Any, new: bool, **options: Any) -> None:
        keys = self._with_fresh_key(configured_keys()) if new else configured_keys()
        primary = fingerprint(keys[0])
        register(keys[0])
        # Named now: a key recorded from here on belongs to a process this one knows nothing of.
        others = list(KeyCheck.objects.exclude(fingerprint=primary).values_list("pk", flat=True))
        self._rotate(Keyring(keys))
        KeyCheck.objects.filter(pk__in=others).delete()
        self.stdout.write(f"Everything stored is under the first key (fingerprint {primary}).")
        if keys[1:]:
            self.stdout.write(
                f"These keys can now be removed from {settings.ENCRYPTION_KEYS_FILE}; keep them with your backups, "
                "which can't be read without them:"
            )
        for number, key in enumerate(keys[1:], start=2):
            self.stdout.write(f"  key number {number} (fingerprint {fingerprint(key)})")

    def _with_fresh_key(self, keys: list[str]) -> list[str]:
        key = Fernet.generate_key().decode("ascii")
        try:
            put_first(settings.ENCRYPTION_KEYS_FILE, key, keys)
        except KeyFileRefused as refused:
            raise CommandError(f"No new key was added: {refused}") from None
        self.stdout.write(
            f"A new key (fingerprint {fingerprint(key)}) is now the first in {settings.ENCRYPTION_KEYS_FILE}."
        )
        return [key, *keys]

    def _rotate(self, keyring: Keyring) -> None:
        """Pass over everything until a pass finds nothing under another key. Raises CommandError where none does."""
        reported: set[Cell] = set()
        for _ in range(PASSES_MAX):
            found = Found()
            for progress in rotate(apps, keyring, found):
                self.stdout.write(f"{progress.model}: {progress.done} of {progress.total}")
            self._report(found, reported)
            if not found.changing:
                break
            self.stdout.write("Once more, to see that nothing is left under another key.")
        else:
            raise CommandError(
                "Texts keep appearing under other keys: a running process was not started with this key file. Restart "
                "it and run this again; until then keep every key."
            )
        if found.unreadable:
            raise CommandError(
                f"Texts that no key opens: {len(found.unreadable)}. They were left as they are. Keep every key, put "
                "the missing one into the key file, and run this again."
            )

    def _report(self, found: Found, reported: set[Cell]) -> None:
        for cell in found.unreadable:
            if cell not in reported:
                reported.add(cell)
                self.stderr.write(f"{cell.model} {cell.pk}: no key opens {cell.column}.")
