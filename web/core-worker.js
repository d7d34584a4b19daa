// The core in its Worker: loads the module, then takes commands and posts events. Buffers are
// transferred, never shared, so no special headers are needed.
//
// In:  {type:"open", baseUrl, variant}, then {type:"command", bytes, tag}
// Out: {type:"progress", loaded, total}, {type:"ready"}, {type:"failed", message},
//      {type:"events", batch:[{bytes, tag, reply, wallMs}], status:{tag, working}}

import { CoreDriver } from "./core-driver.js";
import { loadModule } from "./fetch.js";

let driver = null;

async function open({ baseUrl, variant }) {
  const progress = (loaded, total) => postMessage({ type: "progress", loaded, total });
  const module = await loadModule(baseUrl, variant, {}, progress);
  driver = new CoreDriver(module, (batch, status) => {
    postMessage(
      { type: "events", batch, status },
      batch.map((message) => message.bytes.buffer),
    );
  });
  postMessage({ type: "ready" });
}

addEventListener("message", ({ data }) => {
  if (data.type === "command") driver.command(data.bytes, data.tag);
  if (data.type === "open") {
    open(data).catch((error) => postMessage({ type: "failed", message: error.message }));
  }
});
