// Reports the wall speed of the whole page: 128 prompt and 128 output tokens at TP64 x PP4, arithmetic,
// simulation and trace on, the 3D view drawn. Not asserted: machines differ. It does assert that the run
// had that size, so that the figure means what it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { command, launch, openPage, serve } from "./harness.mjs";

const TOKENS = 128;

// A prompt of exactly TOKENS tokens, grown word by word with the core's own count.
const growPrompt = (page) =>
  page.evaluate(async (wanted) => {
    const { createSession, fetchModel } = await import(new URL("js/core.js", document.baseURI).href);
    const session = await createSession();
    await session.load(await fetchModel());
    const count = async (prompt) => {
      const plan = new Promise((resolve) => session.on("plan", resolve));
      session.run({ v: 1, prompt }, { paused: true });
      return (await plan).prompt_tokens;
    };
    const words = ["the", "chip", "sends", "rows", "to", "a", "link", "and", "waits", "x"];
    let prompt = "Explain";
    for (let i = 0, n = await count(prompt); n < wanted; i = (i + 1) % words.length) {
      const longer = `${prompt} ${words[i]}`;
      const next = await count(longer);
      if (next <= wanted) [prompt, n] = [longer, next];
    }
    session.dispose();
    return prompt;
  }, TOKENS);

test("wall speed at 128 + 128 tokens, TP64 x PP4", async (context) => {
  const site = await serve();
  const browser = await launch();
  try {
    const page = await openPage(browser, site, { query: "?autorun=0", viewport: { width: 1440, height: 900 } });
    const prompt = await growPrompt(page);
    const plan = { tp: 64, pp: 4, dp: 1, lnc: 2 };
    await command(page, { cmd: "set", prompt, plan, max_tokens: TOKENS, temperature: 1, seed: 1 });
    const runs = [];
    for (let i = 0; i < 3; ++i) {
      const before = (await command(page)).page.frames;
      const shown = await command(page, { cmd: "run" });
      assert.equal(shown.prompt_tokens, TOKENS);
      const { run_ms, tokens, core_ms } = shown.page.wall;
      assert.ok(tokens > 0 && run_ms > 0);
      runs.push({ rate: (1000 * tokens) / run_ms, tokens, run_ms, core_ms,
        frames: shown.page.frames - before });
    }
    runs.sort((a, b) => a.rate - b.rate);
    for (const run of runs) {
      context.diagnostic(`${run.rate.toFixed(0)} tokens/s: ${run.tokens} tokens in ` +
        `${run.run_ms.toFixed(0)} ms, ${run.core_ms.toFixed(0)} of them in the core, ${run.frames} frames`);
    }
    context.diagnostic(`median ${runs[1].rate.toFixed(0)} tokens/s`);
  } finally {
    await browser.close();
    await site.close();
  }
});
