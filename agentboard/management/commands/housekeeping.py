"""`manage.py housekeeping`: delete what has had its time, and say what went."""

from typing import Any

from django.core.management.base import BaseCommand

from agentboard.housekeeping import clear


class Command(BaseCommand):
    help = "Delete what has had its time. A running server does so by itself each day; it does no harm to do it now."

    def handle(self, *args: Any, **options: Any) -> None:
        """One line for each kind of rows, then the sum."""
        removed = clear()
        for what, count in removed.items():
            self.stdout.write(f"{count:>8} {what}")
        self.stdout.write(f"{sum(removed.values()):>8} rows removed")
