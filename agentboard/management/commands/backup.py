"""`manage.py backup FILE`: copy the database into a new file while the server runs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentboard.backup import NotBackedUp, back_up


class Command(BaseCommand):
    help = "Copy the database into FILE, which must not exist yet. The server may go on running."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to."""
        parser.add_argument("file", type=Path, help="the new file; only its owner can read it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it, and say what else has to be kept."""
        try:
            made = back_up(options["file"])
        except NotBackedUp as why:
            raise CommandError(str(why)) from None
        self.stdout.write(f"{options['file']}: {made.size} bytes")
        self.stdout.write(f"Private texts in it open only with {settings.ENCRYPTION_KEYS_FILE}: keep that elsewhere.")
