// Novascope's JavaScript API. One function, the same in a page (the core runs in a Worker) and in node
// (the core runs beside its caller; no DOM needed):
//
//   import { createSession, fetchModel } from "./js/core.js";
//   const session = await createSession();
//   await session.load(await fetchModel());
//   const run = session.run({ v: 1, prompt: "What is an UltraServer?", max_tokens: 32 });
//   for await (const event of run) if (event.ev === "step") console.log(event.token?.text);
//   console.log((await run).text);
//   session.dispose();
//
// A scenario is plain JSON (src/session/scenario.h), events are those of src/session/session.h. Sessions
// share nothing: any number run side by side. Refused input rejects with a NovascopeError that has code,
// field, value, message and fix.

import { CoreDriver } from "./core-driver.js";
import { pickVariant } from "./features.js";
import { fetchBytes, loadModule } from "./fetch.js";
import { NovascopeError, PROTOCOL_VERSION, packMessage, unpackMessage } from "./protocol.js";

export { hasRelaxedSimd, hasSimd, hasWebGl2, pickVariant, VARIANT_LABELS } from "./features.js";
export { NovascopeError, packMessage, unpackMessage } from "./protocol.js";

const SITE = new URL("../", import.meta.url).href;
export const DEFAULT_MODEL = "scope-micro";

/**
 * Reads a model's three files: {config, tokenizer, weights} as bytes, ready for Session.load.
 * onProgress(loaded, total) counts all three together.
 */
export async function fetchModel({ id = DEFAULT_MODEL, baseUrl = SITE, onProgress } = {}) {
  const folder = new URL(`assets/models/${id}/`, baseUrl);
  const names = ["config.json", "tokenizer.json", "model.safetensors"];
  const seen = names.map(() => [0, 0]);
  const files = names.map((name, i) =>
    fetchBytes(new URL(name, folder).href, (...counts) => {
      seen[i] = counts;
      const [loaded, total] = seen.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
      onProgress?.(loaded, total);
    }),
  );
  const [config, tokenizer, weights] = await Promise.all(files);
  return { config, tokenizer, weights };
}

// Modules without a Worker are loaded once and hold any number of sessions. One that failed is forgotten,
// so that a later session gets a sound one.
const inProcess = new Map();

// A transport has send(bytes, tag) and dispose(), and calls deliver(batch, status).
async function openInProcess(baseUrl, variant, progress, deliver) {
  const key = `${baseUrl} ${variant}`;
  const forget = () => inProcess.delete(key);
  if (!inProcess.has(key)) inProcess.set(key, loadModule(baseUrl, variant, {}, progress));
  inProcess.get(key).catch(forget);
  const driver = new CoreDriver(await inProcess.get(key), deliver, forget);
  return {
    send: (bytes, tag) => driver.command(bytes, tag),
    dispose: () => driver.dispose(),
  };
}

function openWorker(baseUrl, variant, progress, deliver) {
  const worker = new Worker(new URL("./core-worker.js", import.meta.url), { type: "module" });
  const transport = {
    // The bytes are copied, not transferred: callers keep their own buffers.
    send: (bytes, tag) => worker.postMessage({ type: "command", bytes, tag }),
    dispose: () => worker.terminate(),
  };
  return new Promise((resolve, reject) => {
    const fail = (message) => {
      worker.terminate();
      reject(new NovascopeError({ code: "load", field: "core", message }));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      fail(`The core's Worker could not start: ${event.message ?? "its script did not load"}.`);
    };
    worker.onmessage = ({ data }) => {
      if (data.type === "progress") progress(data.loaded, data.total);
      if (data.type === "events") deliver(data.batch, data.status);
      if (data.type === "ready") resolve(transport);
      if (data.type === "failed") fail(`The core could not be loaded: ${data.message}.`);
    };
    worker.postMessage({ type: "open", baseUrl, variant });
  });
}

/** One run: `await run` gives its result, `for await (const event of run)` its events. */
class Run {
  #events = [];
  #waiting = null;
  #ended = false;
  #settle;

  constructor(tag) {
    this.tag = tag;
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.done.catch(() => {}); // a caller may only read the events
  }

  then(onDone, onError) {
    return this.done.then(onDone, onError);
  }

  take(event) {
    this.#events.push(event);
    if (event.ev === "done") this.#end("resolve", event.result);
    if (event.ev === "error") this.#end("reject", new NovascopeError(event.error));
    this.#wake();
  }

  abandon(why) {
    this.#end("reject", new NovascopeError({ code: "cancelled", field: "run", message: why }));
    this.#wake();
  }

  get ended() {
    return this.#ended;
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#events.length > 0) yield this.#events.shift();
      if (this.#ended) break;
      await new Promise((resolve) => {
        this.#waiting = resolve;
      });
    }
    await this.done; // a refused or cancelled run ends the loop with its error
  }

  #end(how, value) {
    if (this.#ended) return;
    this.#ended = true;
    this.#settle[how](value);
  }

  #wake() {
    this.#waiting?.();
    this.#waiting = null;
  }
}

class Session {
  #transport = null;
  #listeners = new Map();
  #tag = 0;
  #run = null;
  #replies = []; // commands that wait for an answer: {tag, event, resolve, reject}
  #status = { tag: 0, working: false };
  #wallMs = 0;
  #disposed = false;

  constructor(variant) {
    /** Which core runs: "core" or "core-relaxed". The results are the same. */
    this.variant = variant;
    /** What the core knows: models, systems, formats, prices, kernels (the `hello` event). */
    this.info = null;
  }

