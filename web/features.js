// What this browser can run, asked by validating tiny modules: nothing is downloaded for it.

// (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt): 128-bit SIMD.
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15,
  253, 98, 11,
];

// The same with i8x16.relaxed_swizzle and f32x4.relaxed_madd at their final opcodes.
const RELAXED = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 26, 1, 24, 0, 65, 1, 253, 15,
  65, 2, 253, 15, 253, 128, 2, 65, 1, 253, 15, 65, 2, 253, 15, 253, 133, 2, 11,
];

const valid = (bytes) =>
  typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array(bytes));

export const hasSimd = () => valid(SIMD);
export const hasRelaxedSimd = () => valid(RELAXED);

/** WebGL2, tried on a throw-away canvas. */
export function hasWebGl2() {
  if (typeof document === "undefined") return false;
  try {
    const context = document.createElement("canvas").getContext("webgl2");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
  } catch {
    return false;
  }
}

/** The core module to load here: "core-relaxed", "core", or "" where WebAssembly SIMD is missing. */
export function pickVariant() {
  if (!hasSimd()) return "";
  return hasRelaxedSimd() ? "core-relaxed" : "core";
}

export const VARIANT_LABELS = { "core-relaxed": "relaxed SIMD", core: "SIMD" };
