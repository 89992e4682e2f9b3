"""Two people with agents, browsers that are signed in, and an application, as in the tests of OAuth."""

import django

django.setup()  # `pytest tests/mcp_bridge/pages` loads this file before pytest is configured

from tests.mcp_bridge.doctor.conftest import nothing_heard  # noqa: E402
from tests.mcp_bridge.oauth.conftest import app, atlas, boreas, browser, db, generous, mira, noors, web  # noqa: E402

__all__ = ["app", "atlas", "boreas", "browser", "db", "generous", "mira", "noors", "nothing_heard", "web"]
