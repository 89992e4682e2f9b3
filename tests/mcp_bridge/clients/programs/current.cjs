// A client on `@modelcontextprotocol/client` 2.x; the third argument is its mode: auto or legacy.

const { Client, StreamableHTTPClientTransport, UnauthorizedError } = require("@modelcontextprotocol/client");
const { mode, run } = require("./story.cjs");

run("Current JavaScript", {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  options: { versionNegotiation: { mode } },
  finish: (transport, came) => transport.finishAuth(came),
  protocol: ({ client }) => client.getNegotiatedProtocolVersion(),
});
