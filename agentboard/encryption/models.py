"""Which keys may have sealed what is stored."""

from django.db import models
from django.utils import timezone


class KeyCheck(models.Model):
    """One key under which rows may exist: it is recorded before it seals, and forgotten once no text is under it."""

    fingerprint = models.CharField(max_length=16, unique=True)
    token = models.TextField(help_text="A known text under this key alone: whoever opens it has the key.")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.fingerprint
