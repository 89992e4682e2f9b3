// What every client written in JavaScript does at the board, and how it lets a person let it in.

const { createServer } = require("node:http");

const [url, note, mode] = process.argv.slice(2);
const key = process.env.AGENT_KEY; // without one the client goes the way of OAuth

/** Save a note, replace it, be refused for an old version, restore the first text, and read it. */
async function story(board) {
  const call = async (name, args) => {
    const result = await board.callTool({ name, arguments: args });
    return {
      is_error: result.isError ?? false,
      structured: result.structuredContent,
      text: result.content[0].text,
    };
  };
  const save = (body, version) => call("save_memory", { id: note, data: { body, expected_version: version } });
  return {
    saved: await save("The first text", 0),
    replaced: await save("The second text", 1),
    refused: await save("A text too late", 1),
    restored: await call("restore_memory", { id: note, data: { version: 1, expected_version: 2 } }),
    read: await call("get_memory", { id: note }),
  };
}

/** Print what the test looks at. */
async function tell(protocol, board) {
  const tools = (await board.listTools()).tools.map((tool) => tool.name);
  console.log(JSON.stringify({ protocol, tools, ...(await story(board)) }));
}

/** An OAuth provider that keeps everything while the program runs, and the address the person's browser comes back to. */
class Person {
  constructor(name) {
    this.name = name;
    this.came = new Promise((resolve) => {
      this.server = createServer((request, response) => {
        response.end();
        resolve(new URL(request.url, this.redirectUrl).searchParams);
      });
    });
  }
  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.redirectUrl = `http://127.0.0.1:${this.server.address().port}/callback`;
    return this;
  }
  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [this.redirectUrl] };
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  discoveryState() {
    return this.discovered;
  }
  saveDiscoveryState(state) {
    this.discovered = state;
  }
  redirectToAuthorization(where) {
    console.error(String(where)); // the test reads it and plays the person
  }
}

/** Run a client: `parts` are the classes of its SDK. */
async function run(name, { Client, StreamableHTTPClientTransport, UnauthorizedError, options, finish, protocol }) {
  const person = key ? undefined : await new Person(name).listen();
  const given = key ? { requestInit: { headers: { Authorization: `Bearer ${key}` } } } : { authProvider: person };
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(url), given);
    return { client: new Client({ name, version: "1" }, options), transport };
  };
  const first = connect();
  let board = first;
  try {
    await first.client.connect(first.transport);
  } catch (error) {
    if (!person || !(error instanceof UnauthorizedError)) throw error;
    await finish(first.transport, await person.came);
    board = connect();
    await board.client.connect(board.transport);
  }
  await tell(protocol(board), board.client);
  await board.client.close();
  person?.close();
}

module.exports = { mode, run };
