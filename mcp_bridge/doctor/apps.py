"""The doctor app."""

from django.apps import AppConfig


class DoctorConfig(AppConfig):
    name = "mcp_bridge.doctor"
    label = "doctor"
    default_auto_field = "django.db.models.BigAutoField"
