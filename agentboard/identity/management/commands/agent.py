"""`manage.py agent`: make agents and their keys, list them, and end keys."""

import json
from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.db.models import Prefetch
from django.utils import timezone

from agentboard.identity.models import Agent, AgentKey, AgentKeyQuerySet, Person
from agentboard.identity.people import register_person
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.identity.validators import storable

DAYS_MAX = 36_500
SHOWN_ONCE = "This is the only time that the key is shown; only its SHA-256 is stored."
# What a field of the models is called on the command line, and among its options.
OPTIONS = {
    "handle": ("HANDLE", "handle"),
    "display_name": ("--display-name", "display_name"),
    "purpose": ("--purpose", "purpose"),
    "username": ("--owner", "owner"),
    "__all__": ("--owner", "owner"),  # the one rule over a whole row: names of people that differ only in case
    "name": ("The name of the key", "name"),
    "scopes": ("--scopes", "scopes"),
}


class Command(BaseCommand):
    """One subcommand an act; each writes all or nothing and says in one sentence what stops it."""

    help = "Make agents and their keys, list them, end keys."

    def add_arguments(self, parser: CommandParser) -> None:
        """`create`, `key`, `revoke-key` and `list`, each with its own options."""
        acts = parser.add_subparsers(dest="act", required=True, metavar="create | key | revoke-key | list")
        create = acts.add_parser("create", help="Make an agent, and its owner where missing; print its first key.")
        create.add_argument("handle", metavar="HANDLE", help="How others name it, for example atlas or night-desk.")
        create.add_argument("--owner", required=True, metavar="USERNAME", help="The person it belongs to.")
        create.add_argument("--display-name", default="", metavar="TEXT", help="Default: the handle.")
        create.add_argument("--purpose", default="", metavar="TEXT", help="What it is for, at most 2048 bytes.")
        create.add_argument("--key-name", dest="name", default="", metavar="TEXT", help="Default: key 1.")
        _add_key_options(create)
        key = acts.add_parser("key", help="Make a further key of an agent and print it.")
        key.add_argument("handle", metavar="HANDLE")
        key.add_argument("--name", default="", metavar="TEXT", help="Default: key and a number.")
        _add_key_options(key)
        revoke = acts.add_parser("revoke-key", help="End keys of an agent at once.")
        revoke.add_argument("handle", metavar="HANDLE")
        which = revoke.add_mutually_exclusive_group(required=True)
        which.add_argument("--hint", help="As `agent list` shows it; three dots may stand for its ellipsis.")
        which.add_argument("--id", help="As `agent list` shows it.")
        which.add_argument("--all", action="store_true", help="All keys of the agent.")
        listing = acts.add_parser("list", help="Agents with their keys; a key itself cannot be shown again.")
        listing.add_argument("--owner", metavar="USERNAME")
        listing.add_argument("--json", action="store_true", help="One line of JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the act. Raises CommandError with one plain sentence; nothing is written then."""
        acts = {"create": self.create, "key": self.key, "revoke-key": self.revoke_key, "list": self.list_agents}
        acts[options["act"]](options)

    def create(self, options: dict[str, Any]) -> None:
        """Make the agent, its owner where missing, and a first key."""
        if Agent.objects.filter(handle=_storable(options["handle"], "HANDLE")).exists():
            raise _taken(options["handle"])
        expires_at = _end(options["expires_days"])
        try:
            with transaction.atomic():
                owner, is_new = _owner(options["owner"])
                agent = Agent.objects.register(owner, options["handle"], options["display_name"], options["purpose"])
                _, key = _issue(agent, options, expires_at)
        except ValidationError as invalid:
            raise _sentence(invalid, options) from invalid
        except IntegrityError as taken:  # somebody made the same agent or person between the look and the write
            raise CommandError(
                f"{_shown(options['handle'])} or its owner was made just now; run this again."
            ) from taken
        if not options["json"]:
            self.stdout.write(f"Made the agent {agent.handle} of {owner.username}.")
        if is_new and not options["json"]:
            self.stdout.write(f"{owner.username} is new and has no password.")
            self.stdout.write(f"`manage.py person link {owner.username}` prints a link to set one.")
        self._print_key(agent, key, options["json"])

    def key(self, options: dict[str, Any]) -> None:
        """Make a further key."""
        agent, expires_at = _agent(options["handle"]), _end(options["expires_days"])
        try:
            with transaction.atomic():
                row, key = _issue(agent, options, expires_at)
        except ValidationError as invalid:
            raise _sentence(invalid, options) from invalid
        if not options["json"]:
            self.stdout.write(f"Made {row.name} of the agent {agent.handle}.")
        self._print_key(agent, key, options["json"])

    def revoke_key(self, options: dict[str, Any]) -> None:
        """End the named keys; saying so again about an ended one is no error."""
        agent = _agent(options["handle"])
        chosen = _chosen(agent, options)
        with transaction.atomic():
            count = chosen.revoke()
        already = chosen.count() - count
        done = f"Revoked {count} {'key' if count == 1 else 'keys'} of {agent.handle}"
        self.stdout.write(f"{done}; {already} had been revoked before." if already else f"{done}.")

    def list_agents(self, options: dict[str, Any]) -> None:
        """Agents by handle, with their keys by age."""
        keys = Prefetch("keys", AgentKey.objects.order_by("id"))
        agents = Agent.objects.select_related("owner").prefetch_related(keys)
        if options["owner"] is not None:
            agents = agents.filter(owner=_person(options["owner"]))
        if options["json"]:
            listed = [{**_agent_json(agent), "keys": [_key_json(key) for key in agent.keys.all()]} for agent in agents]
            self.stdout.write(json.dumps({"agents": listed}, ensure_ascii=False))
            return
        if not agents:
            self.stdout.write("No agents yet; `manage.py agent create HANDLE --owner USERNAME` makes one.")
        for agent in agents:
            self.stdout.write(f"{agent.handle} of {agent.owner.username}{'' if agent.active else ', deactivated'}")
            for key in agent.keys.all():
                self.stdout.write(f"  {_key_line(key)}")

    def _print_key(self, agent: Agent, key: str, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"agent": _agent_json(agent), "key": key}, ensure_ascii=False))
            return
        self.stdout.write(f"{SHOWN_ONCE}\n{key}")


