"""GET /live: the same notices for a page that has no socket and asks every minute."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from agentboard import rate
from agentboard.board.watching import Sight, sights, waiting_for
from agentboard.contract.errors import Refusal
from agentboard.ledger import feed
from agentboard.web.live.look import missed
from agentboard.web.live.message import Malformed, Notice, Wish, news_text, wish_of

STATUS = {"signed_out": 401, "forbidden": 403, "malformed": 400, "rate_limited": 429}


@require_safe
def poll(request: HttpRequest) -> HttpResponse:
    """What is new for the topics `topic=note:atlas:plan=14` behind the cursor `since`, and the next cursor."""
    person = request.user.pk
    try:
        if person is None:
            rate.spend_address(str(request.META.get("REMOTE_ADDR") or "unknown"))
        wish = wish_of(dict(map(_topic, request.GET.getlist("topic"))), request.GET.get("since"))
    except Refusal:
        return _refused("rate_limited")
    except Malformed:
        return _refused("malformed")
    top = feed.top()  # before the looks: what comes between is told twice rather than never
    seen = sights([(person, topic) for topic in wish.topics])
    if len(seen) < len(wish.topics):
        return _refused("signed_out" if person is None else "forbidden")
    notices = missed([*seen.values()], wish.place, wish.lost) + _waiting([*seen.values()], wish)
    return _kept_nowhere(JsonResponse(news_text(dict.fromkeys(notices), max(top, wish.place or top))))


def _topic(text: str) -> tuple[str, object]:
    name, _, version = text.partition("=")
    return name, int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else version or 0


def _waiting(seen: list[Sight], wish: Wish) -> list[Notice]:
    """What is new of the inboxes that the page shows."""
    shown = {sight.agent_id: sight.topic for sight in seen if sight.topic.kind == "inbox" and sight.agent_id}
    inboxes = waiting_for([agent for agent in shown if agent])
    return [
        Notice(str(shown[agent]), inbox.newest, inbox.unread)
        for agent, inbox in inboxes.items()
        if inbox.unread != wish.topics[shown[agent]]
    ]


def _refused(why: str) -> HttpResponse:
    return _kept_nowhere(JsonResponse({"refused": why}, status=STATUS[why]))


def _kept_nowhere(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response
