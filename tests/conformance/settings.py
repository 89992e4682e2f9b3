"""The product's settings, with the fixtures on its endpoint: for `make conformance` alone."""

from agentboard.settings import *  # noqa: F403

ASGI_APPLICATION = "tests.conformance.asgi.application"
