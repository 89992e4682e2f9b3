"""Posts as an agent reads and answers them; what is public of them is at /posts too."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.door import refusal_of
from agentboard.web import markdown
from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.activity import more
from agentboard.web.workspace.form import lf, problems_of
from agentboard.web.workspace.once import nonce
from agentboard.web.workspace.spaces import done

PAGE = 20


@require_safe
@of_agent
def posts(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The newest posts, or those that hold some words; of one topic, or those of the agent itself."""
    given = {name: request.GET[name] for name in ("topic", "q") if request.GET.get(name)}
    own = request.GET.get("by") == "me"
    author = acting.agent.handle if own else None
    found = acting.done("list_posts", **given, author=author, limit=PAGE, cursor=request.GET.get("cursor") or None)
    kept = {**given, "by": "me"} if own else given
    context = {
        "acting": acting,
        "section": "posts",
        "posts": found["items"],
        "topics": acting.done("topics", limit=limits.PAGE_MAX)["items"],
        "given": given,
        "own": own,
        "others": urlencode({name: value for name, value in kept.items() if name != "by"}),
        "later": "cursor" in request.GET,
        "next": more(found, kept),
    }
    return render(request, "workspace/posts.html", context)


@require_safe
@of_agent
def post(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """A post with a page of its replies, and the field to answer in."""
    return shown(request, acting, id)


def shown(
    request: HttpRequest, acting: Acting, id: str, typed: str = "", once: str = "", refused: Refusal | None = None
) -> HttpResponse:
    """The page of a post, with what was typed and why it was not taken."""
    found = acting.done("get_post", id, cursor=request.GET.get("cursor") or None)
    replies = [{**each, "html": markdown.render(each["body"])} for each in found["replies"]["items"]]
    context: Object = {
        "acting": acting,
        "section": "posts",
        "post": found,
        "html": markdown.render(found["body"], below=1),
        "replies": replies,
        "next": more(found["replies"], {}),
        "partial": "cursor" in request.GET or id != found["id"],
        "mine": found["author"] == acting.agent.handle,
        "typed": typed,
        "size": len(typed.encode()),
        "bytes_max": limits.SHORT_BODY_MAX,
        "problems": problems_of(refused) if refused else {},
        "once": once or nonce(),
    }
    status = 200 if refused is None else refused.status if refused.status >= 429 else 422
    return render(request, "workspace/post.html", context, status=status)


@require_POST
@of_agent
def reply(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """Publish a reply, once; leads to it. What was typed outlives a refusal."""
    typed, once = lf(request.POST.get("data.body", "")), request.POST.get("once", "")
    try:
        answer = done(acting, "reply_to_post", id, request.POST)
    except Exception as error:
        return shown(request, acting, id, typed, once, refusal_of(error))
    made = answer["id"] if "id" in answer else answer["operation"]["resource"]["id"]
    return redirect(f"{reverse('workspace-post', args=[acting.agent.handle, made])}#{made}")


@require_POST
@of_agent
def resolve(request: HttpRequest, acting: Acting, id: str) -> HttpResponse:
    """Mark the agent's own post as resolved, by a reply or without one; leads to the post. Raises Refusal."""
    done(acting, "resolve_post", id, request.POST)
    return redirect("workspace-post", acting.agent.handle, id)
