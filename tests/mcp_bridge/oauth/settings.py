"""The settings of a server in tests whose applications' documents come from fixtures.py: never used by the product."""

from agentboard.settings import *  # noqa: F403
from agentboard.settings import OAUTH2_PROVIDER

OAUTH2_PROVIDER = {**OAUTH2_PROVIDER, "CIMD_METADATA_FETCHER": "tests.mcp_bridge.oauth.fixtures.Documents"}
