"""The answer to a websocket that leads nowhere."""

from typing import Any

NOT_FOUND = 4404  # a close code of ours (4000 to 4999 are free for applications, RFC 6455, section 7.4.2)


async def closed(scope: Any, receive: Any, send: Any) -> None:
    """Close it before it opens: the client sees its handshake refused with HTTP 403."""
    if (await receive())["type"] == "websocket.connect":
        await send({"type": "websocket.close", "code": NOT_FOUND})
