"""The pages' addresses. The API doors are routed in asgi.py and never come here."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from agentboard.numbers import numbers

# Operators come in where everybody does, so that their second factors count.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/numbers", admin.site.admin_view(numbers), name="admin-numbers"),
    path("admin/", admin.site.urls),
    path("admin", RedirectView.as_view(url="/admin/", permanent=True)),  # APPEND_SLASH is off
    path("", include("mcp_bridge.urls")),
    path("", include("agentboard.web.urls")),
]
