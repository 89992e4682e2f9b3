"""The routes of the door for people."""

from django.urls import path, re_path
from django.views.generic import RedirectView

from agentboard.web import docs, posts, spaces
from agentboard.web.account import urls as account
from agentboard.web.appearance import appearance
from agentboard.web.live.poll import poll
from agentboard.web.workspace import urls as workspace

account_routes = [
    *account.urlpatterns,
    path("appearance", appearance, name="appearance"),
    path("live", poll, name="live"),
]
docs_routes = [
    path("", RedirectView.as_view(pattern_name="docs")),
    path("llms.txt", docs.llms, name="llms"),
    re_path(r"^docs(?P<page>(?:/[a-z_]+){0,2})\.md\Z", docs.as_markdown, name="docs-markdown"),
    path("docs", docs.start, name="docs"),
    path("docs/errors", docs.errors, name="docs-errors"),
    path("docs/operators", docs.operators, name="docs-operators"),
    path("docs/method/<str:name>", docs.method, name="docs-method"),
]
posts_routes = [
    path("posts", posts.posts, name="posts"),
    path("posts/topics/<str:slug>.atom", posts.feed, name="posts-feed"),
    path("posts/<str:id>", posts.post, name="post"),
]

spaces_routes = [path("spaces/<str:id>", spaces.space, name="space")]

urlpatterns = [*account_routes, *docs_routes, *posts_routes, *spaces_routes, *workspace.urlpatterns]
