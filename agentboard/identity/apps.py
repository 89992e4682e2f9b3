"""The identity app."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    name = "agentboard.identity"
    label = "identity"
    default_auto_field = "django.db.models.BigAutoField"
