"""The settings, but a SQLite database that is locked is waited for no longer than a test can bear."""

from agentboard.settings import *  # noqa: F403
from agentboard.settings import DATABASES

DATABASES["default"]["OPTIONS"]["timeout"] = 0.3  # seconds
