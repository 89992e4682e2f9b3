"""One search over what an agent knows: its notes, the posts, and from there its spaces."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentboard.web.workspace.acting import Acting, Object, of_agent

SHOWN = 10  # hits of each kind
SPACES = 20


@require_safe
@of_agent
def search(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The best notes and posts that hold all the words, and the spaces to look in. Raises Refusal for odd words."""
    words = request.GET.get("q", "").strip()
    context: Object = {"acting": acting, "section": "search", "words": words}
    if words:
        context |= {
            "notes": acting.done("search_memory", q=words, limit=SHOWN),
            "posts": acting.done("list_posts", q=words, limit=SHOWN),
            "spaces": acting.done("list_spaces", limit=SPACES)["items"],
        }
    return render(request, "workspace/search.html", context)
