"""Who may sign in: finding people, making them, and whether anybody operates this server yet."""

from django.db.models import Q, QuerySet

from agentboard.identity.models import Person

# As `has_usable_password` sees it, for use inside a statement.
NO_PASSWORD = Q(password="") | Q(password__startswith="!")


def operators() -> QuerySet[Person]:
    """The active superusers who can sign in with a password."""
    return Person.objects.filter(is_active=True, is_superuser=True).exclude(NO_PASSWORD)


def register_person(username: str) -> Person:
    """A new person without a usable password. Raises ValidationError for a name that is invalid or taken."""
    person = Person(username=username)
    person.set_unusable_password()
    person.full_clean()
    person.save(force_insert=True)
    return person


def check_first_operator(username: str) -> None:
    """Refuse a name that the first account cannot have. Raises ValidationError.

    A person who has no password yet may take it over: `agent create --owner NAME` makes one before anybody signs in.
    """
    if not waiting(username).exists():
        Person(username=username, password="!").full_clean()


def make_first_operator(username: str, hashed: str) -> Person:
    """The operator `username` with the hashed password: the waiting person of that name, else a new one.

    Inside a transaction. Raises ValidationError as check_first_operator, IntegrityError for a name taken just now.
    """
    powers = {"is_staff": True, "is_superuser": True, "password": hashed}
    if waiting(username).update(**powers):
        return Person.objects.get(username=username)
    person = Person(username=username, **powers)
    person.full_clean()
    person.save(force_insert=True)
    return person


def waiting(username: str) -> QuerySet[Person]:
    """The person of that name, where active and still without a password (at most one)."""
    return Person.objects.filter(NO_PASSWORD, username=username, is_active=True)
