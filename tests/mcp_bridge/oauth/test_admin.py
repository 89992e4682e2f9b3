"""The operators' pages for OAuth."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client, override_settings

from agentboard.identity.models import Person
from mcp_bridge.oauth.models import AccessToken, Application, Connection, Grant, RefreshToken
from tests.mcp_bridge.oauth.flow import App, Browser, Tokens
from tests.mcp_bridge.oauth.test_token import works

MODELS = {model._meta.model_name: model for model in (Application, Connection, Grant, AccessToken, RefreshToken)}


@pytest.fixture
def got(app: App, browser: Browser) -> Tokens:
    """Tokens of one connection, and the code of another that was not redeemed."""
    tokens = app.connect(browser)
    app.code(browser)
    return tokens


@pytest.fixture
def operator(db: None, client: Client) -> Client:
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        client.force_login(Person.objects.create_superuser("root", password="a long enough secret"))
    return client


def act(client: Client, model: type, action: str, *rows: Application | Connection) -> int:
    chosen = {"action": action, "_selected_action": [row.pk for row in rows]}
    return client.post(f"/admin/oauth/{model.__name__.lower()}/", chosen).status_code


@pytest.mark.parametrize("name", MODELS)
def test_no_page_shows_a_checksum_or_lets_a_row_be_made_changed_or_deleted(
    operator: Client, got: Tokens, name: str
) -> None:
    rows = MODELS[name]._default_manager.all()
    page = f"/admin/oauth/{name}/"
    columns = [(AccessToken, "token_checksum"), (RefreshToken, "token_checksum"), (Connection, "code_digest")]
    columns += [(Grant, "code"), (Grant, "code_challenge")]
    secrets = [
        str(value) for model, column in columns for value in model._default_manager.values_list(column, flat=True)
    ]
    secrets += [got.access_token, got.refresh_token]
    for address in (page, f"{page}{rows[0].pk}/change/", f"{page}{rows[0].pk}/history/"):
        answer = operator.get(address)
        assert answer.status_code == 200
        assert not [secret for secret in secrets if secret in answer.content.decode()]
    assert operator.get(f"{page}add/").status_code == 403
    assert operator.post(f"{page}{rows[0].pk}/change/", {"name": "x", "scopes": "memory:write"}).status_code == 403
    assert operator.post(f"{page}{rows[0].pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("query", ["q=%00", "q=abo_x", "id=%00", "ended_at__isnull=x", "q='%22<b>"])
def test_no_query_string_breaks_a_list(operator: Client, got: Tokens, name: str, query: str) -> None:
    assert operator.get(f"/admin/oauth/{name}/?{query}", follow=True).status_code == 200


def test_what_is_never_made_has_no_page(operator: Client) -> None:
    assert operator.get("/admin/oauth/idtoken/").status_code == 403
    index = operator.get("/admin/").content.decode()
    assert "idtoken" not in index
    assert "devicegrant" not in index
    assert "/admin/oauth/connection/" in index


def test_ending_connections_ends_their_tokens_and_leaves_a_trace(operator: Client, got: Tokens) -> None:
    unused, used = Connection.objects.all()
    assert act(operator, Connection, "end", used) == 302
    assert not works(got.access_token)
    assert list(Connection.objects.live()) == [unused]
    assert act(operator, Connection, "end", used, unused) == 302
    assert not Connection.objects.live().exists()
    assert [entry.object_id for entry in LogEntry.objects.order_by("id")] == [str(used.pk), str(unused.pk)]


def test_a_blocked_application_is_out_until_it_is_unblocked(operator: Client, got: Tokens) -> None:
    app = Application.objects.get()
    assert act(operator, Application, "block", app) == 302
    assert not works(got.access_token)
    assert act(operator, Application, "unblock", app) == 302
    assert works(got.access_token)
    assert LogEntry.objects.count() == 2


def test_who_may_only_look_can_neither_end_nor_block(client: Client, got: Tokens) -> None:
    looker = Person.objects.create_user("looker", is_staff=True)
    looker.user_permissions.set(Permission.objects.filter(codename__in=("view_connection", "view_application")))
    client.force_login(looker)
    assert client.get("/admin/oauth/connection/").status_code == 200
    act(client, Connection, "end", *Connection.objects.all())
    act(client, Application, "block", Application.objects.get())
    assert works(got.access_token)


def test_deleting_a_person_takes_their_connections_along(operator: Client, got: Tokens) -> None:
    person = Person.objects.get(username="mira")
    assert operator.get(f"/admin/identity/person/{person.pk}/delete/").status_code == 200
    assert operator.post(f"/admin/identity/person/{person.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Connection.objects.exists()
    assert not AccessToken.objects.exists()
