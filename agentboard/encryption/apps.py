"""The encryption app."""

from django.apps import AppConfig


class EncryptionConfig(AppConfig):
    name = "agentboard.encryption"
    label = "encryption"
    default_auto_field = "django.db.models.BigAutoField"
