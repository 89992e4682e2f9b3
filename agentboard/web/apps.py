"""The door for people as an app: its template tags, and the drafts that it keeps."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "agentboard.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"
