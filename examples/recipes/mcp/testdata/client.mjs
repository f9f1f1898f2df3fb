// A client without libraries of two servers that the arguments start: pages through list_users of the first, asks for the
// last user of each page with get_user, and sends all IDs to echo of the second. Prints the number of users and the sum of
// their IDs.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

async function connect(name) {
  const server = spawn(process.argv[2], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, RUN_SERVER: name } });
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  let calls = 0;
  async function request(method, params) {
    server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: ++calls, method, params }) + "\n");
    for (;;) {
      const { value, done } = await answers.next();
      if (done) throw new Error("the server has ended");
      const message = JSON.parse(value);
      if (message.id === calls) return message.result ?? message;
    }
  }
  await request("initialize", {
    protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "node", version: "1" },
  });
  server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const tool = async (name, args) => {
    const result = await request("tools/call", { name, arguments: args });
    if (result.isError || !result.content) throw new Error(JSON.stringify(result));
    return JSON.parse(result.content[0].text);
  };
  return { tool, close: () => server.stdin.end() };
}

const users = await connect("users"), echo = await connect("echo");
let rows = 0, sum = 0n, after = "0";
for (;;) {
  const page = (await users.tool("list_users", { after })).users;
  if (page.length === 0) break;
  const { ids } = await echo.tool("echo", { ids: page.map((user) => user.id) });
  if (ids.length !== page.length) throw new Error(`${ids.length} of ${page.length} IDs came back`);
  for (const [i, user] of page.entries()) {
    if (ids[i] !== user.id) throw new Error(`${user.id} came back as ${ids[i]}`);
    rows++;
    sum += BigInt(ids[i]);
  }
  after = page.at(-1).id;
  const last = await users.tool("get_user", { id: after });
  if (last.id !== after) throw new Error(`get_user of ${after} returned ${last.id}`);
}
console.log(`${rows} ${sum}`);
users.close();
echo.close();
