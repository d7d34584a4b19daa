// The page around the panels: loads clean from a subfolder, stays sharp and still, and says in plain
// words what is missing.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertClean, axeSource, idle, launch, openPage, serve, snapshot } from "./harness.mjs";

let site;
let browser;
before(async () => {
  site = await serve();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

const frames = async (page) => (await snapshot(page)).page.frames;

describe("shell", () => {
  test("loads without an error, a policy violation or a foreign request", async () => {
    const page = await openPage(browser, site);
    assertClean(page);
    const names = ["index.html", "js/shell.js", "app.wasm", "assets/models/scope-micro/model.safetensors"];
    for (const name of names.slice(1)) assert.ok(page.requested.includes(name), `${name} was not loaded`);
    assert.match(await page.locator("footer").innerText(), /not affiliated with or endorsed by Amazon/);
    assert.equal(await page.locator("#loading").isVisible(), false);
    assert.equal(await page.locator("#notice").isVisible(), false);
    assert.equal(await page.locator(".hint").isVisible(), false);
    await page.context().close();
  });

  test("loads one core only, the one this browser can run or the one that is asked for", async () => {
    const cases = [["?autorun=0", "core-relaxed"], ["?autorun=0&core=baseline", "core"]];
    for (const [query, core] of cases) {
      const page = await openPage(browser, site, { query });
      assert.equal((await snapshot(page)).page.core, core);
      const cores = page.requested.filter((path) => /^core.*\.wasm$/.test(path));
      assert.deepEqual(cores, [`${core}.wasm`]);
      assertClean(page);
      await page.context().close();
    }
  });

  test("draws nothing for three seconds while idle, and again when asked", async () => {
    const page = await openPage(browser, site);
    await page.waitForTimeout(500);
    await idle(page);
    const earlier = await frames(page);
    await page.waitForTimeout(3000);
    assert.equal(await frames(page), earlier);
    await page.mouse.move(640, 360);
    await page.mouse.wheel(0, 120);
    await page.waitForTimeout(200);
    assert.ok((await frames(page)) > earlier, "the wheel over the page draws a frame");
    await page.context().close();
  });

  for (const ratio of [1, 1.5, 2]) {
    test(`is sharp at a pixel ratio of ${ratio} and follows the window's size`, async () => {
      const page = await openPage(browser, site, { query: "?autorun=0", deviceScaleFactor: ratio });
      for (const [width, height] of [[1280, 720], [901, 633], [390, 844]]) {
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(150);
        await idle(page);
        const [backing, box] = await page.evaluate(() => {
          const canvas = document.getElementById("canvas");
          const { width: cssWidth, height: cssHeight } = canvas.getBoundingClientRect();
          return [[canvas.width, canvas.height], [cssWidth, cssHeight]];
        });
        assert.equal(box[0], width);
        for (const i of [0, 1]) {
          const off = Math.abs(backing[i] - box[i] * ratio);
          assert.ok(off <= 0.5, `${backing[i]} device pixels for ${box[i]} x ${ratio}`);
        }
        const overflow = await page.evaluate(() => {
          const { scrollWidth, scrollHeight } = document.documentElement;
          return [scrollWidth - innerWidth, scrollHeight - innerHeight];
        });
        assert.deepEqual(overflow, [0, 0], "the page itself never scrolls");
      }
      assertClean(page);
      await page.context().close();
    });
  }

  test("a real device ratio, not an emulated one, gives the same", async () => {
    const dense = await launch("--force-device-scale-factor=1.5");
    const page = await openPage(dense, site, { query: "?autorun=0", viewport: null });
    const [ratio, canvas, css] = await page.evaluate(() => {
      const element = document.getElementById("canvas");
      return [devicePixelRatio, [element.width, element.height],
        [element.clientWidth, element.clientHeight]];
    });
    assert.equal(ratio, 1.5);
    for (const i of [0, 1]) assert.ok(Math.abs(canvas[i] - css[i] * ratio) <= 1.5);
    await dense.close();
  });

  test("has no accessibility violations, with and without the panels", async () => {
    for (const options of [{}, { wait: false, prepare: hideSimd }]) {
      const page = await openPage(browser, site, options);
      await page.locator(options.prepare ? "#notice" : "#summary").waitFor({ state: "attached" });
      await page.evaluate(axeSource());
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map(({ id, help }) => `${id}: ${help}`), []);
      await page.context().close();
    }
  });

  test("reads the answer and the figures aloud when a run is done", async () => {
    const page = await openPage(browser, site);
    const text = await page.locator("#summary").textContent();
    assert.match(text, /answer/i);
    assert.match(text, /time to first token|TTFT/i);
    assert.match(text, /\$/);
    assert.equal(await page.locator("#summary").getAttribute("aria-live"), "polite");
    await page.context().close();
  });
});

const hideSimd = (page) =>
  page.addInitScript(() => {
    WebAssembly.validate = () => false;
  });

describe("what is missing is said in plain words", () => {
  const notice = async (page) => {
    await page.locator("#notice").waitFor({ state: "visible", timeout: 20_000 });
    return page.locator("#notice").innerText();
  };

  test("WebAssembly SIMD", async () => {
    const page = await openPage(browser, site, { wait: false, prepare: hideSimd });
    assert.match(await notice(page), /WebAssembly SIMD/);
    assert.ok(!page.requested.includes("app.wasm"), "nothing big is loaded in vain");
    assertClean(page);
    await page.context().close();
  });

  test("WebGL2", async () => {
    const flat = await launch("--disable-3d-apis");
    const page = await openPage(flat, site, { wait: false });
    assert.match(await notice(page), /WebGL2/);
    assert.ok(!page.requested.includes("app.wasm"), "nothing big is loaded in vain");
    await flat.close();
  });

  test("JavaScript", async () => {
    const page = await openPage(browser, site, { wait: false, javaScriptEnabled: false });
    assert.match(await page.locator("#loading").innerText(), /needs JavaScript/);
    await page.context().close();
  });

  test("a way to load scripts at all, as for a file opened from disk", async () => {
    const page = await openPage(browser, site, {
      wait: false,
      prepare: (one) => one.context().route("**/shell.js", (route) => route.abort()),
    });
    await page.locator(".hint").waitFor({ state: "visible", timeout: 20_000 });
    assert.match(await page.locator(".hint").innerText(), /web server/);
    await page.context().close();
  });

  test("a file of the site", async () => {
    for (const [file, shown] of [["core-relaxed.wasm", /404/], ["app.js", /app\.js/]]) {
      const page = await openPage(browser, site, {
        wait: false,
        prepare: (one) => one.context().route(`**/${file}`, (route) => route.fulfill({ status: 404 })),
      });
      assert.match(await notice(page), shown);
      assert.match(await notice(page), /Reload/);
      await page.context().close();
    }
  });
});
