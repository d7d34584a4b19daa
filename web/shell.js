// The page: loads the app (panels), the core (in its Worker) and the model, connects them, and draws
// when something asked for it. `window.novascope` is for tests and tools.
//
// The address takes ?autorun=0 (do not run the first prompt) and ?core=baseline|relaxed (force a core).

import { AppView } from "./app-view.js";
import { createSession, fetchModel, hasWebGl2, pickVariant, VARIANT_LABELS } from "./core.js";
import { addPart, alarm, hideLoading, hideWeights, say, showNotice, showWeights } from "./notices.js";
import { NovascopeError, packError, packMessage } from "./protocol.js";
import { Stage } from "./stage.js";

const SITE = new URL("../", import.meta.url).href;
const CORES = { baseline: "core", relaxed: "core-relaxed" };
const query = new URLSearchParams(location.search);
const canvas = document.getElementById("canvas");

let app = null;
let session = null;
let loading = true;
let messages = 0; // events of the core so far
const waitingCommands = []; // the app may speak before the core is there
const wall = { run_ms: 0, core_ms: 0, tokens: 0, startedAt: 0 };

const stage = new Stage(canvas, {
  draw: (time) => app?.frame(time) ?? false,
  resized: (width, height, ratio) => app?.resize(width, height, ratio),
});

function stop(title, error) {
  loading = false;
  showNotice(title, error.message, error.fix || "Reload the page to try again.");
  console.error(error);
}

function sendToCore(bytes) {
  if (session) session.post(bytes);
  else waitingCommands.push(bytes);
}

function sendToApp(bytes) {
  app.message(bytes);
  stage.request();
}

// Events go to the app as they are. Real time is added here, as an event of its own: the core has no
// clock, and its messages stay the same on every machine.
function connect() {
  session.on("message", (bytes) => {
    messages += 1;
    sendToApp(bytes);
  });
  session.on("step", (event) => {
    const { index, wall_ms } = event;
    sendToApp(packMessage({ ev: "wall", index, wall_ms, variant: VARIANT_LABELS[session.variant] }));
    wall.tokens += event.token ? 1 : 0;
    wall.core_ms += wall_ms;
    wall.run_ms = performance.now() - wall.startedAt;
  });
  session.on("plan", () => {
    Object.assign(wall, { tokens: 0, run_ms: 0, core_ms: 0, startedAt: performance.now() });
    alarm("");
  });
  session.on("valid", () => alarm(""));
  session.on("error", ({ error }) => alarm([error.message, error.fix].filter(Boolean).join(" ")));
  for (const name of ["done", "loaded"]) session.on(name, () => queueMicrotask(summarise));
  session.on("state", ({ state }) => state === "paused" && queueMicrotask(summarise));
  for (const bytes of waitingCommands.splice(0)) session.post(bytes);
}

function summarise() {
  say(app.snapshot().summary ?? "");
}

function showModelProgress(loaded, total) {
  showWeights(loaded, total);
  sendToApp(packMessage({ ev: "progress", what: "Model weights", loaded, total }));
}

async function loadModel() {
  try {
    const files = await fetchModel({ baseUrl: SITE, onProgress: showModelProgress });
    await session.load(files);
    return true;
  } catch (error) {
    // The panels stay usable for everything that needs no weights; the app shows the sentence. Errors of
    // the core have reached it already.
    if (!(error instanceof NovascopeError)) {
      sendToApp(packError("load", `The model could not be read: ${error.message}.`, "Reload the page."));
      alarm(`The model could not be read: ${error.message}. Reload the page.`);
    }
    return false;
  } finally {
    hideWeights();
  }
}

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

function command(object) {
  app.command(object);
  stage.request();
}

function noWebGl2() {
  const fix = "Turn on hardware acceleration in the browser's settings, or use a current browser.";
  showNotice("WebGL2 is not available", "Novascope draws with it and cannot be shown here.", fix);
  loading = false;
}

async function boot() {
  const variant = CORES[query.get("core")] ?? pickVariant();
  if (!variant) {
    const fix = "A current Chrome, Edge, Firefox, or Safari 16.4 or later has it.";
    showNotice("This browser has no WebAssembly SIMD", "Novascope computes with it and cannot run here.", fix);
    loading = false;
    return;
  }
  if (!hasWebGl2()) {
    noWebGl2();
    return;
  }
  const hooks = { onCommand: sendToCore, requestFrame: () => stage.request() };
  [app, session] = await Promise.all([
    AppView.load(SITE, canvas, hooks, addPart("Panels and 3D view")),
    createSession({ baseUrl: SITE, variant, onProgress: addPart("Core: arithmetic and simulation") }),
  ]);
  if (!app.init(devicePixelRatio)) {
    noWebGl2();
    return;
  }
  hideLoading();
  connect();
  session.post(packMessage({ v: 1, cmd: "hello" })); // the app needs the answer too
  stage.start();
  const loaded = await loadModel();
  if (loaded && query.get("autorun") !== "0" && !reducedMotion.matches) command({ cmd: "run" });
  loading = false;
}

document.getElementById("alert").addEventListener("click", () => alarm(""));

canvas.addEventListener("webglcontextlost", (event) => {
  event.preventDefault();
  showNotice("The graphics context was lost", "The browser took the page's WebGL2 context away.",
    "Reload the page to draw again.");
});

window.novascope = {
  /** The app's state as plain data, and what the page itself knows. */
  snapshot() {
    const { run_ms, core_ms, tokens } = wall;
    return {
      ...app?.snapshot(),
      page: { frames: stage.frames, messages, ratio: devicePixelRatio, core: session?.variant ?? "",
        canvas: [canvas.width, canvas.height], wall: { run_ms, core_ms, tokens } },
    };
  },
  /** Nothing loading, nothing computing, nothing to draw. */
  idle: () => !loading && !stage.waiting && !(session?.busy ?? false),
  /** A command to the app, as its menus and buttons give them. */
  command,
};

boot().catch((error) => stop("Novascope could not start", error));
