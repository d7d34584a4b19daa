// What a visitor does: look, type a prompt, run, pause, step, scrub; and what the page says to bad input.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  assertClean, cli, command, idle, launch, openPage, pixels, samplePlayheads, serve, snapshot,
} from "./harness.mjs";

let site;
let browser;
let folder;
before(async () => {
  site = await serve();
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "novascope-"));
});
after(async () => {
  await browser?.close();
  await site?.close();
  rmSync(folder, { recursive: true });
});

// The command line's answer to the scenario that the page holds.
function ask(scenario, ...args) {
  const file = join(folder, "scenario.json");
  writeFileSync(file, JSON.stringify(scenario));
  return cli("generate", "--scenario", file, "--json", ...args);
}

describe("page", () => {
  test("opens with a run: text, figures, memory and cost, as the command line has them", async () => {
    const page = await openPage(browser, site);
    const shown = await snapshot(page);
    assert.equal(shown.state, "done");
    const { scenario } = shown;
    assert.deepEqual(scenario.timing,
      { shape: "nova-micro-like", tp: 64, pp: 1, dp: 4, lnc: 2, batch: 32 });
    const expected = ask(scenario);
    assert.ok(expected.text.length > 0);
    assert.equal(shown.answer, expected.text);
    assert.equal(shown.output_tokens, expected.output_tokens);
    assert.equal(shown.ttft_ms, expected.ttft_ms);
    assert.equal(shown.tpot_ms, expected.tpot_ms);
    assert.ok(shown.ttft_ms > 0 && shown.tpot_ms > 0);
    assertClean(page);
    await page.context().close();
  });

  test("does not run by itself with ?autorun=0 or reduced motion", async () => {
    for (const options of [{ query: "?autorun=0" }, { reducedMotion: "reduce" }]) {
      const page = await openPage(browser, site, options);
      const shown = await snapshot(page);
      assert.equal(shown.state, "ready");
      assert.equal(shown.answer, "");
      await page.context().close();
    }
  });

  test("runs another prompt, on another plan and format", async () => {
    const page = await openPage(browser, site, { query: "?autorun=0" });
    const set = { cmd: "set", plan: { tp: 16, pp: 4, dp: 1, lnc: 2 }, max_tokens: 12, timing: false };
    const shown = await command(page, set, { cmd: "prompt", text: "Why is decode memory-bound?" }, { cmd: "run" });
    assert.equal(shown.scenario.prompt, "Why is decode memory-bound?");
    assert.equal(shown.state, "done");
    assert.equal(shown.answer, ask(shown.scenario).text);
    const first = shown.answer;
    const again = await command(page, { cmd: "prompt", text: "Name the links of a torus." }, { cmd: "run" });
    assert.notEqual(again.answer, first);
    assert.equal(again.answer, ask(again.scenario).text);
    assertClean(page);
    await page.context().close();
  });

  test("steps token by token, pauses, and resumes to the same text", async () => {
    const page = await openPage(browser, site);
    const whole = await snapshot(page);
    let shown = await command(page, { cmd: "run", paused: true });
    assert.equal(shown.output_tokens, 0);
    for (let i = 1; i <= 3; ++i) {
      shown = await command(page, { cmd: "step" });
      assert.equal(shown.state, "paused");
      assert.ok(shown.steps === i, `${shown.steps} steps after ${i}`);
    }
    assert.ok(whole.answer.startsWith(shown.answer));
    shown = await command(page, { cmd: "resume" });
    assert.equal(shown.answer, whole.answer);
    await page.context().close();
  });

  test("typing in the prompt types, Ctrl+Enter runs it, and the space bar on the panels runs", async () => {
    const page = await openPage(browser, site, { query: "?autorun=0" });
    const field = page.getByRole("textbox", { name: "Prompt" });
    await field.click();
    await field.fill("");
    await page.keyboard.type("What is HBM?");
    await idle(page);
    let shown = await snapshot(page);
    assert.equal(shown.scenario.prompt, "What is HBM?");
    assert.equal(shown.state, "ready");
    await page.keyboard.press("Control+Enter");
    await idle(page);
    shown = await snapshot(page);
    assert.equal(shown.state, "done");
    assert.equal(shown.answer, ask(shown.scenario).text);
    await command(page, { cmd: "cancel" });
    await page.locator("#canvas").focus();
    await page.keyboard.press("Space");
    await idle(page);
    assert.equal((await snapshot(page)).state, "done");
    await page.context().close();
  });

  test("the playhead shows what the trace holds, at three times", async () => {
    const page = await openPage(browser, site);
    const start = await snapshot(page);
    const times = await chooseTimes(page, start);
    const { query } = ask(start.scenario, "--query-at", times.join(","));
    assert.equal(query.length, 3);
    for (const [i, ps] of times.entries()) {
      const { playhead } = await command(page, { cmd: "seek", ps });
      assert.equal(playhead.at_ps, ps);
      assert.deepEqual(playhead, query[i]);
    }
    // Back and forth gives the same again: nothing was simulated anew.
    const back = await command(page, { cmd: "seek", ps: times[0] });
    assert.deepEqual(back.playhead, query[0]);
    assert.equal(back.page.messages, start.page.messages, "the core was not asked again");
    assert.ok(query.some(({ busy_links }) => busy_links.length > 0), "a link is busy at one of them");
    assert.ok(query.some(({ active_chips }) => active_chips.length > 0), "a chip is active at one of them");
    assertClean(page);
    await page.context().close();
  });

  test("a busy link looks different from an idle one", async () => {
    const page = await openPage(browser, site, { viewport: { width: 1440, height: 900 } });
    const start = await snapshot(page);
    const { busy, quiet } = await findBusyAndQuiet(page, start);
    const link = start.links_screen.find(({ link: id }) => busy.busy_links.includes(id));
    const other = start.links_screen.find(({ link: id }) => !busy.busy_links.includes(id));
    const colour = async (ps, where) => {
      await command(page, { cmd: "seek", ps });
      const image = await pixels(browser, await page.screenshot());
      return brightest(image, where);
    };
    const lit = await colour(busy.at_ps, link);
    const dark = await colour(quiet.at_ps, link);
    assert.ok(distance(lit, dark) > 60, `busy ${lit}, idle ${dark}`);
    if (other) {
      const beside = await colour(busy.at_ps, other);
      assert.ok(distance(lit, beside) > 60, `busy ${lit}, idle at the same time ${beside}`);
    }
    await page.context().close();
  });
});

