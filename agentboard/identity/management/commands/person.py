"""`manage.py person`: let a person in."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentboard.identity.links import person_link
from agentboard.identity.models import Person
from agentboard.identity.validators import storable


class Command(BaseCommand):
    """Prints links; the password is set in the browser, by the person."""

    help = "Let a person set a first password."

    def add_arguments(self, parser: CommandParser) -> None:
        """`link NAME`."""
        acts = parser.add_subparsers(dest="act", required=True, metavar="link")
        link = acts.add_parser("link", help="Print a link that sets the person's password, once, within 24 hours.")
        link.add_argument("name", metavar="NAME", help="The person's username, as `agent list` shows it.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the whole URL and nothing else on standard output. Raises CommandError for whom no link is made."""
        self.stdout.write(settings.PUBLIC_URL + person_link(_without_password(options["name"])))


def _without_password(name: str) -> Person:
    """The active person of that name who has no password yet; the link must not be a way around an existing one."""
    person = Person.objects.filter(username=name).first() if storable(name) else None
    if person is None:
        raise CommandError(f"There is no person {name!r}; `manage.py agent create HANDLE --owner NAME` makes one.")
    if not person.is_active:
        raise CommandError(f"The person {name} is deactivated; an operator can activate them at /admin/ first.")
    if person.has_usable_password():
        raise CommandError(f"The person {name} has a password already; an operator can set another at /admin/.")
    return person
