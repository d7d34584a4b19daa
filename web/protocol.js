// Messages that cross the core's door: uint32 little-endian length of the JSON, the JSON (UTF-8), then
// an optional binary payload. The same bytes serve the page, the Worker and node.

export const PROTOCOL_VERSION = 1;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Packs an object and optional byte parts into one message. */
export function packMessage(object, ...payload) {
  const json = encoder.encode(JSON.stringify(object));
  const size = payload.reduce((sum, part) => sum + part.length, 4 + json.length);
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(0, json.length, true);
  bytes.set(json, 4);
  let at = 4 + json.length;
  for (const part of payload) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The message's object; its payload, where there is one, as `payload` (a view into the bytes). */
export function unpackMessage(bytes) {
  if (bytes.length < 4) throw new Error(`message of ${bytes.length} bytes: shorter than its header`);
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  if (length > bytes.length - 4) {
    throw new Error(`message of ${bytes.length} bytes announces ${length} bytes of JSON`);
  }
  const object = JSON.parse(decoder.decode(bytes.subarray(4, 4 + length)));
  if (bytes.length > 4 + length) object.payload = bytes.subarray(4 + length);
  return object;
}

/** An error as the core words it: what is wrong, in which field, and what to change. */
export class NovascopeError extends Error {
  constructor({ code = "internal", field = "", value = "", message = "", fix = "" }) {
    super(message);
    this.name = "NovascopeError";
    this.code = code;
    this.field = field;
    this.value = value;
    this.fix = fix;
  }
}

/** An error of the loader or the browser, packed as the core would have sent it. */
export function packError(code, message, fix = "", field = "", value = "") {
  return packMessage({ ev: "error", error: { code, field, value, message, fix } });
}