  /** Internal: createSession connects the session to its core. */
  async connect(open) {
    this.#transport = await open((batch, status) => {
      this.#status = status; // first: listeners may ask
      for (const message of batch) this.#receive(message);
    });
    this.info = await this.#ask({ cmd: "hello" }, "hello");
    if (this.info.v !== PROTOCOL_VERSION) {
      const message = `The core speaks protocol ${this.info.v}, this page ${PROTOCOL_VERSION}.`;
      throw new NovascopeError({ code: "version", field: "v", message, fix: "Reload the page." });
    }
    return this;
  }

  /** Loads a model from its files' bytes; resolves to the `loaded` event. */
  load({ config, tokenizer, weights }) {
    const files = [config, tokenizer, weights].map((file) =>
      file instanceof Uint8Array ? file : new Uint8Array(file),
    );
    const sizes = files.map((file) => file.length);
    const command = { cmd: "load", config: sizes[0], tokenizer: sizes[1], weights: sizes[2] };
    return this.#ask(command, "loaded", files);
  }

  /** Starts a scenario over; a run before it is abandoned. */
  run(scenario, { paused = false } = {}) {
    this.#run?.abandon("Another run has started.");
    const run = new Run(this.#tag + 1);
    this.#run = run; // may be over when #send returns: without a Worker the core answers at once
    this.#send({ cmd: "run", scenario, paused });
    return run;
  }

  pause() {
    this.#send({ cmd: "pause" });
  }

  resume() {
    this.#send({ cmd: "resume" });
  }

  /** One model step (a prefill chunk or a token), then pauses. */
  step() {
    this.#send({ cmd: "step" });
  }

  cancel() {
    this.#run?.abandon("The run was cancelled.");
    this.#run = null;
    this.#send({ cmd: "cancel" });
  }

  /** Resolves where the scenario can run, rejects with what to change where it cannot. */
  validate(scenario) {
    return this.#ask({ cmd: "validate", scenario }, "valid");
  }

  /** Whether a command is on its way or work is waiting in the core. */
  get busy() {
    return !this.#disposed && (this.#status.tag < this.#tag || this.#status.working);
  }

  /** Sends a packed message as it is; its answers come as events. */
  post(bytes) {
    this.#tag += 1;
    this.#transport.send(bytes, this.#tag);
  }

  /**
   * Calls fn(event) for an event's name, "*" for all of them, or fn(bytes) for "message", the packed
   * form. `step` events carry wall_ms, the core's real time for that step in this browser; it is not part
   * of the message. Returns a function that ends the subscription.
   */
  on(name, fn) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(fn);
    return () => this.#listeners.get(name).delete(fn);
  }

  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#run?.abandon("The session was closed.");
    for (const reply of this.#replies.splice(0)) {
      reply.reject(new NovascopeError({ code: "closed", message: "The session was closed." }));
    }
    this.#transport?.dispose();
    this.#listeners.clear();
  }

  #send(command, payload = []) {
    if (this.#disposed) throw new NovascopeError({ code: "closed", message: "The session is closed." });
    this.post(packMessage({ v: PROTOCOL_VERSION, ...command }, ...payload));
  }

  #ask(command, event, payload) {
    return new Promise((resolve, reject) => {
      this.#replies.push({ tag: this.#tag + 1, event, resolve, reject });
      this.#send(command, payload);
    });
  }

  #receive({ bytes, tag, reply, wallMs }) {
    if (this.#disposed) return;
    const event = unpackMessage(bytes);
    this.#wallMs += wallMs;
    if (event.ev === "step") {
      event.wall_ms = this.#wallMs;
      this.#wallMs = 0;
    } else if (event.ev === "plan") {
      this.#wallMs = 0; // what came before belongs to no step
    }
    if (!this.#answer(event, tag, reply)) this.#route(event, tag);
    for (const [name, value] of [["message", bytes], [event.ev, event], ["*", event]]) {
      for (const fn of this.#listeners.get(name) ?? []) {
        try {
          fn(value);
        } catch (error) {
          // A listener's mistake is its own: the others still hear the event.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    }
  }

  // An error answers the command it came out of; a late one, the oldest question still open.
  #answer(event, tag, reply) {
    const index = this.#replies.findIndex(
      (waiting) =>
        event.ev === waiting.event || (event.ev === "error" && reply && tag === waiting.tag),
    );
    if (index < 0) return false;
    const [waiting] = this.#replies.splice(index, 1);
    if (event.ev === "error") waiting.reject(new NovascopeError(event.error));
    else waiting.resolve(event);
    return true;
  }

  #route(event, tag) {
    if (event.ev === "error" && event.error.code === "internal") {
      for (const reply of this.#replies.splice(0)) reply.reject(new NovascopeError(event.error));
    }
    // Messages of a run before this one may still be on their way; their tags are older.
    if (!this.#run || tag < this.#run.tag) return;
    this.#run.take(event);
    if (this.#run.ended) this.#run = null;
  }
}

/**
 * Opens a session.
 *   worker      run the core in a Worker of its own; default: where Workers exist
 *   baseUrl     where core.js and core.wasm are; default: the folder above this file
 *   variant     "core" or "core-relaxed"; default: by feature test
 *   onProgress  onProgress(loaded, total): bytes of the core
 */
export async function createSession({
  worker = typeof Worker === "function",
  baseUrl = SITE,
  variant = pickVariant(),
  onProgress = () => {},
} = {}) {
  if (!variant) {
    throw new NovascopeError({
      code: "unsupported",
      field: "browser",
      message: "Novascope needs WebAssembly SIMD, which this browser does not have.",
      fix: "Use a current Chrome, Edge, Firefox or Safari 16.4 or later.",
    });
  }
  const open = worker ? openWorker : openInProcess;
  const session = new Session(variant);
  try {
    return await session.connect((deliver) => open(baseUrl, variant, onProgress, deliver));
  } catch (error) {
    session.dispose();
    throw error;
  }
}
