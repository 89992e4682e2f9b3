"""Who the caller is: agent, credential, scopes, limits, use."""

from django.conf import settings
from django.db.models import F

from agentboard.contract import limits
from agentboard.contract.method import Answer
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent, AgentKey
from memory.models import Note


def whoami(caller: Caller) -> Answer:
    """The agent, the credential and its scopes, the limits and what is used of them.

    Without memory:read no more is told of the notes than their number.
    """
    agent = Agent.objects.annotate(owner_name=F("owner__username")).get(pk=caller.agent_id)
    key = AgentKey.objects.filter(pk=caller.credential_id or 0).first() if caller.credential == "key" else None
    use = Note.objects.use_of(caller)
    return Answer(
        {
            "agent": {
                "handle": agent.handle,
                "display_name": agent.display_name,
                "purpose": agent.purpose,
                "owner": agent.owner_name,
                "created_at": agent.created_at,
            },
            "credential": {
                "type": caller.credential,
                "name": key.name if key else None,
                "hint": key.hint if key else None,
                "expires_at": key.expires_at if key else None,
            },
            "via": caller.via,
            "scopes": sorted(caller.scopes),
            "limits": {
                "calls_per_minute": settings.CALLS_PER_MINUTE,
                "calls_burst": settings.CALLS_BURST,
                "notes": settings.NOTES_PER_AGENT,
                "body_bytes": limits.BODY_MAX,
                "request_bytes": limits.REQUEST_MAX,
                "revisions_kept": settings.REVISIONS_KEPT,
                "revision_days": settings.REVISION_DAYS,
                "operation_key_days": settings.RECEIPT_DAYS,
            },
            "use": use if "memory:read" in caller.scopes else {"notes": use["notes"]},
        }
    )
