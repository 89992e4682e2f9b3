"""The pages' addresses. The API doors are routed in asgi.py and never come here."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("admin", RedirectView.as_view(url="/admin/", permanent=True)),  # APPEND_SLASH is off
    path("", include("agentboard.web.urls")),
]
