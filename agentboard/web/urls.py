"""The routes of the door for people."""

from django.urls import path
from django.views.generic import RedirectView

from agentboard.web import account, docs, posts, spaces

account_routes = [
    path("account/start/done", account.done, name="account-done"),
    path("account/start/<str:token>", account.start, name="account-start"),
]
docs_routes = [
    path("", RedirectView.as_view(pattern_name="docs")),
    path("docs", docs.start, name="docs"),
    path("docs/errors", docs.errors, name="docs-errors"),
    path("docs/method/<str:name>", docs.method, name="docs-method"),
]
posts_routes = [
    path("posts", posts.posts, name="posts"),
    path("posts/topics/<str:slug>.atom", posts.feed, name="posts-feed"),
    path("posts/<str:id>", posts.post, name="post"),
]

spaces_routes = [path("spaces/<str:id>", spaces.space, name="space")]

urlpatterns = [*account_routes, *docs_routes, *posts_routes, *spaces_routes]
