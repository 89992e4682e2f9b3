"""What the endpoint tells the doctor of credentials: the first call of one it let in, and what kept others out."""

from collections.abc import Callable

from django.utils import timezone

from agentboard.identity import keys
from agentboard.identity.caller import Caller
from agentboard.identity.models import AgentKey
from mcp_bridge.doctor import diagnosis, watch
from mcp_bridge.doctor.models import KEPT, Attempt, Step
from mcp_bridge.doctor.peer import Peer, tidy
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.doctor.watch import News
from mcp_bridge.oauth.models import Connection

SECONDS_OF_A_DAY = 86_400
CALLING = watch.Remembered(SECONDS_OF_A_DAY, 20_000)  # credentials that call already


def first_call(caller: Caller, peer: Callable[[], Peer], client: str) -> None:
    """A call was let in. Only the first of a credential is looked at; all others cost a look into memory."""
    if CALLING.again((caller.credential, caller.credential_id)):
        return
    with watch.quietly():
        here = peer()
        begins = caller.credential == "key" and _new_here(caller, here)
        watch.tell(_news(caller, "", here, client, begins))


def held_up(caller: Caller, reason: Reason, peer: Peer, client: str) -> None:
    """A call was let in, and could not be served for this reason. One that others have worked before is no news."""
    before = CALLING.knows((caller.credential, caller.credential_id))
    if not before or reason is Reason.SCOPE_MISSING:
        with watch.quietly():
            watch.tell(_news(caller, reason, peer, client, begins=True))


def _news(caller: Caller, reason: str, peer: Peer, client: str, begins: bool) -> News:
    client_id = _client_id(caller) if caller.credential == "token" else ""
    who = {"person": caller.owner_id, "agent": caller.agent_id}
    return News(Step.FIRST_CALL, reason, peer, client_id, tidy(client), **who, begins=begins)


def _client_id(caller: Caller) -> str:
    """Of the application that the connection is with."""
    found = Connection.objects.filter(id=caller.credential_id or 0).values_list("application__client_id", flat=True)
    return found.first() or ""


def _new_here(caller: Caller, peer: Peer) -> bool:
    """Whether the key is young and this program has not called with a key of the agent yet, as far as is remembered."""
    before = Attempt.objects.filter(agent=caller.agent_id, client_id="", step=Step.FIRST_CALL, program=peer.program)
    young = AgentKey.objects.filter(id=caller.credential_id or 0, created_at__gt=timezone.now() - KEPT)
    return young.exists() and not before.exists()


def refused(header: str, peer: Peer, client: str) -> None:
    """A call was kept out, with this Authorization header. Without one it is a client that finds its way: discovery."""
    text = header.rpartition(" ")[2].strip()
    with watch.quietly():
        if not text:
            watch.reached(Step.DISCOVERY, peer, client=client)
        elif text.startswith(keys.KEY):
            _key_refused(text, peer, client)
        elif (found := diagnosis.of_access_token(text)) is not None:
            about = {"client": client} if found.connection is None else watch.about(found.connection)
            watch.stopped(Step.FIRST_CALL, found.reason, peer, **about)


def _key_refused(text: str, peer: Peer, client: str) -> None:
    if not keys.well_formed(text):
        watch.stopped(Step.FIRST_CALL, Reason.KEY_MALFORMED, peer, client=client)
        return
    row = AgentKey.objects.select_related("agent__owner").filter(digest=keys.digest(text)).first()
    if row is None:
        watch.stopped(Step.FIRST_CALL, Reason.KEY_UNKNOWN, peer, client=client)
    elif (found := _why(row)) is not None:
        owner = row.agent.owner_id
        watch.stopped(Step.FIRST_CALL, found, peer, client=client, person=owner, agent=row.agent_id)


def _why(row: AgentKey) -> Reason | None:
    if row.state != "active":
        return Reason.KEY_REVOKED if row.state == "revoked" else Reason.KEY_EXPIRED
    if not row.agent.active:
        return Reason.AGENT_INACTIVE
    return None if row.agent.owner.is_active else Reason.OWNER_INACTIVE
