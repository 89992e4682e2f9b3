"""The application, but it looks at the rights of open pages more often, and waits less for what they show."""

from agentboard.asgi import application
from agentboard.web.live import door, hub

hub.CHECK_SECONDS = 0.3
door.FIRST_SECONDS = 3

__all__ = ["application"]
