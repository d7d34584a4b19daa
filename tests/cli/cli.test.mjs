// The command line, built natively and as wasm for node: the same bytes, the same complaints, the same
// exit status. Words and times are checked in C++; here it is the program that is tested.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const build = process.env.NOVASCOPE_BUILD ?? join(root, "build");
const native = join(build, "native/novascope");
const wasm = join(build, "web/test/novascope.cjs");
const model = join(root, "assets/models/scope-micro");
const PROMPT = "Which chip holds the second pipeline stage?";
const SMALL = ["generate", "--prompt", PROMPT, "--tp", "4", "--max-tokens", "6"];

let folder;
before(() => {
  for (const program of [native, wasm]) assert.ok(existsSync(program), `${program} is not built`);
  folder = mkdtempSync(join(tmpdir(), "novascope-cli-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function run(program, args) {
  const [command, first] = program === wasm ? [process.execPath, [wasm]] : [native, []];
  const { status, signal, stdout, stderr } = spawnSync(command, [...first, ...args], { cwd: folder });
  assert.equal(signal, null, `ended by ${signal}: ${args.join(" ")}`);
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
}

// Runs both builds and requires equal bytes on both streams.
function both(args) {
  const one = run(native, args);
  const two = run(wasm, args);
  assert.deepEqual(two, one, args.join(" "));
  return one;
}

function result(args) {
  const { status, stdout, stderr } = both([...args, "--json"]);
  assert.equal(stderr, "");
  assert.equal(status, 0);
  return JSON.parse(stdout);
}

// A refusal: one sentence on stderr, the same as JSON on stdout, status 2.
function refusal(args, ask = both) {
  const plain = ask(args);
  assert.equal(plain.status, 2, args.join(" "));
  assert.match(plain.stderr, /^novascope: [^\n]+\n$/);
  const { status, stdout, stderr } = ask([args[0], "--json", ...args.slice(1)]);
  assert.equal(status, 2);
  assert.equal(stderr, plain.stderr);
  const { error } = JSON.parse(stdout);
  assert.deepEqual(Object.keys(error), ["code", "field", "value", "message", "fix"]);
  for (const part of [error.field, error.value, error.message, error.fix]) {
    assert.ok(stderr.includes(part.replaceAll("\n", " ")), `stderr lacks ${JSON.stringify(part)}`);
  }
  assert.notEqual(error.message, "");
  assert.notEqual(error.fix, "");
  return error;
}

describe("generate", () => {
  test("the contract's command", () => {
    const args = ["generate", "--prompt", PROMPT, "--tp", "64", "--pp", "4", "--format", "e4m3"];
    const json = result([...args, "--max-tokens", "8", "--seed", "1"]);
    for (const key of ["model", "plan", "format", "text", "stop_reason", "prompt_tokens", "links", "hbm", "usd"]) {
      assert.ok(key in json, key);
    }
    assert.equal(json.schema, "novascope.generate/1");
    assert.equal(json.seed, 1);
    assert.equal(json.format, "e4m3");
    assert.equal(json.plan.name, "TP64 x PP4");
    assert.equal(json.plan.chips, 64);
    assert.equal(json.plan.neuron_today, false);
    assert.ok(!("wall" in json));
    const bytes = Buffer.from(json.tokens.map((token) => token.bytes).join(""), "hex").toString();
    assert.equal(json.text, bytes);
  });

  test("the model's own plan is the default, and one degree makes the others 1", () => {
    const own = result(["generate", "--prompt", PROMPT, "--max-tokens", "3"]);
    assert.equal(own.plan.name, "TP64 x PP4");
    const four = result(["generate", "--prompt", PROMPT, "--max-tokens", "3", "--tp", "4"]);
    assert.equal(four.plan.name, "TP4");
    assert.equal(result(["generate", "--prompt", PROMPT, "--pp", "2", "--max-tokens", "3"]).plan.tp, 1);
    assert.equal(own.text, four.text);
  });

  test("every flag reaches the scenario", () => {
    const json = result([
      ...SMALL, "--pp", "2", "--dp", "2", "--lnc", "1", "--kv", "bf16", "--weights", "e4m3",
      "--activations", "bf16", "--temperature", "0.8", "--top-p", "0.9", "--top-k", "20", "--seed", "7",
      "--collective", "ring", "--reduce", "f32-in-order", "--kernels", "reference", "--chat",
      "--system-prompt", "Be brief.", "--prefill-chunk", "5", "--list", "nova-lite", "--stop", "[x,y]",
    ]);
    const { tp, pp, dp, lnc, collective, reduce } = json.plan;
    assert.deepEqual([tp, pp, dp, lnc, collective, reduce], [4, 2, 2, 1, "ring", "f32-in-order"]);
    assert.deepEqual(json.formats, { weights: "e4m3", activations: "bf16", kv: "bf16" });
    assert.equal(json.format, "e4m3/bf16");
    assert.match(json.usd_note, /Nova Lite/);
  });

  test("a scenario file, with flags on top", () => {
    const file = join(folder, "scenario.json");
    writeFileSync(file, JSON.stringify({ v: 1, prompt: PROMPT, plan: { tp: 4 }, max_tokens: 3, seed: 9 }));
    const json = result(["generate", "--scenario", file, "--max-tokens", "2"]);
    assert.equal(json.output_tokens, 2);
    assert.equal(json.seed, 9);
    assert.equal(json.plan.tp, 4);
  });

  test("timing shape and comparison of batches", () => {
    const json = result([...SMALL, "--timing-shape", "nova-micro-like", "--timing-batch", "8", "--money"]);
    assert.equal(json.timing.name, "TP64 x DP4");
    assert.equal(json.timing.batch, 8);
    assert.ok(json.money.by_batch.length >= 9);
    assert.equal(json.money.usd_per_mtok.rented, json.usd_per_mtok);
  });

  test("questions to the trace", () => {
    const end = result(SMALL).tokens.at(-1).end_ps;
    const times = [0, Math.floor(end / 3), end - 1, end + 5];
    const { query } = result([...SMALL, "--query-at", times.join(",")]);
    assert.deepEqual(query.map((row) => row.at_ps), times);
    assert.deepEqual(Object.keys(query[0]), [
      "at_ps", "step", "busy_links", "active_chips", "link_bytes", "hbm_bytes",
    ]);
    assert.equal(query[0].step, 0);
    assert.equal(query[3].step, -1);
    assert.ok(query[2].hbm_bytes > query[1].hbm_bytes);
    assert.deepEqual(query[3].busy_links, []);
  });

  test("a Chrome trace, the same from both builds", () => {
    const [one, two] = [native, wasm].map((program, i) => {
      const file = join(folder, `trace${i}.json`);
      assert.equal(run(program, [...SMALL, "--trace", file]).status, 0);
      return readFileSync(file, "utf8");
    });
    assert.equal(one, two);
    assert.ok(JSON.parse(one).traceEvents.length > 100);
  });

  test("text for people", () => {
    const { status, stdout } = both(SMALL);
    assert.equal(status, 0);
    assert.ok(stdout.startsWith(result(SMALL).text));
    assert.match(stdout, /first token after [0-9.]+ ms/);
    assert.ok(!stdout.includes("list price"), "the list price stands beside the toy's own rent");
    assert.match(both([...SMALL, "--timing-shape", "nova-micro-like"]).stdout, /list price: \$0\.0000/);
  });

  test("wall time only where it is asked for", () => {
    const json = JSON.parse(run(native, [...SMALL, "--json", "--wall"]).stdout);
    assert.deepEqual(Object.keys(json.wall), ["load_ms", "generate_ms", "tokens_per_s"]);
    delete json.wall;
    assert.deepEqual(json, result(SMALL));
  });

  test("prompts that look like something else", () => {
    for (const prompt of ["--json", "-1", "[a,b]", "\"quoted\"", "%s\\n", "{\"a\":1}", "\u20ac\u{1f600}\ufffd", "a\nb", " "]) {
      const json = result(["generate", "--tp", "1", "--max-tokens", "1", `--prompt=${prompt}`]);
      assert.ok(json.prompt_tokens >= 2, prompt);
    }
    assert.equal(result(["generate", "--tp", "1", "--max-tokens", "1", "--prompt", "-x y"]).output_tokens, 1);
  });

  test("a model folder of one's own", () => {
    const json = result([...SMALL, "--model-dir", model]);
    assert.deepEqual(json, result(SMALL));
    const mine = result(["generate", "--prompt", PROMPT, "--max-tokens", "2", "--model-dir", model, "--model", "mine"]);
    assert.equal(mine.model, "mine");
    assert.equal(mine.plan.name, "TP1"); // a foreign model: one core
  });
});

describe("bad input", () => {
  const cases = [
    [["--prompt", ""], "prompt", "", "input"],
    [["--model", "nova-pro"], "model", "nova-pro", "unknown_id"],
    [["--model", "llama-3.1-405b"], "model", "llama-3.1-405b", "input"],
    [["--system", "trn9"], "system", "trn9", "unknown_id"],
    [["--tp", "48"], "tp", "48", "infeasible"],
    [["--tp", "0"], "tp", "0", "input"],
    [["--tp", "-4"], "tp", "-4", "input"],
    [["--tp", "4.5"], "tp", "4.5", "input"],
    [["--tp", "four"], "tp", "four", "input"],
    [["--tp", ""], "tp", "", "input"],
    [["--tp", "99999999999999999999999"], "tp", "99999999999999999999999", "input"],
    [["--tp", "64", "--pp", "3"], "pp", "3", "infeasible"],
    [["--dp", "2"], "tp x pp x dp", "512", "infeasible"],
    [["--lnc", "3"], "lnc", "3", "input"],
    [["--format", "e4m4"], "weights", "e4m4", "unknown_id"],
    [["--kv", "fp32"], "kv", "fp32", "input"],
    [["--collective", "star"], "collective", "star", "unknown_id"],
    [["--reduce", "bf16"], "reduce", "bf16", "unknown_id"],
    [["--temperature", "9"], "temperature", "9", "input"],
    [["--temperature", "nan"], "temperature", "nan", "input"],
    [["--top-p", "0"], "top_p", "0", "input"],
    [["--max-tokens", "0"], "max_tokens", "0", "input"],
    [["--seed", "-1"], "seed", "-1", "input"],
    [["--seed", "18446744073709551616"], "seed", "18446744073709551616", "input"],
    [["--prefill-chunk", "0"], "prefill_chunk", "0", "input"],
    [["--timing-shape", "gpt"], "timing.shape", "gpt", "unknown_id"],
    [["--timing-shape", "llama-3.1-405b", "--timing-tp", "4", "--timing-dp", "1"], "timing.plan", null, "out_of_memory"],
    [["--prompt", "a ".repeat(3000)], "prompt", null, "too_long"],
    [["--system-prompt", "x"], "system_prompt", "x", "input"],
    [["--rent", "gold"], "rent", "gold", "unknown_id"],
    [["--list", "gold"], "list", "gold", "unknown_id"],
    [["--query-at", "1,x"], "query_at", "x", "input"],
    [["--query-at", "1,"], "query_at", "", "input"],
    [["--scenario", "/nowhere.json"], "scenario", "/nowhere.json", "bad_file"],
    [["--model-dir", "/nowhere"], "config.json", "/nowhere/config.json", "bad_file"],
    [["--trace", "/nowhere/trace.json"], "trace", "/nowhere/trace.json", "input"],
    [["--fly"], "fly", "", "input"],
    [["--tp"], "tp", "", "input"],
    [["--tp", "4", "--tp", "8"], "tp", "", "input"],
  ];
  for (const [flags, field, value, code] of cases) {
    test(flags.join(" ").slice(0, 60), () => {
      const base = flags.includes("--prompt") ? ["generate"] : ["generate", "--prompt", "a"];
      const error = refusal([...base, ...flags]);
      assert.equal(error.field, field);
      if (value !== null) assert.equal(error.value, value);
      assert.equal(error.code, code);
    });
  }

  test("kernel rows differ between builds, and each names its own", () => {
    for (const program of [native, wasm]) {
      const error = refusal(["generate", "--prompt", "a", "--kernels", "gpu"], (args) => run(program, args));
      assert.equal(error.code, "unknown_id");
      assert.match(error.fix, /reference, simd128/);
    }
  });

  test("feasible degrees are named", () => {
    assert.match(refusal(["generate", "--prompt", "a", "--tp", "48"]).fix, /1, 2, 4.*64/);
  });

  test("no prompt, no command, an unknown table", () => {
    assert.equal(refusal(["generate"]).field, "prompt");
    assert.equal(both([]).status, 2);
    assert.equal(both(["fly"]).status, 2);
    assert.equal(refusal(["list", "birds"]).value, "birds");
  });

  test("bytes that are not UTF-8", () => {
    // Only a shell can pass them on.
    for (const program of [`"${native}"`, `"${process.execPath}" "${wasm}"`]) {
      const line = `${program} generate --json --prompt "$(printf 'caf\\351 au lait')"`;
      const { status, stdout } = spawnSync("sh", ["-c", line]);
      assert.equal(status, 2);
      const { error } = JSON.parse(stdout);
      assert.equal(error.field, "prompt");
      assert.equal(error.value, "caf\\xe9 au lait");
      assert.match(error.message, /byte 3 /);
    }
  });

  test("scenario files that are not scenarios", () => {
    const file = join(folder, "bad.json");
    for (const [text, field] of [
      ["{", "scenario"], ["[]", "scenario"], ["{\"prompt\":1}", "prompt"], ["{\"promt\":\"a\"}", "promt"],
      ["{\"v\":2,\"prompt\":\"a\"}", "v"], ["{\"plan\":3}", "plan"], [Buffer.from([0x22, 0xff, 0x22]), "scenario"],
      ["{\"prompt\":\"a\",\"formats\":{\"kv\":true}}", "kv"], ["[".repeat(100000), "scenario"],
    ]) {
      writeFileSync(file, text);
      assert.equal(refusal(["generate", "--scenario", file]).field, field, String(text).slice(0, 40));
    }
  });

  test("model files that are cut, damaged or mixed up", () => {
    const dir = mkdtempSync(join(folder, "model-"));
    const names = ["config.json", "tokenizer.json", "model.safetensors"];
    const fresh = () => names.forEach((name) => copyFileSync(join(model, name), join(dir, name)));
    const refused = () => refusal(["generate", "--prompt", "a", "--model-dir", dir]);
    for (const name of names) {
      const whole = readFileSync(join(model, name));
      for (const bytes of [whole.subarray(0, 0), whole.subarray(0, 5), whole.subarray(0, whole.length - 4)]) {
        fresh();
        writeFileSync(join(dir, name), bytes);
        const error = refused();
        assert.equal(error.code, "bad_file");
        assert.ok(error.field.startsWith(name), `${error.field} for ${name}`);
      }
      rmSync(join(dir, name));
      assert.equal(refused().field, name);
    }
    // A header that promises more than there is, and one that is longer than the file.
    fresh();
    const weights = readFileSync(join(model, "model.safetensors"));
    weights.writeBigUInt64LE(2n ** 60n, 0);
    writeFileSync(join(dir, "model.safetensors"), weights);
    assert.equal(refused().code, "bad_file");
  });
});

describe("list and help", () => {
  test("every table", () => {
    assert.match(run(wasm, ["list", "kernels"]).stdout, /^reference: /);
    for (const table of ["models", "systems", "formats", "collectives", "prices", "sources"]) {
      const text = both(["list", table]);
      assert.equal(text.status, 0);
      assert.ok(text.stdout.split("\n").length > 1, table);
      assert.ok(JSON.parse(both(["list", table, "--json"]).stdout)[table], table);
    }
    assert.match(both(["list", "models"]).stdout, /^scope-micro: /);
  });

  test("version and help", () => {
    assert.match(both(["--version"]).stdout, /^novascope \d+\.\d+\.\d+\n$/);
    assert.match(both(["--help"]).stdout, /generate/);
    const help = both(["generate", "--help"]);
    assert.equal(help.status, 0);
    for (const flag of ["--tp", "--pp", "--dp", "--lnc", "--kv", "--temperature", "--trace", "--json"]) {
      assert.ok(help.stdout.includes(flag), flag);
    }
  });

  test("the program needs no folder of its own", () => {
    const out = execFileSync(native, ["list", "kernels"], { cwd: "/" }).toString();
    assert.match(out, /reference/);
  });
});
