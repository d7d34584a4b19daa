// What the browser tests share: a static server like any host would be (a subfolder, no special headers,
// few MIME types), Chromium, pages that note every complaint, and pixels of a screenshot.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
export const build = process.env.NOVASCOPE_BUILD ?? join(root, "build");
export const dist = join(build, "web/dist");
const cliPath = join(build, "native/novascope");

// The packages are web/'s, whichever folder a test runs in.
const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
export const axeSource = () => readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const TYPES = {
  ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** Serves the site below /some/folder/ only, so that an absolute URL in it fails. */
export async function serve() {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
    const inside = path.startsWith("/some/folder/") ? normalize(path.slice("/some/folder".length)) : "";
    const file = join(dist, inside.endsWith("/") ? `${inside}index.html` : inside);
    try {
      if (!inside) throw new Error("outside");
      const body = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" });
      response.end("not here");
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/some/folder/`;
  return { url, close: () => new Promise((resolve) => server.close(resolve)) };
}

function chromiumPath() {
  const places = ["chromium", "chromium-browser", "google-chrome"].map((name) => `/usr/bin/${name}`);
  const found = [process.env.CHROMIUM, ...places].find((path) => path && existsSync(path));
  if (!found) throw new Error("Chromium is missing: install the package chromium, or set CHROMIUM");
  return found;
}

export function launch(...flags) {
  const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", ...flags];
  if (process.getuid?.() === 0) args.push("--no-sandbox"); // Chromium refuses its sandbox to root
  return chromium.launch({ executablePath: chromiumPath(), args });
}

/**
 * A page in a context of its own. `page.problems` gathers console errors and warnings, exceptions,
 * policy violations, failed and foreign requests; `page.requested` the paths asked for.
 */
export async function openPage(browser, site, { query = "", wait = true, prepare, ...context } = {}) {
  const options = { viewport: { width: 1280, height: 720 }, ...context };
  const page = await (await browser.newContext(options)).newPage();
  page.problems = [];
  page.requested = [];
  const note = (text) => page.problems.push(text);
  page.on("console", (message) => {
    const benign = /GPU stall due to ReadPixels/.test(message.text()); // a screenshot's, not the page's
    if (["error", "warning"].includes(message.type()) && !benign) note(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(`exception: ${error.message}`));
  page.on("requestfailed", (request) => note(`failed: ${request.url()}`));
  page.on("response", (response) => {
    if (response.status() >= 400) note(`${response.status()}: ${response.url()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (url.startsWith(site.url)) page.requested.push(url.slice(site.url.length).split("?")[0]);
    else if (!/^(data|blob):/.test(url)) note(`foreign request: ${url}`);
  });
  if (options.javaScriptEnabled !== false) {
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
      });
    });
  }
  await prepare?.(page);
  await page.goto(`${site.url}${query}`);
  if (wait) await idle(page);
  return page;
}

/** Nothing loads, computes or waits to be drawn. */
export async function idle(page, timeout = 120_000) {
  await page.waitForFunction(() => window.novascope?.idle(), null, { timeout, polling: 50 });
}

export const snapshot = (page) => page.evaluate(() => window.novascope.snapshot());

/** Gives the app commands and waits until everything they caused is done. */
export async function command(page, ...commands) {
  await page.evaluate((list) => list.forEach((one) => window.novascope.command(one)), commands);
  await idle(page);
  return snapshot(page);
}

/** Playheads at `count` times from `from` to `to` (shares of the run), read from the trace, not drawn. */
export async function samplePlayheads(page, { from = 0, to = 1, count = 200 } = {}) {
  const sample = (range) => {
    const { end_ps } = window.novascope.snapshot();
    return Array.from({ length: range.count }, (_, i) => {
      const share = range.from + ((range.to - range.from) * i) / range.count;
      window.novascope.command({ cmd: "seek", ps: Math.floor(end_ps * share) + 1 });
      return window.novascope.snapshot().playhead;
    });
  };
  const playheads = await page.evaluate(sample, { from, to, count });
  await idle(page);
  return playheads;
}

export function assertClean(page) {
  assert.deepEqual(page.problems, []);
}

/** Runs the native CLI; its JSON. A refusal returns {status, stderr, ...} instead of throwing. */
export function cli(...args) {
  const text = execFileSync(cliPath, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  return JSON.parse(text);
}

/** Decodes a PNG in a blank page; at(x, y) -> [r, g, b]. */
export async function pixels(browser, png) {
  const page = await browser.newPage();
  const { width, height, data } = await page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const bytes = context.getImageData(0, 0, image.width, image.height).data;
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) {
      text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    }
    return { width: image.width, height: image.height, data: btoa(text) };
  }, png.toString("base64"));
  await page.close();
  const bytes = Buffer.from(data, "base64");
  const at = (x, y) => [...bytes.subarray(4 * (y * width + x), 4 * (y * width + x) + 3)];
  return { width, height, at };
}
