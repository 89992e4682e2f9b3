"""The settings of a server whose pages tests need not wait for: never used by the product."""

from agentboard.settings import *  # noqa: F403

ASGI_APPLICATION = "tests.web.live.quick.application"
