// The app module (panels and 3D view) seen from JavaScript: strings and messages go through its memory.

import { loadModule } from "./fetch.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class AppView {
  #module;

  constructor(module) {
    this.#module = module;
  }

  /** hooks: onCommand(bytes), requestFrame(). */
  static async load(baseUrl, canvas, hooks, onProgress) {
    return new AppView(await loadModule(baseUrl, "app", { canvas, ...hooks }, onProgress));
  }

  init(ratio) {
    return this.#module._app_init(ratio);
  }

  resize(cssWidth, cssHeight, ratio) {
    this.#module._app_resize(cssWidth, cssHeight, ratio);
  }

  frame(time) {
    return this.#module._app_frame(time) !== 0;
  }

  message(bytes) {
    this.#passing(bytes, (address) => this.#module._app_message(address, bytes.length));
  }

  command(object) {
    const bytes = encoder.encode(`${JSON.stringify(object)}\0`);
    this.#passing(bytes, (address) => this.#module._app_command(address));
  }

  snapshot() {
    const address = this.#module._app_snapshot();
    const end = this.#module.HEAPU8.indexOf(0, address);
    return JSON.parse(decoder.decode(this.#module.HEAPU8.subarray(address, end)));
  }

  #passing(bytes, call) {
    const address = this.#module._malloc(bytes.length);
    try {
      this.#module.HEAPU8.set(bytes, address); // after malloc: growing the memory detaches older views
      call(address);
    } finally {
      this.#module._free(address);
    }
  }
}
