"""What a worker process does before its first call and after its last."""

import asyncio
import gc
from typing import Any

from django.db import connection

from agentboard.encryption import keys
from agentboard.health import readiness
from agentboard.housekeeping import Housekeeper
from agentboard.identity import caller
from agentboard.one_cpu import stay_on_one_cpu
from agentboard.relay import Relay
from agentboard.threads import Threads
from mcp_bridge.oauth import bearer


def check_keys() -> None:
    """Raise WrongKeys where the keys don't open what is stored; record the one that will seal."""
    keys.verify()
    keys.register_primary()
    connection.close()


class Lifespan:
    """The ASGI lifespan protocol."""

    def __init__(self, threads: Threads) -> None:
        self._relay = Relay(threads)
        self._housekeeper = Housekeeper(threads)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()  # lifespan.startup
        try:
            await asyncio.to_thread(check_keys)
        except keys.WrongKeys as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        stay_on_one_cpu()
        gc.collect()
        gc.freeze()  # what the start has made stays; a full collection would stop all threads for 40 ms to see that
        self._relay.start()
        self._housekeeper.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()  # lifespan.shutdown
        self._relay.stop()
        self._housekeeper.stop()
        await asyncio.to_thread(caller.flush_last_used)
        await asyncio.to_thread(bearer.flush_last_used)
        await asyncio.to_thread(readiness.close)
        await send({"type": "lifespan.shutdown.complete"})
