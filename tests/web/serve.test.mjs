// The development server behind ./run: types, its folder as the limit, and the choice of a port.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../web/serve.mjs", import.meta.url));
const running = [];
let folder;

// Starts the server; resolves with {port} once it says where it is, or {status, error} if it ends.
function start(...args) {
  const child = spawn(process.execPath, [script, "--dir", join(folder, "site"), ...args]);
  running.push(child);
  let said = "";
  let error = "";
  child.stderr.on("data", (data) => (error += data));
  return new Promise((resolve) => {
    child.on("exit", (status) => resolve({ status, error }));
    child.stdout.on("data", (data) => {
      said += data;
      const port = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(said)?.[1];
      if (port) resolve({ port: Number(port) });
    });
  });
}

// The answer's head and body to a path exactly as given; fetch would tidy it first.
function raw(port, path) {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (data) => (answer += data));
    socket.on("end", () => resolve(answer));
    socket.on("error", reject);
  });
}

// Holds a port of the system's choice.
function holdPort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
  });
}

describe("development server", () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "novascope-serve-"));
    for (const name of ["site/sub", "site-secret"]) mkdirSync(join(folder, name), { recursive: true });
    const files = ["site/index.html", "site/a.js", "site/a.wasm", "site/a.json", "site/sub/a.woff2"];
    for (const name of [...files, "secret.txt", "site-secret/a.txt"]) {
      writeFileSync(join(folder, name), name.includes("secret") ? "secret" : "public");
    }
  });
  after(() => {
    for (const child of running) child.kill();
    rmSync(folder, { recursive: true });
  });

  test("gives every file its type, and the index for the folder", async () => {
    const { port } = await start("--port", String(20000 + (process.pid % 20000)));
    const types = {
      "": "text/html;charset=utf-8", "a.js": "text/javascript", "a.wasm": "application/wasm",
      "a.json": "application/json", "sub/a.woff2": "font/woff2",
    };
    for (const [path, type] of Object.entries(types)) {
      const response = await fetch(`http://127.0.0.1:${port}/${path}`);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("content-type"), type, path);
      assert.equal(await response.text(), "public");
    }
    assert.equal((await fetch(`http://127.0.0.1:${port}/missing.js`)).status, 404);
    assert.equal((await fetch(`http://127.0.0.1:${port}/`, { method: "POST" })).status, 405);
  });

  test("has no way out of its folder", async () => {
    const { port } = await start();
    const ways = [
      "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/sub/../../secret.txt",
      "/../site-secret/a.txt", "/%2e%2e%2fsite-secret%2fa.txt", "/..\\secret.txt", "//../secret.txt",
      "/sub/%2e%2e/%2e%2e/secret.txt", "/%00", "/%", "../secret.txt", "http://x/../secret.txt",
    ];
    for (const path of ways) {
      const answer = await raw(port, path);
      assert.match(answer, /^HTTP\/1\.1 4\d\d /, path);
      assert.doesNotMatch(answer, /\r\n\r\n[^]*secret/, path);
    }
    assert.match(await raw(port, "/a.js"), /^HTTP\/1\.1 200 /);
  });

  test("takes the next free port where none is asked for, and says so where one is", async () => {
    const [first, second] = [await start(), await start()];
    assert.ok(first.port >= 8080 && second.port >= 8080);
    assert.notEqual(first.port, second.port);
    const held = await holdPort();
    const { port } = held.address();
    const refused = await start("--port", String(port));
    assert.equal(refused.status, 2);
    assert.match(refused.error, new RegExp(`port ${port} is taken`));
    held.close();
  });
});
