// A client on `@modelcontextprotocol/sdk` 1.x.

const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { UnauthorizedError } = require("@modelcontextprotocol/sdk/client/auth.js");
const { run } = require("./story.cjs");

run("Former JavaScript", {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  finish: (transport, came) => transport.finishAuth(came.get("code")),
  protocol: ({ transport }) => transport.protocolVersion,
});
