// The development server behind ./run: the built site on this machine.
//
//   node web/serve.mjs --dir build/web/dist [--port 8080] [--host 127.0.0.1]
//
// Without --port it takes 8080 or the next free port. Nothing outside --dir is served.

import { createServer } from "node:http";
import { isIPv6 } from "node:net";
import { parseArgs } from "node:util";
import sirv from "sirv";

const FIRST_PORT = 8080;
const TRIES = 100;

function fail(sentence) {
  console.error(`error: ${sentence}`);
  process.exit(2);
}

// Listens on the first free port of `count` from `port`; resolves with it.
function listen(server, host, port, count) {
  return new Promise((resolve, reject) => {
    let next = port;
    server.on("error", (error) => {
      if (error.code === "EADDRINUSE" && next + 1 < port + count) server.listen(++next, host);
      else reject(error);
    });
    server.on("listening", () => resolve(server.address().port));
    server.listen(next, host);
  });
}

const { values } = parseArgs({
  options: {
    dir: { type: "string" },
    port: { type: "string" },
    host: { type: "string", default: "127.0.0.1" },
  },
});
const port = Number(values.port ?? FIRST_PORT);

// `dev` reads the folder anew for every request, so that a rebuild shows without a restart.
const files = sirv(values.dir, { dev: true, etag: true });
const server = createServer((request, response) => {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  response.setHeader("x-content-type-options", "nosniff");
  files(request, response, () => {
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("There is no such file.\n");
  });
});

try {
  const taken = await listen(server, values.host, port, values.port === undefined ? TRIES : 1);
  const host = isIPv6(values.host) ? `[${values.host}]` : values.host;
  console.log(`Novascope is at http://${host}:${taken}/ (stop with Ctrl+C)`);
} catch (error) {
  if (error.code === "EADDRINUSE") fail(`port ${port} is taken: choose another with --port, or leave it out`);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    fail(`--host ${values.host} is not an address of this machine: use one that \`ip address\` shows`);
  }
  if (error.code === "EACCES") fail(`port ${port} needs a privilege: choose one of 1024 or above with --port`);
  fail(error.message);
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
