// Finds relaxed SIMD instructions in WebAssembly binaries by decoding every instruction of the code
// section:
//   node tests/kernels/check_opcodes.mjs --baseline a.wasm ... --relaxed b.wasm ...
//   node tests/kernels/check_opcodes.mjs --self-check
// A baseline binary must have SIMD instructions and no relaxed one: it has to load in engines
// without them. A relaxed binary must have both relaxed instructions the numerics contract allows,
// and no other. Exit status 0 when all is as it must be, 1 when it is not, 2 for bad arguments or
// files.
import { readFileSync } from 'node:fs';

const FIRST_RELAXED = 0x100;
const ALLOWED = new Map([[0x100, 'i8x16.relaxed_swizzle'], [0x105, 'f32x4.relaxed_madd']]);

class Reader {
  constructor(bytes, begin = 0, end = bytes.length) {
    Object.assign(this, { bytes, at: begin, end });
  }
  get done() { return this.at >= this.end; }
  byte() {
    this.need(1);
    return this.bytes[this.at++];
  }
  skip(n) {
    this.need(n);
    this.at += n;
  }
  need(n) {
    if (this.at + n > this.end) throw new Error(`an item is cut off at byte ${this.at}`);
  }
  // Signed and unsigned LEB128 have the same length; values that matter here are unsigned and small.
  leb() {
    let value = 0;
    for (let i = 0; i < 10; ++i) {
      const b = this.byte();
      value += (b & 0x7f) * 2 ** (7 * i);
      if (b < 0x80) return value;
    }
    throw new Error(`an integer before byte ${this.at} is too long`);
  }
  vector(item) {
    for (let n = this.leb(); n > 0; --n) item();
  }
  memarg() {
    if (this.leb() & 0x40) this.leb();  // the memory's index
    this.leb();
  }
  valueType() {
    const b = this.byte();
    if (b === 0x63 || b === 0x64) this.leb();  // ref and ref null name a heap type
  }
}

// Immediates of the instructions with a one-byte opcode.
function skipImmediates(r, op) {
  if (op === 0x0e) { r.vector(() => r.leb()); r.leb(); return; }          // br_table
  if (op === 0x11 || op === 0x13) { r.leb(); r.leb(); return; }           // call_indirect
  if (op === 0x1c) { r.vector(() => r.valueType()); return; }             // select with types
  if (op === 0x1f) {                                                      // try_table
    r.leb();
    r.vector(() => { if (r.byte() < 2) r.leb(); r.leb(); });
    return;
  }
  if (op >= 0x28 && op <= 0x3e) { r.memarg(); return; }                   // loads and stores
  if (op === 0x43) { r.skip(4); return; }
  if (op === 0x44) { r.skip(8); return; }
  const oneIndex = [0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0c, 0x0d, 0x10, 0x12, 0x14, 0x15,
    0x18, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2, 0xd5, 0xd6];
  if (oneIndex.includes(op)) { r.leb(); return; }
  const none = [0x00, 0x01, 0x05, 0x0a, 0x0b, 0x0f, 0x19, 0x1a, 0x1b, 0xd1, 0xd3, 0xd4];
  if (!none.includes(op) && !(op >= 0x45 && op <= 0xc4)) {
    throw new Error(`unknown opcode 0x${op.toString(16)} before byte ${r.at}`);
  }
}

function skipBulk(r) {  // prefix 0xfc
  const op = r.leb();
  const indices = op <= 7 ? 0 : [2, 1, 2, 1, 2, 1, 2, 1, 1, 1][op - 8];
  if (indices === undefined) throw new Error(`unknown opcode 0xfc ${op} before byte ${r.at}`);
  for (let i = 0; i < indices; ++i) r.leb();
}

function skipVector(r) {  // prefix 0xfd; returns the opcode
  const op = r.leb();
  if (op <= 11 || op === 92 || op === 93) r.memarg();
  else if (op === 12 || op === 13) r.skip(16);
  else if (op >= 21 && op <= 34) r.skip(1);
  else if (op >= 84 && op <= 91) { r.memarg(); r.skip(1); }
  else if (op > 0x113) throw new Error(`unknown opcode 0xfd ${op} before byte ${r.at}`);
  return op;
}

function skipAtomic(r) {  // prefix 0xfe
  if (r.leb() === 3) r.skip(1);
  else r.memarg();
}

// How often each vector instruction occurs: { functions, vectors: Map opcode -> count }.
export function countOpcodes(bytes) {
  const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  if (magic.some((b, i) => bytes[i] !== b)) throw new Error('this is not a WebAssembly binary');
  const vectors = new Map();
  let functions = 0;
  const module = new Reader(bytes, 8);
  while (!module.done) {
    const id = module.byte();
    const size = module.leb();
    const section = new Reader(bytes, module.at, module.at + size);
    module.skip(size);
    if (id !== 10) continue;
    section.vector(() => {
      ++functions;
      const bodySize = section.leb();
      const body = new Reader(bytes, section.at, section.at + bodySize);
      section.skip(bodySize);
      body.vector(() => { body.leb(); body.valueType(); });
      let op = 0;
      while (!body.done) {
        op = body.byte();
        if (op === 0xfd) {
          const vector = skipVector(body);
          vectors.set(vector, (vectors.get(vector) ?? 0) + 1);
        } else if (op === 0xfc) skipBulk(body);
        else if (op === 0xfe) skipAtomic(body);
        else skipImmediates(body, op);
      }
      if (op !== 0x0b) throw new Error(`a function before byte ${body.at} does not end with end`);
    });
    if (!section.done) throw new Error('bytes are left at the end of the code section');
  }
  return { functions, vectors };
}

