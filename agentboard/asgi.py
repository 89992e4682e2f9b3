"""Which door a connection takes. `manage.py serve` runs this; any ASGI server can, after `migrate`."""

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import re_path  # noqa: E402

from agentboard.closed import closed  # noqa: E402
from agentboard.health import healthz, readyz  # noqa: E402
from agentboard.lifespan import Lifespan  # noqa: E402
from agentboard.request_name import Named  # noqa: E402
from agentboard.rest_door import RestDoor  # noqa: E402
from agentboard.threads import PagesHandler, Threads  # noqa: E402
from agentboard.web.live.door import Live  # noqa: E402
from mcp_bridge.endpoint import Endpoint  # noqa: E402

threads = Threads(settings.THREADS)
live = Live(threads)
sockets: list[tuple[str, Any]] = [(r"^live\Z", live), (r"", closed)]
doors: list[tuple[str, Any]] = [  # the first whose pattern fits the path, which comes without its leading slash
    (r"^v1(?:/|$)", RestDoor(threads)),
    (r"^mcp/?\Z", Endpoint(threads)),
    (r"^healthz\Z", Named(healthz)),
    (r"^readyz\Z", Named(readyz)),
    (r"", Named(PagesHandler())),
]
application = ProtocolTypeRouter(
    {
        "http": URLRouter([re_path(pattern, door) for pattern, door in doors]),
        "websocket": URLRouter([re_path(pattern, door) for pattern, door in sockets]),
        "lifespan": Lifespan(threads),
    }
)
