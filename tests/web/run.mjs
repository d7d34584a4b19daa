// Runs the browser tests (tests/web/*.test.mjs), or with --cli those of the command line
// (tests/cli/*.test.mjs), one file after the other on what is built, prints every result and a closing line
// of counts, and exits with 1 if any failed or none ran.
//
//   node tests/web/run.mjs [--selfcheck] [--cli] [NAME ...]     NAME: a part of a file's name

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const FILE_TIMEOUT_MS = 10 * 60 * 1000;

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = process.argv.includes("--cli") ? join(here, "../cli") : here;
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const files = process.argv.includes("--selfcheck")
  ? [join(here, "selfcheck.mjs")]
  : readdirSync(folder)
      .filter((name) => name.endsWith(".test.mjs"))
      .filter((name) => names.length === 0 || names.some((part) => name.includes(part)))
      .sort()
      .map((name) => join(folder, name));

const counts = { passed: 0, failed: 0, skipped: 0 };
const results = run({ files, concurrency: 1, timeout: FILE_TIMEOUT_MS });
results.on("test:pass", ({ details, skip, todo }) => {
  if (details.type === "suite") return;
  counts[skip !== undefined || todo !== undefined ? "skipped" : "passed"] += 1;
});
results.on("test:fail", ({ details, todo }) => {
  // A suite only repeats its tests' failures, unless it failed by itself, in a hook.
  if (details.type === "suite" && details.error?.failureType === "subtestsFailed") return;
  counts[todo === undefined ? "failed" : "skipped"] += 1;
});
results.compose(new spec()).pipe(process.stdout, { end: false });
results.on("end", () => {
  const { passed, failed, skipped } = counts;
  const all = passed + failed + skipped;
  process.exitCode = failed > 0 || all === 0 ? 1 : 0;
  process.on("exit", () => {
    console.log(`cases ${all} passed ${passed} failed ${failed} skipped ${skipped}`);
  });
});