const hex = (op) => `instruction 0xfd 0x${op.toString(16)}`;

// What is wrong with a binary, as sentences.
export function faults({ vectors }, relaxedWanted) {
  const found = [];
  const relaxed = [...vectors.keys()].filter((op) => op >= FIRST_RELAXED);
  if (![...vectors.keys()].some((op) => op < FIRST_RELAXED)) {
    found.push('it has no SIMD instruction at all');
  }
  if (relaxedWanted) {
    for (const [op, name] of ALLOWED) {
      if (!vectors.has(op)) found.push(`it has no ${name}`);
    }
    for (const op of relaxed) {
      if (!ALLOWED.has(op)) found.push(`it has ${hex(op)}, which is not allowed`);
    }
  } else {
    for (const op of relaxed) found.push(`it has the relaxed ${hex(op)}`);
  }
  return found;
}

// A module of one function () -> () with the given body, whose types do not matter here.
function moduleOf(body) {
  const code = [1, body.length + 2, 0, ...body, 0x0b];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10,
    code.length, ...code]);
}

function selfCheck() {
  const add = [0xfd, 0xe4, 0x01];           // f32x4.add
  const swizzle = [0xfd, 0x80, 0x02];       // i8x16.relaxed_swizzle
  const madd = [0xfd, 0x85, 0x02];          // f32x4.relaxed_madd
  const nmadd = [0xfd, 0x86, 0x02];
  // Immediates that look like relaxed instructions and are none.
  const decoys = [0x41, 0xfd, 0x80, 0x02,
    0xfd, 0x0c, ...swizzle, ...madd, ...swizzle, ...madd, 0, 0, 0, 0,
    0x44, ...swizzle, ...madd, 0, 0,
    0x28, 0x02, 0xfd, 0x80, 0x02];
  const expect = (name, body, relaxedWanted, count) => {
    const got = faults(countOpcodes(moduleOf(body)), relaxedWanted).length;
    if (got !== count) throw new Error(`self-check ${name}: ${got} faults instead of ${count}`);
  };
  expect('baseline', [...add, ...decoys], false, 0);
  expect('relaxed in baseline', [...add, ...madd], false, 1);
  expect('relaxed behind decoys', [...decoys, ...swizzle, ...nmadd], false, 2);
  expect('no SIMD', [0x01], false, 1);
  expect('relaxed', [...add, ...swizzle, ...decoys, ...madd], true, 0);
  expect('half relaxed', [...add, ...madd], true, 1);
  expect('forbidden relaxed', [...add, ...swizzle, ...madd, ...nmadd], true, 1);
  for (const bad of [[0xfd, 0x94, 0x02], [0xff], [0xfd, 0x0c, 1, 2, 3]]) {
    let threw = false;
    try {
      countOpcodes(moduleOf(bad));
    } catch {
      threw = true;
    }
    if (!threw) throw new Error(`self-check: ${bad} was decoded`);
  }
  console.log('check_opcodes: self-check passed');
}

function main(args) {
  if (args.length === 1 && args[0] === '--self-check') {
    selfCheck();
    return 0;
  }
  let relaxedWanted = null;
  let checked = 0;
  let bad = 0;
  for (const arg of args) {
    if (arg === '--baseline' || arg === '--relaxed') {
      relaxedWanted = arg === '--relaxed';
      continue;
    }
    if (relaxedWanted === null) break;
    const counts = countOpcodes(readFileSync(arg));
    const sum = (test) => [...counts.vectors].reduce((n, [op, c]) => n + (test(op) ? c : 0), 0);
    const simd = sum((op) => op < FIRST_RELAXED);
    const relaxed = sum((op) => op >= FIRST_RELAXED);
    console.log(`${arg}: ${counts.functions} functions, ${simd} SIMD and ${relaxed} relaxed ` +
      'instructions');
    for (const fault of faults(counts, relaxedWanted)) {
      console.error(`${arg} is no ${relaxedWanted ? 'relaxed' : 'baseline'} binary: ${fault}.`);
      ++bad;
    }
    ++checked;
  }
  if (checked === 0) {
    console.error('usage: check_opcodes.mjs --baseline FILE.wasm ... --relaxed FILE.wasm ...\n' +
      '       check_opcodes.mjs --self-check');
    return 2;
  }
  return bad === 0 ? 0 : 1;
}

if (process.argv[1] && import.meta.url.endsWith(process.argv[1].split('/').pop())) {
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (error) {
    console.error(`check_opcodes: ${error.message}`);
    process.exitCode = 2;
  }
}
