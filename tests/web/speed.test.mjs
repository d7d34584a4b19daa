// Reports the wall speed of the whole page: 128 prompt and 128 output tokens at TP64 x PP4, arithmetic,
// simulation and trace on, the 3D view drawn; the clock runs for the model itself and for the larger shape
// that the page opens with. Speed is not asserted, machines differ; the run's size is, so that the figure
// means what it says.

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

// Seeds are tried until the model writes on for TOKENS tokens.
async function longRun(page, changes) {
  for (let seed = 1; seed < 40; ++seed) {
    const shown = await command(page, { cmd: "set", ...changes, seed }, { cmd: "run" });
    if (shown.output_tokens === TOKENS) return seed;
  }
  return assert.fail(`no seed writes ${TOKENS} tokens`);
}

async function measure(page, label, changes, context) {
  const seed = await longRun(page, changes);
  const runs = [];
  for (let i = 0; i < 3; ++i) {
    const before = (await command(page)).page.frames;
    const shown = await command(page, { cmd: "run" });
    assert.equal(shown.prompt_tokens, TOKENS);
    assert.equal(shown.output_tokens, TOKENS);
    const { run_ms, core_ms } = shown.page.wall;
    runs.push({ rate: (1000 * TOKENS) / run_ms, run_ms, core_ms, frames: shown.page.frames - before });
  }
  const [, { rate, run_ms, core_ms, frames }] = runs.sort((a, b) => a.rate - b.rate);
  context.diagnostic(`${label}, seed ${seed}: median ${rate.toFixed(0)} tokens/s, ` +
    `${run_ms.toFixed(0)} ms of which ${core_ms.toFixed(0)} in the core, ${frames} frames`);
}

test("wall speed at 128 + 128 tokens, TP64 x PP4", async (context) => {
  const site = await serve();
  const browser = await launch();
  try {
    const page = await openPage(browser, site, { query: "?autorun=0", viewport: { width: 1440, height: 900 } });
    const prompt = await growPrompt(page);
    const plan = { tp: 64, pp: 4, dp: 1, lnc: 2 };
    const changes = { prompt, chat: false, plan, max_tokens: TOKENS, temperature: 1 };
    await measure(page, "model itself timed", { ...changes, timing: false }, context);
    await measure(page, "larger shape timed", { ...changes, timing: true }, context);
  } finally {
    await browser.close();
    await site.close();
  }
});