def _add_key_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--scopes", default=" ".join(ALL_SCOPES), help=f"Separated by spaces. Default: {' '.join(ALL_SCOPES)}"
    )
    parser.add_argument("--expires-days", metavar="N", help="The key ends after so many days. Default: never.")
    parser.add_argument("--json", action="store_true", help="One line of JSON: the agent and the key.")


def _issue(agent: Agent, options: dict[str, Any], expires_at: datetime | None) -> tuple[AgentKey, str]:
    granted = options["scopes"].replace(",", " ").split()
    return AgentKey.objects.issue(agent, name=options["name"], granted=granted, expires_at=expires_at)


def _owner(username: str) -> tuple[Person, bool]:
    """The person, and whether they are new."""
    person = Person.objects.filter(username=_storable(username, "--owner")).first()
    return (person, False) if person else (register_person(username), True)


def _person(username: str) -> Person:
    person = Person.objects.filter(username=_storable(username, "--owner")).first()
    if person is None:
        raise CommandError(f"There is no person {username!r}; `manage.py agent list` shows the owners there are.")
    return person


def _agent(handle: str) -> Agent:
    agent = Agent.objects.select_related("owner").filter(handle=_storable(handle, "HANDLE")).first()
    if agent is None:
        raise CommandError(f"There is no agent {_shown(handle)}; `manage.py agent list` shows the handles there are.")
    return agent


def _chosen(agent: Agent, options: dict[str, Any]) -> AgentKeyQuerySet:
    """The keys that the options name, at least one."""
    keys = AgentKey.objects.get_queryset().filter(agent=agent)
    wanted = "no key"
    if options["hint"] is not None:
        keys = keys.filter(hint=_storable(options["hint"], "--hint").replace("...", "…"))
        wanted = f"no key with the hint {_shown(options['hint'])}"
    elif options["id"] is not None:
        keys = keys.filter(id=_number("--id", options["id"], 2**63 - 1))
        wanted = f"no key with the id {options['id']}"
    if not keys.exists():
        raise CommandError(f"The agent {agent.handle} has {wanted}; `manage.py agent list` shows the keys it has.")
    return keys


def _end(days: str | None) -> datetime | None:
    return None if days is None else timezone.now() + timedelta(days=_number("--expires-days", days, DAYS_MAX))


def _number(option: str, text: str, maximum: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= maximum):
        raise CommandError(f"{option} {_shown(text)} is not a whole number from 1 to {maximum}.")
    return int(text)


def _storable(text: str, option: str) -> str:
    """The text, which the database can be asked about."""
    if not storable(text):
        raise CommandError(f"{option} {_shown(text)} holds a character that cannot be stored; leave it out.")
    return text


def _taken(handle: str) -> CommandError:
    return CommandError(f"The agent {handle} exists; `manage.py agent key {handle}` makes a further key of it.")


def _sentence(invalid: ValidationError, options: dict[str, Any]) -> CommandError:
    """The first thing that is wrong, as option, value and what it must be."""
    field, messages = next(iter(invalid.message_dict.items()))
    label, option = OPTIONS[field]
    message = messages[0].rstrip(".")
    return CommandError(f"{label} {_shown(options[option])}{': ' if message[0].isupper() else ' '}{message}.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def _agent_json(agent: Agent) -> dict[str, Any]:
    return {
        "handle": agent.handle,
        "display_name": agent.display_name,
        "purpose": agent.purpose,
        "owner": agent.owner.username,
        "active": agent.active,
        "created_at": _time(agent.created_at),
    }


def _key_json(key: AgentKey) -> dict[str, Any]:
    return {
        "id": key.pk,
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes.split(),
        "state": key.state,
        "created_at": _time(key.created_at),
        "last_used_at": _time(key.last_used_at),
        "expires_at": _time(key.expires_at),
        "revoked_at": _time(key.revoked_at),
    }


def _key_line(key: AgentKey) -> str:
    last = _time(key.last_used_at) or "never"
    ends = _time(key.revoked_at or key.expires_at) or "never"
    return f"{key.pk}  {key.hint}  {key.state}  {key.name}  [{key.scopes}]  last used {last}, ends {ends}"


def _time(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, or None."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
