"""The routes of the door for people."""

from django.urls import path
from django.views.generic import RedirectView

from agentboard.web import account, docs

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

urlpatterns = [*account_routes, *docs_routes]
