// Reads the page's own files with progress, in a browser over HTTP and in node from disk, and makes
// Emscripten modules out of them.

const inNode = typeof process === "object" && Boolean(process.versions?.node);

// Counts the bytes of a response as they arrive. Content-Length is the compressed size where the host
// compresses, so the total is only a hint and never below what has arrived.
function counted(response, onProgress) {
  const hint = Number(response.headers.get("content-length")) || 0;
  let loaded = 0;
  const report = () => onProgress(loaded, Math.max(hint, loaded));
  report();
  return response.body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        loaded += chunk.length;
        report();
        controller.enqueue(chunk);
      },
      flush() {
        onProgress(loaded, loaded);
      },
    }),
  );
}

async function request(url) {
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new Error(`${url} could not be reached (${error.message})`);
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${response.statusText}`);
  return response;
}

async function readFromDisk(url, onProgress) {
  const { readFile } = await import("node:fs/promises");
  const bytes = await readFile(url);
  onProgress(bytes.length, bytes.length);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

const isFile = (url) => inNode && new URL(url).protocol === "file:";

/** The bytes of a file; onProgress(loaded, total). */
export async function fetchBytes(url, onProgress = () => {}) {
  if (isFile(url)) return readFromDisk(new URL(url), onProgress);
  const response = await request(url);
  return new Uint8Array(await new Response(counted(response, onProgress)).arrayBuffer());
}

async function compile(url, onProgress) {
  if (isFile(url)) return WebAssembly.compile(await readFromDisk(new URL(url), onProgress));
  const response = await request(url);
  // Compiles while it downloads; the type is set here since not every static host knows .wasm.
  const headers = { "content-type": "application/wasm" };
  return WebAssembly.compileStreaming(new Response(counted(response, onProgress), { headers }));
}

/**
 * An Emscripten module: `name`.js (a factory) and `name`.wasm below baseUrl. `options` are the factory's.
 */
export async function loadModule(baseUrl, name, options = {}, onProgress = () => {}) {
  const compiled = compile(new URL(`${name}.wasm`, baseUrl).href, onProgress);
  compiled.catch(() => {}); // reported below; the factory may fail first
  const { default: create } = await import(new URL(`${name}.js`, baseUrl).href);
  const module = await compiled;
  return new Promise((resolve, reject) => {
    create({
      ...options,
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then((instance) => done(instance, module), reject);
        return {};
      },
    }).then(resolve, reject);
  });
}