// One time while the prompt is read, one with traffic and one with work among the tokens.
async function chooseTimes(page, { ttft_ms }) {
  const playheads = await samplePlayheads(page, { from: 0.3, count: 400 });
  const traffic = playheads.find(({ busy_links }) => busy_links.length > 0);
  const work = playheads.findLast(({ active_chips }) => active_chips.length > 0);
  return [Math.floor((ttft_ms * 1e9) / 3), traffic.at_ps, work.at_ps];
}

// Times at which some of the links on the screen are lit, and none.
async function findBusyAndQuiet(page, { links_screen }) {
  const drawn = new Set(links_screen.map(({ link }) => link));
  const lit = ({ busy_links }) => busy_links.some((link) => drawn.has(link));
  const playheads = await samplePlayheads(page, { from: 0.5, count: 400 });
  return { busy: playheads.find(lit), quiet: playheads.find((playhead) => !lit(playhead)) };
}

// The pixel nearest to a link's middle third that stands out most from the background.
function brightest(image, { x0, y0, x1, y1 }) {
  let best = [0, 0, 0];
  for (let t = 0.35; t <= 0.65; t += 0.02) {
    const [x, y] = [Math.round(x0 + (x1 - x0) * t), Math.round(y0 + (y1 - y0) * t)];
    for (let dx = -1; dx <= 1; ++dx) {
      for (let dy = -1; dy <= 1; ++dy) {
        const pixel = image.at(x + dx, y + dy);
        if (sum(pixel) > sum(best)) best = pixel;
      }
    }
  }
  return best;
}
const sum = ([r, g, b]) => r + g + b;
const distance = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));

describe("bad input gets a visible sentence, and the page goes on", () => {
  const cases = [
    ["an empty prompt", [{ cmd: "prompt", text: "" }], "prompt"],
    ["a prompt longer than the context", [{ cmd: "prompt", text: "chip ".repeat(4000) }], "prompt"],
    ["an infeasible plan", [{ cmd: "set", plan: { tp: 7, pp: 1, dp: 1, lnc: 2 } }], "tp"],
    ["an unknown model", [{ cmd: "set", model: "nova-ultra" }], "model"],
  ];
  for (const [name, commands, field] of cases) {
    test(name, async () => {
      const page = await openPage(browser, site);
      const fine = await snapshot(page);
      assert.equal(fine.error, null);
      const clear = await page.screenshot();
      const shown = await command(page, ...commands, { cmd: "run" });
      assert.equal(shown.error.field, field);
      assert.ok(shown.error.message.length > 10 && shown.error.fix.length > 5, JSON.stringify(shown.error));
      assert.match(await page.locator("#alert").textContent(), new RegExp(shown.error.message.slice(0, 20)
        .replace(/[^\w ]/g, ".")));
      assert.notDeepEqual(await page.screenshot(), clear, "the panels show it");
      const after = await command(page, { cmd: "scenario", scenario: fine.scenario }, { cmd: "run" });
      assert.equal(after.error, null);
      assert.equal(after.answer, fine.answer);
      assert.equal(await page.locator("#alert").textContent(), "");
      assertClean(page);
      await page.context().close();
    });
  }

  test("on a phone, over the panels, until it is tapped", async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, query: "?autorun=0" };
    const page = await openPage(browser, site, phone);
    const alert = page.locator("#alert");
    await command(page, { cmd: "prompt", text: "" }, { cmd: "run" });
    const { x, y, width, height } = await alert.boundingBox();
    assert.ok(width > 300 && height > 30 && x >= 0 && y >= 0 && y + height < 844, `${width} x ${height}`);
    await alert.tap();
    assert.equal(await alert.textContent(), "");
    assertClean(page);
    await page.context().close();
  });

  const bodies = [
    ["cut short", (bytes) => bytes.subarray(0, bytes.length >> 1)],
    ["garbled", (bytes) => Buffer.concat([Buffer.alloc(64, 255), bytes.subarray(64)])],
  ];
  for (const [name, change] of bodies) {
    test(`weights that arrive ${name}`, async () => {
      const page = await openPage(browser, site, {
        prepare: (one) => one.context().route("**/model.safetensors", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ body: change(await response.body()) });
        }),
      });
      const { error } = await snapshot(page);
      assert.ok(error.message && error.fix, JSON.stringify(error));
      assert.ok((await page.locator("#alert").textContent()).length > 10);
      await page.context().close();
    });
  }

  test("weights that do not arrive", async () => {
    const page = await openPage(browser, site, {
      prepare: (one) => one.context().route("**/model.safetensors", (route) => route.abort()),
    });
    const { error } = await snapshot(page);
    assert.match(error.message, /model\.safetensors/);
    await page.context().close();
  });
});
