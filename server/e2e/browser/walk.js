// A walk over every page that a visitor, an administrator and a partner can reach by links from where they start: each kind of page is judged
// by axe, by its width, by the console and by the keyboard, in one combination of language, theme and width that its path chooses, or in all
// of them; then its forms by what they refuse.
// Settings come as JSON in the environment variable STORY: base, people (name, email, password, starts), all, chromium, folder.
const { createHash } = require("node:crypto");
const path = require("node:path");
const { listForms, refuseEmpty } = require("./forms.js");
const { walkKeyboard } = require("./keyboard.js");
const { Kit } = require("./kit.js");

const set = JSON.parse(process.env.STORY);
const combinations = ["nl", "nb", "en"].flatMap((language) => ["light", "dark"].flatMap((colorScheme) => [1280, 390].map((width) => ({ language, colorScheme, width }))));

// kind is a page but for the ids in its address: pages of one kind are looked at once.
const kind = (url) => url.pathname.replace(/[a-z]{2,4}_[0-9A-Z]{26}/g, "id").replace(/\b[0-9a-f-]{36}\b/g, "id").replace(/\d+(\.\d+)+/g, "version")
  .replace(/^\/(event-types|contracts|problems|admin\/datasets|partner\/datasets)\/[^/]+/, "/$1/one");

const chosen = (key) => set.all ? combinations : [combinations[createHash("sha256").update(key).digest()[0] % combinations.length]];

async function login(page, who) {
  await page.goto(set.base + "/login");
  await page.fill("[name=email]", who.email);
  await page.fill("[type=password]", who.password);
  await page.locator("main form button").first().click();
  await page.waitForURL((url) => !url.pathname.startsWith("/login"));
}

async function speak(page, language) {
  if (page.language === language) return;
  await page.request.post(set.base + "/language", { form: { language, back: "/" }, headers: { Origin: set.base }, maxRedirects: 0 });
  page.language = language;
}

// links lists the pages of this program that a page leads to. Redoc draws its page by itself, and asks for a logo elsewhere that the policy of
// the page refuses: redoc.js looks at it.
const links = (page) => page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => a.href.split("#")[0])
  .filter((href) => href.startsWith(location.origin) && !/\.(json|ya?ml|xml|zip|csv|atom|ndjson)$|\/(data|object|download|feed|source|redoc)$|\/static\//.test(new URL(href).pathname)));

// open shows a page in one combination of language, theme and width.
async function open(page, where, { language, colorScheme, width }) {
  await speak(page, language);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 800 });
  return page.goto(where);
}

// shorten takes away what comes after the first rows of lists and the first paragraphs of guides: it looks alike, and axe and the keyboard would
// take most of their time for it.
const shorten = (page) => page.evaluate(() => document.querySelectorAll("main tbody > tr:nth-child(n + 7), .schakel-guide__text > :nth-child(n + 41)").forEach((e) => e.remove()));

// scannable wants 25 rows of a list within two screens of a desktop. Tables of explanations are for reading.
const explanations = new Set(["/problems", "/admin/settings", "/admin/conformance", "/conformance"]);
async function scannable(kit, page, key, look) {
  if (explanations.has(key)) return;
  const size = page.viewportSize();
  await page.setViewportSize({ width: 1280, height: 900 });
  const lists = await page.evaluate(() => [...document.querySelectorAll("main .schakel-table tbody")]
    .map((list) => ({ rows: list.rows.length, height: list.getBoundingClientRect().height })));
  for (const { rows, height } of lists) if (rows >= 10 && (25 * height) / rows > 2 * 900) kit.fault(`${look}: ${rows} rows of a list take ${Math.round(height)} px`);
  await page.setViewportSize(size);
}

// judge holds the page that stands in the first of some combinations against what all pages keep, and then in the others.
async function judge(kit, page, key, where, combinations) {
  for (const [at, combination] of combinations.entries()) {
    if (at > 0) await open(page, where, combination);
    const { language, colorScheme, width } = combination, look = `${key} (${language}, ${colorScheme}, ${width})`;
    await kit.fits(page, look);
    if (set.all) await kit.whole(page, look); // it depends on the names and states that a page happens to show
    if (set.folder) await page.screenshot({ path: path.join(set.folder, `walk-${kit.seen.size}${look.replace(/[^a-zA-Z0-9.]+/g, "-")}.png`), fullPage: true });
    await scannable(kit, page, key, look);
    if (!set.all) await shorten(page);
    await reachable(kit, page, look);
    kit.places += await walkKeyboard(kit, page, look); // and all that folds away is open now
    await page.evaluate(`(() => { ${kit.axeSource} })()`);
    await kit.axe(page, look);
    await kit.fits(page, `${look}, unfolded`);
  }
}

// reachable wants the first stop of the keyboard to be the link past the header, and that link to lead to the content.
async function reachable(kit, page, look) {
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement?.getAttribute("href"));
  if (first !== "#main" && (await page.locator("[data-focus]").count()) === 0) kit.fault(`${look}: the first stop of the keyboard is ${first}`);
}

// common holds the pages outside a role's own, which are the same for all: the first who comes there looks at them.
const common = new Set();

async function walk(kit, who) {
  const page = await kit.person(who.name);
  if (who.email) await login(page, who);
  const queue = who.starts.map((start) => set.base + start), seen = new Set(), forms = new Map();
  while (queue.length > 0) {
    const where = queue.shift(), key = kind(new URL(where));
    const visited = /^\/(admin|partner|account)\b/.test(key) || key === "/" ? seen : common;
    if (visited.has(key)) continue;
    visited.add(key);
    const looks = chosen(key), answer = await open(page, where, looks[0]).catch(() => null); // a download is no page
    if (!answer || !/text\/html/.test(answer.headers()["content-type"] ?? "") || page.url() === "about:blank") continue;
    if (answer.status() >= 400 && !where.endsWith("/no-such-page")) kit.fault(`${where} answers ${answer.status()}`);
    if (!/^\/(mailbox|admin\/mails)/.test(key)) queue.push(...(await links(page))); // those of mails are for others
    const landed = kind(new URL(page.url()));
    if (landed !== key && visited.has(landed)) continue; // a redirect
    visited.add(landed);
    kit.seen.set(who.name + " " + key, true);
    for (const form of await page.evaluate(listForms)) forms.set(`${kind(new URL(form.action, set.base))} ${form.fields}`, { where, form });
    await judge(kit, page, key, where, looks);
  }
  if (who.email) { // a login that is long ago would be asked to prove itself instead
    await page.context().clearCookies();
    page.language = "";
    await login(page, who);
  }
  // Those that require nothing may change something, so they come last.
  for (const { where, form } of [...forms.values()].sort((a, b) => Math.sign(b.form.required) - Math.sign(a.form.required))) await refuseEmpty(kit, page, where, form);
  kit.forms += forms.size;
}

async function main() {
  const kit = await Kit.start(set.chromium, set.folder);
  try {
    for (const who of set.people) await walk(kit, who);
  } catch (err) {
    kit.fault(String(err.stack ?? err));
  }
  await kit.finish();
}

main();
