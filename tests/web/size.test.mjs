// What loads before the weights: at most 1.5 MB as a host with gzip sends it, with one core variant.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { dist, launch, openPage, serve } from "./harness.mjs";

const LIMIT = 1_500_000;

test("what loads before the weights stays under 1.5 MB", async (context) => {
  const site = await serve();
  const browser = await launch();
  try {
    for (const query of ["?autorun=0&core=relaxed", "?autorun=0&core=baseline"]) {
      const page = await openPage(browser, site, { query });
      const files = [...new Set(page.requested.map((path) => path || "index.html"))];
      const before = files.filter((path) => !path.startsWith("assets/models/"));
      const sizes = before.map((path) => {
        return [path, gzipSync(readFileSync(join(dist, path)), { level: 9 }).length];
      });
      const total = sizes.reduce((sum, [, size]) => sum + size, 0);
      for (const [path, size] of sizes.sort((a, b) => b[1] - a[1]).slice(0, 5)) {
        context.diagnostic(`${query} ${path} ${size}`);
      }
      context.diagnostic(`${query} total ${total} bytes of ${LIMIT}`);
      assert.ok(before.some((path) => path.endsWith("app.wasm")));
      assert.ok(total <= LIMIT, `${total} bytes`);
    }
  } finally {
    await browser.close();
    await site.close();
  }
});
