// The JavaScript API in a page: sessions in Workers of their own and beside the page, side by side.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertClean, launch, openPage, serve } from "./harness.mjs";

let site;
let browser;
let page;
before(async () => {
  site = await serve();
  browser = await launch();
  page = await openPage(browser, site, { query: "?autorun=0" });
  await page.evaluate(async () => {
    const api = await import(new URL("js/core.js", document.baseURI).href);
    window.lab = { ...api, model: await api.fetchModel(), sessions: [] };
    window.lab.open = async (options) => {
      const session = await api.createSession(options);
      await session.load(window.lab.model);
      window.lab.sessions.push(session);
      return session;
    };
  });
});
after(async () => {
  await browser?.close();
  await site?.close();
});

const A = { v: 1, prompt: "Explain the all-reduce.", max_tokens: 16 };
const B = { v: 1, prompt: "What does a token cost?", max_tokens: 16, temperature: 0.7, seed: 3 };

describe("sessions in a page", () => {
  test("two Workers at once give what one gives, and both cores and no Worker the same", async () => {
    const results = await page.evaluate(async ([a, b]) => {
      const { open } = window.lab;
      const alone = await open();
      const expected = [await alone.run(a), await alone.run(b)];
      const [one, two] = [await open(), await open()];
      const pair = await Promise.all([one.run(a), two.run(b)]);
      const [three, four] = [await open({ worker: false }), await open({ worker: false })];
      const beside = await Promise.all([three.run(a), four.run(b)]);
      const baseline = await open({ variant: "core" });
      const plain = [await baseline.run(a), await baseline.run(b)];
      return { expected, pair, beside, plain, variants: [alone.variant, baseline.variant] };
    }, [A, B]);
    assert.ok(results.expected.every((result) => result.output_tokens > 0));
    assert.deepEqual(results.pair, results.expected);
    assert.deepEqual(results.beside, results.expected);
    assert.deepEqual(results.variants, ["core-relaxed", "core"]);
    assert.deepEqual(results.plain, results.expected);
  });

  test("the page's own session goes on while another runs", async () => {
    const text = await page.evaluate(async (a) => {
      const other = await window.lab.open();
      const run = other.run({ ...a, max_tokens: 64 });
      window.novascope.command({ cmd: "run" });
      await run;
      return "both ran";
    }, A);
    assert.equal(text, "both ran");
    await page.waitForFunction(() => window.novascope.idle());
    const { answer } = await page.evaluate(() => window.novascope.snapshot());
    assert.ok(answer.length > 0);
  });

  test("a Worker that computes hears a pause", async () => {
    const after = await page.evaluate(async (a) => {
      const session = await window.lab.open();
      session.run({ ...a, max_tokens: 256 });
      await new Promise((resolve) => session.on("step", resolve));
      session.pause();
      await new Promise((resolve) => session.on("state", (event) => event.state === "paused" && resolve()));
      let after = 0;
      session.on("step", () => (after += 1));
      await new Promise((resolve) => setTimeout(resolve, 200));
      return after;
    }, A);
    assert.equal(after, 0, "nothing runs after the pause");
  });

  test("transferred events leave the page without errors", () => assertClean(page));
});
