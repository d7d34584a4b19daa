// The JavaScript API in node: no DOM, no Worker. Small scenarios on the model itself.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { cli, dist } from "./harness.mjs";

const api = await import(pathToFileURL(join(dist, "js/core.js")).href);
const { createSession, fetchModel, NovascopeError, packMessage, unpackMessage } = api;

const PROMPT = "Which chip of the UltraServer holds the second pipeline stage?";
const scenario = (changes = {}) => ({ v: 1, prompt: PROMPT, max_tokens: 12, ...changes });

let model;
const sessions = [];
async function open(options) {
  const session = await createSession(options);
  sessions.push(session);
  await session.load(model);
  return session;
}
before(async () => {
  model = await fetchModel();
});
afterEach(() => sessions.splice(0).forEach((session) => session.dispose()));

describe("core in node", () => {
  test("there is no DOM and no Worker here", () => {
    assert.equal(typeof document, "undefined");
    assert.equal(typeof Worker, "undefined");
  });

  test("says what it knows and what it has loaded", async () => {
    const session = await createSession();
    sessions.push(session);
    assert.equal(session.info.v, 1);
    for (const list of ["kernels", "models", "systems", "formats", "collectives"]) {
      assert.ok(session.info[list].length > 0, list);
    }
    const loaded = await session.load(model);
    assert.equal(loaded.model.id, "scope-micro");
    assert.ok(loaded.model.params > 0);
  });

  test("runs a scenario: plan, templates, steps, result, in order", async () => {
    const session = await open();
    const run = session.run(scenario());
    const events = [];
    for await (const event of run) events.push(event);
    const result = await run;
    assert.equal(events[0].ev, "plan");
    assert.equal(events.at(-1).ev, "done");
    const templates = new Set();
    let text = "";
    let end = 0;
    for (const event of events) {
      if (event.ev === "template") {
        assert.ok(event.payload.length > 0);
        templates.add(event.index);
      }
      if (event.ev !== "step") continue;
      assert.ok(templates.has(event.template), "a template comes before the steps that point to it");
      assert.ok(event.start_ps >= end && event.end_ps > event.start_ps, "steps do not overlap");
      const { compute, hbm, network, wait } = event.split_ps;
      assert.equal(compute + hbm + network + wait, event.end_ps - event.start_ps);
      assert.ok(event.wall_ms >= 0, "the page's clock is added here");
      end = event.end_ps;
      text += event.token?.text ?? "";
    }
    assert.equal(result.schema, "novascope.generate/1");
    assert.equal(result.text, text);
    assert.equal(result.output_tokens, result.tokens.length);
    assert.ok(result.output_tokens > 0 && result.output_tokens <= 12);
  });

  test("prints what the native command line prints, for the same scenario", async () => {
    const folder = await mkdtemp(join(tmpdir(), "novascope-"));
    const session = await open();
    const variants = [
      scenario(),
      scenario({ plan: { tp: 64, pp: 4, dp: 1, lnc: 2 }, max_tokens: 8 }),
      scenario({ timing: { shape: "nova-micro-like", tp: 64, pp: 1, dp: 4, lnc: 2, batch: 32 } }),
      scenario({ temperature: 0.8, top_k: 40, top_p: 0.9, seed: 7 }),
    ];
    for (const [i, one] of variants.entries()) {
      const file = join(folder, `${i}.json`);
      writeFileSync(file, JSON.stringify(one));
      assert.deepEqual(await session.run(one), cli("generate", "--scenario", file, "--json"));
    }
    await rm(folder, { recursive: true });
  });

  test("two sessions side by side do not touch each other", async () => {
    const alone = await open();
    const a = scenario({ prompt: "Explain the all-reduce.", max_tokens: 16 });
    const b = scenario({ prompt: "What does a token cost?", max_tokens: 16, temperature: 0.7, seed: 3 });
    const expected = [await alone.run(a), await alone.run(b)];
    const [one, two] = [await open(), await open()];
    const order = [];
    one.on("step", () => order.push(1));
    two.on("step", () => order.push(2));
    assert.deepEqual(await Promise.all([one.run(a), two.run(b)]), expected);
    const changes = order.filter((who, i) => i > 0 && who !== order[i - 1]).length;
    assert.ok(changes > 1, `the two took turns: ${order.join("")}`);
  });

  test("pauses, steps and goes on to the same result", async () => {
    const session = await open();
    const whole = await session.run(scenario());
    const run = session.run(scenario(), { paused: true });
    let steps = 0;
    session.on("step", () => (steps += 1));
    const settle = async () => {
      do await new Promise((resolve) => setTimeout(resolve, 5));
      while (session.busy);
    };
    await settle();
    assert.equal(steps, 0, "a paused run computes nothing");
    for (const expected of [1, 2, 3]) {
      session.step();
      await settle();
      assert.equal(steps, expected);
    }
    session.resume();
    session.pause();
    await settle();
    const held = steps;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(steps, held);
    session.resume();
    assert.deepEqual(await run, whole);
  });

  test("cancel ends a run at once; the next one is whole", async () => {
    const session = await open();
    const whole = await session.run(scenario());
    const run = session.run(scenario({ max_tokens: 400 }));
    session.cancel();
    await assert.rejects(run.done, (error) => error.code === "cancelled");
    const first = session.run(scenario({ max_tokens: 400 }));
    const second = session.run(scenario());
    await assert.rejects(first.done, (error) => error.code === "cancelled");
    assert.deepEqual(await second, whole);
  });

  test("reads weights that the caller keeps", async () => {
    const copy = Buffer.from(model.weights);
    const session = await open();
    await session.load(model);
    assert.ok(copy.equals(model.weights));
  });
});

