// Drives one session of a core module: hands it commands, steps it in short slices so that the next
// command is never far away, and delivers its events in order. Runs inside the Worker or, without one,
// beside its caller. The core has no clock: the slices and the wall time live here.

import { packError } from "./protocol.js";

const SLICE_MS = 8; // longest time between two looks at the command queue
const CALL_MS = 2; // one call into the core aims at this, so that a slice ends on time
const MAX_UNITS = 64; // units differ in cost: cheap ones must not buy a long call on dear ones

// Yields to pending commands. MessageChannel where there is one to itself (setTimeout is held to 4 ms
// in browsers), setImmediate in node (a MessageChannel would keep the process alive).
function makeYield(callback) {
  if (typeof setImmediate === "function") return { post: () => setImmediate(callback), close() {} };
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = callback;
  return { post: () => port2.postMessage(0), close: () => port1.close() };
}

export class CoreDriver {
  #module;
  #handle;
  #deliver;
  #onTrap;
  #yield;
  #scheduled = false;
  #working = false;
  #dead = false;
  #units = 8;
  #tag = 0;
  #busyMs = 0;

  /**
   * deliver(batch, {tag, working}) is called after every command, whenever events wait, and when the work
   * ends. batch is [{bytes, tag, reply, wallMs}], messages in order: `tag` is that of the last command
   * taken, `reply` whether the message came out of that command itself, `wallMs` its share of the time
   * spent inside the core; shares add up, so a step's time is the sum since the step before. onTrap() is
   * called where the module is lost.
   */
  constructor(module, deliver, onTrap = () => {}) {
    this.#module = module;
    this.#deliver = deliver;
    this.#onTrap = onTrap;
    this.#handle = module._ns_session_create();
    this.#yield = makeYield(() => {
      this.#scheduled = false;
      this.#slice();
    });
  }

  command(bytes, tag) {
    this.#tag = tag;
    if (this.#dead) {
      this.#fail(packError("internal", "The core has stopped.", "Reload the page to start again."));
      return;
    }
    if (!this.#timed(() => this.#take(bytes))) return;
    this.#working = true;
    this.#wake();
    this.#flush(true);
  }

  dispose() {
    if (!this.#dead) this.#timed(() => this.#module._ns_session_destroy(this.#handle) ?? true);
    this.#dead = true;
    this.#yield.close();
  }

  #take(bytes) {
    const address = this.#module._ns_alloc(bytes.length);
    if (!address) throw new Error(`no memory for a message of ${bytes.length} bytes`);
    this.#module.HEAPU8.set(bytes, address); // after ns_alloc: growing the memory detaches older views
    this.#module._ns_session_command(this.#handle, address, bytes.length);
    this.#module._ns_free(address);
    return true;
  }

  #slice() {
    const end = performance.now() + SLICE_MS;
    while (!this.#dead) {
      const busyBefore = this.#busyMs;
      this.#timed(() => {
        this.#working = Boolean(this.#module._ns_session_step(this.#handle, this.#units));
      });
      if (this.#dead) return;
      const took = this.#busyMs - busyBefore;
      if (took > CALL_MS) this.#units = Math.max(1, Math.floor((this.#units * CALL_MS) / took));
      else if (took < CALL_MS / 2) this.#units = Math.min(this.#units * 2, MAX_UNITS);
      this.#flush(false);
      if (!this.#working) return;
      if (performance.now() >= end) break;
    }
    this.#wake();
  }

  #wake() {
    if (this.#scheduled || this.#dead) return;
    this.#scheduled = true;
    this.#yield.post();
  }

  #flush(reply) {
    const batch = [];
    for (;;) {
      const size = this.#module._ns_session_poll(this.#handle);
      if (size === 0) break;
      const address = this.#module._ns_session_message(this.#handle);
      const bytes = this.#module.HEAPU8.slice(address, address + size);
      batch.push({ bytes, tag: this.#tag, reply, wallMs: 0 });
    }
    for (const message of batch) message.wallMs = this.#busyMs / batch.length;
    if (batch.length > 0) this.#busyMs = 0;
    if (batch.length > 0 || reply || !this.#working) {
      this.#deliver(batch, { tag: this.#tag, working: this.#working });
    }
  }

  // Calls into the core. A trap (memory exhausted, a broken invariant) ends the session with a sentence,
  // not the page.
  #timed(body) {
    const start = performance.now();
    try {
      return body();
    } catch (error) {
      this.#dead = true;
      this.#onTrap();
      const message = `The core has stopped (${error.message}).`;
      this.#fail(packError("internal", message, "Reload the page to start again."));
      return false;
    } finally {
      this.#busyMs += performance.now() - start;
    }
  }

  #fail(bytes) {
    this.#working = false;
    const message = { bytes, tag: this.#tag, reply: true, wallMs: 0 };
    this.#deliver([message], { tag: this.#tag, working: false });
  }
}
