"""The revisions of the protocol that are spoken here, and the names that requests of the newest one carry."""

MODERN = ("2026-07-28",)  # no handshake: each request says what it is
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")  # `initialize` first
UNNAMED = "2025-03-26"  # of a request without the header (2025-11-25, Transports, "Protocol Version Header")

_OURS = "io.modelcontextprotocol/"  # the protocol's own prefix of _meta keys
VERSION = f"{_OURS}protocolVersion"
CLIENT = f"{_OURS}clientInfo"
CAPABILITIES = f"{_OURS}clientCapabilities"
SERVER = f"{_OURS}serverInfo"
SUBSCRIPTION = f"{_OURS}subscriptionId"