describe("bad input is refused in a sentence with field, value and fix", () => {
  const refused = (field) => (error) => {
    assert.ok(error instanceof NovascopeError, String(error));
    assert.equal(error.field, field);
    assert.ok(error.code && error.fix && error.message.length > 10, JSON.stringify(error));
    return true;
  };
  const cases = [
    ["an empty prompt", { prompt: "" }, "prompt"],
    ["an unknown model", { model: "nova-ultra" }, "model"],
    ["an infeasible plan", { plan: { tp: 7, pp: 1, dp: 1, lnc: 2 } }, "tp"],
    ["an unknown key", { promt: "x" }, "promt"],
    ["a version from the future", { v: 99 }, "v"],
    ["a temperature below zero", { temperature: -1 }, "temperature"],
  ];
  for (const [name, changes, field] of cases) {
    test(`${name}, when asked and when run`, async () => {
      const session = await open();
      await assert.rejects(session.validate(scenario(changes)), refused(field));
      await assert.rejects(session.run(scenario(changes)).done, refused(field));
      assert.equal((await session.run(scenario())).schema, "novascope.generate/1", "it goes on");
    });
  }

  test("a prompt longer than the context", async () => {
    const session = await open();
    const long = scenario({ prompt: "chip ".repeat(4000) });
    await assert.rejects(session.run(long).done, refused("prompt"));
  });

  test("weights that are cut short, garbled or missing", async () => {
    const session = await createSession();
    sessions.push(session);
    await assert.rejects(session.run(scenario()).done, NovascopeError);
    const cut = { ...model, weights: model.weights.slice(0, model.weights.length >> 1) };
    const garbled = { ...model, weights: Uint8Array.from(model.weights, (byte, i) => (i < 64 ? 255 : byte)) };
    const empty = { ...model, weights: new Uint8Array(0) };
    const wrong = { ...model, config: new TextEncoder().encode("{") };
    for (const files of [cut, garbled, empty, wrong]) {
      await assert.rejects(session.load(files), (error) => {
        assert.ok(error instanceof NovascopeError && error.fix, String(error));
        return true;
      });
    }
    await session.load(model);
    assert.equal((await session.run(scenario())).schema, "novascope.generate/1");
  });

  test("messages that are not messages", async () => {
    const session = await open();
    const errors = [];
    session.on("error", (event) => errors.push(event.error));
    const bad = [
      new Uint8Array(0),
      new Uint8Array([1, 2]),
      new Uint8Array([255, 255, 255, 255, 123]),
      new Uint8Array([1, 0, 0, 0, 123]),
      packMessage({ v: 1, cmd: "fly" }),
      packMessage({ v: 9, cmd: "hello" }),
      packMessage({ v: 1, cmd: "load", config: 1e15, tokenizer: -1, weights: 4 }),
    ];
    for (const bytes of bad) session.post(bytes);
    assert.equal((await session.run(scenario())).schema, "novascope.generate/1");
    assert.equal(errors.length, bad.length);
    for (const error of errors) assert.ok(error.message && error.fix, JSON.stringify(error));
  });

  test("a closed session says so", async () => {
    const session = await createSession();
    session.dispose();
    assert.throws(() => session.run(scenario()), (error) => error.code === "closed");
    session.dispose();
  });

  test("a core that is not there, and a browser without SIMD", async () => {
    const baseUrl = "file:///no/such/folder/";
    await assert.rejects(createSession({ baseUrl }));
    await assert.rejects(createSession({ variant: "" }), (error) => error.code === "unsupported");
  });
});

describe("messages", () => {
  test("pack and unpack to the same", () => {
    const payload = new Uint8Array([1, 2, 3]);
    const { payload: back, ...object } = unpackMessage(packMessage({ text: "µ" }, payload, payload));
    assert.deepEqual(object, { text: "µ" });
    assert.deepEqual([...back], [1, 2, 3, 1, 2, 3]);
    assert.equal(unpackMessage(packMessage({})).payload, undefined);
    assert.throws(() => unpackMessage(new Uint8Array(3)), /shorter/);
    assert.throws(() => unpackMessage(new Uint8Array([9, 0, 0, 0, 123])), /announces 9/);
  });
});
