"""A model with encrypted texts, in a registry of its own: nothing outside these tests knows of it."""

from typing import ClassVar

from django.apps.registry import Apps
from django.db import models

from agentboard.encryption.field import EncryptedText

REGISTRY = Apps(["agentboard.encryption"])


class Page(models.Model):
    """What a note is to this app: a name and a version that say where its texts belong."""

    name = models.CharField(max_length=100)
    version = models.IntegerField(default=1)
    body = EncryptedText()
    summary = EncryptedText(null=True)
    objects: ClassVar[models.Manager["Page"]] = models.Manager()

    class Meta:
        app_label = "encryption"
        apps = REGISTRY

    def __str__(self) -> str:
        return self.name

    def sealing_place(self) -> str:
        return f"page:{self.name}:{self.version}"
