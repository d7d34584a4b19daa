// Pictures of the built page, taken by the browser that the tests use:
//
//   node tools/screenshot/shoot.mjs                the README's, assets/screenshot.png
//   node tools/screenshot/shoot.mjs --gallery DIR  a set for review: sizes, pixel ratios, states
//
// Build the page first (./run --build-only). NOVASCOPE_BUILD names another build folder than build/.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { command, launch, openPage, samplePlayheads, serve, snapshot } from "../../tests/web/harness.mjs";

const README_IMAGE = fileURLToPath(new URL("../../assets/screenshot.png", import.meta.url));
const README_LIMIT = 400_000;
const README_SHOT = { name: "README", width: 1280, height: 800, busy: true };

// Size, pixel ratio, and what has been done: commands after the opening run, or a query and no wait.
const GALLERY = [
  { name: "desktop-1440", width: 1440, height: 900, busy: true },
  { name: "desktop-1440-end", width: 1440, height: 900 },
  { name: "projector-1280", width: 1280, height: 720, busy: true },
  { name: "phone-390", width: 390, height: 844, busy: true },
  { name: "desktop-1440-2x", width: 1440, height: 900, ratio: 2, busy: true },
  { name: "phone-390-2x", width: 390, height: 844, ratio: 2 },
  { name: "laptop-1280-1.5x", width: 1280, height: 720, ratio: 1.5, busy: true },
  { name: "before-run", width: 1440, height: 900, query: "?autorun=0" },
  { name: "stepping", width: 1440, height: 900,
    commands: [{ cmd: "run", paused: true }, ...Array(4).fill({ cmd: "step" })] },
  { name: "toy-timed", width: 1440, height: 900, busy: true,
    commands: [{ cmd: "set", timing: false }, { cmd: "run" }] },
  { name: "error-plan", width: 1440, height: 900,
    commands: [{ cmd: "set", plan: { tp: 7, pp: 1, dp: 1, lnc: 2 } }, { cmd: "run" }] },
  { name: "error-prompt-phone", width: 390, height: 844,
    commands: [{ cmd: "prompt", text: "" }, { cmd: "run" }] },
];

// Moves the playhead to the moment, among the last tokens, at which most of the drawn links are busy.
async function seekBusy(page) {
  const { links_screen } = await snapshot(page);
  const drawn = new Set(links_screen.map(({ link }) => link));
  const busy = ({ busy_links }) => busy_links.filter((link) => drawn.has(link)).length;
  const playheads = await samplePlayheads(page, { from: 0.6, to: 0.9, count: 400 });
  const best = playheads.reduce((a, b) => (busy(b) > busy(a) ? b : a));
  await command(page, { cmd: "seek", ps: best.at_ps });
}

async function shoot(browser, site, shot) {
  const page = await openPage(browser, site, {
    query: shot.query,
    viewport: { width: shot.width, height: shot.height },
    deviceScaleFactor: shot.ratio ?? 1,
    hasTouch: shot.width < 500,
  });
  for (const one of shot.commands ?? []) await command(page, one);
  if (shot.busy) await seekBusy(page);
  const image = await page.screenshot();
  for (const problem of page.problems) console.error(`${shot.name}: ${problem}`);
  await page.context().close();
  return image;
}

const [option, folder, ...rest] = process.argv.slice(2);
if ((option && option !== "--gallery") || (option && !folder) || rest.length > 0) {
  console.error("usage: shoot.mjs [--gallery DIR]");
  process.exit(2);
}
const site = await serve();
const browser = await launch();
try {
  if (option) {
    mkdirSync(folder, { recursive: true });
    for (const shot of GALLERY) {
      writeFileSync(join(folder, `${shot.name}.png`), await shoot(browser, site, shot));
      console.log(shot.name);
    }
  } else {
    const image = await shoot(browser, site, README_SHOT);
    if (image.length > README_LIMIT) {
      throw new Error(`the picture takes ${image.length} bytes, more than ${README_LIMIT}`);
    }
    writeFileSync(README_IMAGE, image);
    console.log(`assets/screenshot.png ${image.length} bytes`);
  }
} finally {
  await browser.close();
  await site.close();
}
