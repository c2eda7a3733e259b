// Redoc, the extra view of contracts, draws each document, and nothing it does
// leaves this machine: what is for another host goes to a proxy that counts it.
// Settings come as JSON in the environment variable STORY.
const { createServer } = require("node:net");
const { chromium } = require("playwright-core");

const set = JSON.parse(process.env.STORY);
const faults = [];
const patience = 180_000; // ms: a machine that runs the fault suite beside this is slow

// What the browser itself asks for, whatever it shows: its updates and services.
const browsersOwn = /^(CONNECT |[A-Z]+ https?:\/\/)([\w-]+\.)*(google|googleapis|gstatic|gvt1)\.com[:/]/;

// proxy is where the browser sends whatever is not for this machine.
function proxy() {
  const seen = [];
  const server = createServer((socket) => {
    socket.once("data", (first) => {
      const line = first.toString("latin1").split("\r\n")[0];
      if (!browsersOwn.test(line)) seen.push(line);
      socket.destroy();
    });
    socket.on("error", () => {});
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ server, seen })));
}

async function draw(context, path, texts) {
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on("pageerror", (e) => faults.push(`${path}: script error: ${e.message}`));
  page.on("dialog", (d) => { faults.push(`${path}: a dialog says ${d.message()}`); d.dismiss(); });
  await page.goto(set.base + path + "/redoc");
  try {
    for (const text of texts) await page.locator("redoc").getByText(text).first().waitFor();
  } catch (e) {
    faults.push(`${path} does not show ${texts}: ${(await page.locator("body").innerText()).slice(0, 800)}`);
  }
  if (await page.evaluate(() => window.hit)) faults.push(`${path}: a script of the document ran`);
  if (set.folder) await page.screenshot({ path: `${set.folder}/redoc${path.replaceAll("/", "-")}.png` });
  // The menu of the page has items that would hand the document to other sites.
  const opened = await page.evaluate(() => window.open("https://example.org/") !== null);
  if (opened) faults.push(`${path}: it can open a window`);
  await page.getByRole("link", { name: "Back to the reading view" }).click();
  await page.waitForURL("**/reading");
  await page.close();
}

async function main() {
  const { server, seen } = await proxy();
  const browser = await chromium.launch({
    executablePath: set.chromium,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    proxy: { server: `http://127.0.0.1:${server.address().port}`, bypass: "localhost" },
  });
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    for (const { path, texts } of set.pages) await draw(context, path, texts);
    const without = await (await browser.newContext({ javaScriptEnabled: false, ignoreHTTPSErrors: true })).newPage();
    without.setDefaultTimeout(patience);
    await without.goto(`${set.base}${set.pages[0].path}/redoc`);
    if (!(await without.locator("main").innerText()).includes("Redoc needs JavaScript")) faults.push("without JavaScript it says nothing");
    // The proxy does see what leaves, so that its silence means something.
    if (seen.length > 0) faults.push(`what left this machine: ${seen.join("; ")}`);
    await (await context.newPage()).goto("http://outside.example/").catch(() => {});
    if (!seen.some((line) => line.includes("outside.example"))) faults.push("the proxy sees nothing at all");
  } catch (err) {
    faults.push(String(err.stack ?? err));
  }
  await browser.close();
  server.close();
  for (const f of faults) console.error(f);
  console.log(`${set.pages.length} documents drawn`);
  process.exit(faults.length > 0 ? 1 : 0);
}

main();
