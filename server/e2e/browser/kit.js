// What the stories in a real browser share: a browser that may reach nothing but
// this machine, and a look at every page it sees with axe.
const { createHash } = require("node:crypto");
const { mkdirSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const patience = 180_000; // a machine that runs the fault suite beside this is slow

const looks = [
  { name: "light", colorScheme: "light", viewport: { width: 1280, height: 900 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  { name: "phone", colorScheme: "light", viewport: { width: 360, height: 740 } },
];

class Kit {
  constructor(browser, folder) {
    Object.assign(this, { browser, folder, axeSource, faults: [], seen: new Map(), places: 0, forms: 0, styles: new Set() });
    if (folder) mkdirSync(folder, { recursive: true });
  }

  // start opens the browser; screenshots are made when a folder is given.
  static async start(executablePath, folder) {
    return new Kit(await chromium.launch({ executablePath, args: flags }), folder);
  }

  // person opens a browser of its own, with or without JavaScript.
  async person(name, { javaScriptEnabled = true, ignoreHTTPSErrors = false } = {}) {
    const context = await this.browser.newContext({ javaScriptEnabled, ignoreHTTPSErrors, viewport: looks[0].viewport, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    page.scripted = javaScriptEnabled;
    page.on("request", (r) => {
      const url = new URL(r.url());
      if (!["localhost", "127.0.0.1"].includes(url.hostname) && url.protocol !== "data:") this.fault(`${name}: a request left this machine: ${r.url()}`);
    });
    page.on("pageerror", (e) => this.fault(`${name}: script error at ${page.url()}: ${e.message}`));
    page.on("console", (m) => {
      if (m.type() === "error" && !/status of (4|5)\d\d/.test(m.text())) this.fault(`${name}: console at ${page.url()}: ${m.text()}`);
    });
    return page;
  }

  // fault is printed at once: a walk that is broken off has told what it found.
  fault(text) {
    this.faults.push(text);
    console.error(text);
  }

  // look judges the page as it stands, once for each kind of page, in a look that its address chooses or in all of them.
  // A page without JavaScript is the same page, and axe cannot run in it.
  async look(page, label) {
    const key = label ?? new URL(page.url()).pathname.replace(/[a-z]{3}_[0-9A-Z]{26}/g, "id").replace(/[A-Z0-9]{26}/g, "token");
    if (this.seen.has(key)) return;
    this.seen.set(key, true);
    if (!page.scripted) return;
    await page.evaluate(`(() => { ${axeSource} })()`);
    for (const look of process.env.SCHAKEL_E2E_ALL ? looks : [looks[createHash("sha256").update(key).digest()[0] % looks.length]]) {
      await page.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize(look.viewport);
      if (this.folder) {
        const file = `${String(this.seen.size).padStart(2, "0")}${key.replace(/[^a-zA-Z0-9.-]+/g, "-")}-${look.name}.png`;
        await page.screenshot({ path: path.join(this.folder, file), fullPage: true });
      }
      await this.axe(page, `${key} (${look.name})`);
      await this.fits(page, `${key} (${look.name})`);
    }
    await page.emulateMedia({ colorScheme: looks[0].colorScheme });
    await page.setViewportSize(looks[0].viewport);
  }

  // axe judges a page. The contrast of texts takes most of its time, so texts that look as others did, with the same colours, backgrounds and
  // size, are left out of that; not with SCHAKEL_E2E_ALL=1.
  async axe(page, where) {
    const { violations, styles } = await page.evaluate(judgePage, process.env.SCHAKEL_E2E_ALL ? null : [...this.styles]);
    for (const style of styles) this.styles.add(style);
    for (const v of violations) this.fault(`axe: ${where}: ${v}`);
  }

  // fits wants no page that must be scrolled sideways (WCAG 1.4.10).
  async fits(page, where) {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) this.fault(`${where}: the page is ${over} pixels too wide`);
  }

  // whole wants no state, count, button or heading of a column to be cut off, and no list to be wider than its frame on a desktop.
  async whole(page, where) {
    const cut = await page.evaluate(() => {
      const name = (e) => `“${e.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}”`;
      const clips = (e) => ["hidden", "clip"].includes(getComputedStyle(e).overflowX);
      const isCut = (e) => {
        if (!e.checkVisibility()) return false;
        const box = e.getBoundingClientRect();
        if (box.width < 2) return false; // for screen readers alone
        if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && clips(e)) return true;
        for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
          if (clips(p) && box.right > p.getBoundingClientRect().right + 1) return true;
        }
        const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT, (n) => n.parentElement.closest(".schakel-hidden") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
        while (texts.nextNode()) {
          const range = document.createRange();
          range.selectNodeContents(texts.currentNode);
          if ([...range.getClientRects()].some((r) => r.width > 2 && r.right > box.right + 1)) return true;
        }
        return false;
      };
      const parts = [...document.querySelectorAll("main .schakel-badge, .schakel-nav__count, main button, main .utrecht-button, main .schakel-list thead th")].filter(isCut).map(name);
      const wide = innerWidth < 768 ? [] : [...document.querySelectorAll(".schakel-list")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => "the list " + name(e.querySelector("h2, h3, caption") ?? e));
      return [...new Set([...parts, ...wide])];
    });
    if (cut.length > 0) this.fault(`${where}: cut off: ${cut.slice(0, 6).join(", ")}`);
  }

  async finish() {
    await this.browser.close();
    console.log(`${this.seen.size} pages looked at, ${this.places} places reached with the keyboard, ${this.forms} forms sent empty`);
    process.exit(this.faults.length > 0 ? 1 : 0);
  }
}

// judgePage runs in the page: it holds it against the rules of axe, and the contrast of those texts alone that look like none of known, or of
// all when that is null. It returns the violations and the looks that are new.
async function judgePage(known) {
  const judge = (context, options) => axe.run(context, { resultTypes: ["violations"], ...options });
  const tell = (results) => results.flatMap((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).slice(0, 5).join(", ")));
  if (known === null) return { violations: tell([await judge(document)]), styles: [] };
  const behind = new Map([[null, ""]]); // by element, what is painted behind its text
  const background = (e) => {
    if (!behind.has(e)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
      const above = background(e.parentElement), own = backgroundImage === "none" ? backgroundColor : backgroundColor + backgroundImage;
      behind.set(e, (/^rgb\(/.test(own) ? own : own === "rgba(0, 0, 0, 0)" ? above : above + own) + (opacity === "1" ? "" : opacity));
    }
    return behind.get(e);
  };
  const fresh = new Map(), old = new Set(known);
  for (const e of document.body.querySelectorAll("*")) {
    const hasText = e.matches("input, select, textarea") || [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim() !== "");
    if (!hasText || !e.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    const style = [color, fontSize, fontWeight, textShadow, background(e), e.matches(":disabled, [aria-disabled=true]")].join();
    if (!old.has(style) && !fresh.has(style)) fresh.set(style, e);
  }
  const results = [await judge(document, { rules: { "color-contrast": { enabled: false } } })];
  if (fresh.size > 0) results.push(await judge({ include: [...fresh.values()] }, { runOnly: ["color-contrast"] }));
  return { violations: tell(results), styles: [...fresh.keys()] };
}

// until repeats a question to a page until it is answered; some things take a moment.
async function until(what, page, ask) {
  const deadline = Date.now() + patience;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`did not come to pass: ${what}; at ${page.url()}:\n${(await page.locator("main").innerText()).slice(0, 1500)}`);
    await page.waitForTimeout(300);
    await page.reload();
  }
}

module.exports = { Kit, until };
