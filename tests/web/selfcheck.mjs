// A test that fails on purpose, in the browser: the script `test` requires that run.mjs then fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { launch } from "./harness.mjs";

test("a failing test is seen", async () => {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    assert.equal(await page.evaluate(() => [1, 2, 3].reduce((sum, i) => sum + i, 0)), 7);
  } finally {
    await browser.close();
  }
});
