// The canvas: its size in device pixels, and when it is drawn. Nothing is drawn unless something asked
// for a frame.

const ACTIVE_MS = 400; // after input, frames come at the display's own rate
const CALM_MS = 1000 / 30; // otherwise 30 Hz leaves the processor to the core

const devicePixels = (scaled, counted) =>
  counted !== undefined && Math.abs(counted - scaled) <= 1 ? counted : Math.round(scaled);

export class Stage {
  #canvas;
  #draw;
  #resized;
  #frame = 0;
  #timer = 0;
  #lastInput = -Infinity;
  #lastFrame = -Infinity;
  #width = 0;
  #height = 0;

  frames = 0;

  /** draw(time) -> whether another frame is wanted; resized(cssWidth, cssHeight, ratio). */
  constructor(canvas, { draw, resized }) {
    this.#canvas = canvas;
    this.#draw = draw;
    this.#resized = resized;
  }

  start() {
    this.#watchSize();
    const input = ["pointerdown", "pointermove", "pointerup", "wheel", "keydown", "keyup", "focusin"];
    for (const name of input) {
      addEventListener(name, () => (this.#lastInput = performance.now()), { capture: true, passive: true });
    }
  }

  get waiting() {
    return this.#frame !== 0 || this.#timer !== 0;
  }

  /** Asks for a frame. Frames that no input has caused are held to 30 Hz. */
  request() {
    const now = performance.now();
    const rest = this.#lastFrame + CALM_MS - now;
    if (this.#frame) return;
    if (now - this.#lastInput < ACTIVE_MS || rest <= 0) {
      clearTimeout(this.#timer);
      this.#timer = 0;
      this.#frame = requestAnimationFrame((time) => this.#tick(time));
    } else if (!this.#timer) {
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        this.#frame = requestAnimationFrame((time) => this.#tick(time));
      }, rest);
    }
  }

  #tick(time) {
    this.#frame = 0;
    this.#lastFrame = time;
    this.frames += 1;
    this.#applySize(); // a toolkit may have set its own
    if (this.#draw(time)) this.request();
  }

  // Device pixels as the browser counts them where it says so (fractional ratios do not blur then), else
  // CSS pixels times the ratio; also where the two are apart, as under an emulated ratio.
  #watchSize() {
    const measure = (entry) => {
      const ratio = devicePixelRatio;
      const css = entry?.contentRect ?? this.#canvas.getBoundingClientRect();
      const box = entry?.devicePixelContentBoxSize?.[0];
      this.#width = devicePixels(css.width * ratio, box?.inlineSize);
      this.#height = devicePixels(css.height * ratio, box?.blockSize);
      this.#applySize();
      this.#resized(css.width, css.height, ratio);
      this.request();
    };
    const observer = new ResizeObserver((entries) => measure(entries[0]));
    try {
      observer.observe(this.#canvas, { box: "device-pixel-content-box" });
    } catch {
      observer.observe(this.#canvas);
    }
    // Another screen or zoom changes the ratio, with or without the size.
    const watchRatio = () => {
      matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
        measure();
        watchRatio();
      }, { once: true });
    };
    watchRatio();
    measure();
  }

  #applySize() {
    if (this.#canvas.width !== this.#width) this.#canvas.width = this.#width;
    if (this.#canvas.height !== this.#height) this.#canvas.height = this.#height;
  }
}
