// The story of a contract in a browser: a maintainer uploads a broken document, is
// led to the line, mends it, publishes, and is stopped at a breaking change; an
// integrator finds the contract, reads it, compares two versions, downloads one and
// subscribes to its feed.
// Settings come as JSON in the environment variable STORY.
const { readFileSync } = require("node:fs");
const { Kit } = require("./kit.js");

const set = JSON.parse(process.env.STORY);
const press = (page, name) => page.getByRole("button", { name, exact: true }).first().click();

async function login(page, who) {
  await page.goto(set.base + "/login");
  await page.locator("[name=email]").fill(who.email);
  await page.locator("[name=password]").fill(who.password);
  await page.locator("main").getByRole("button").first().click();
  await page.waitForURL((url) => !url.pathname.startsWith("/login"));
}

async function paste(page, text, version) {
  await page.locator("[name=text]").fill(text);
  await page.locator("[name=version]").fill(version ?? "");
  await press(page, "Upload as a draft");
  await page.waitForLoadState();
}

// upload sends the document as a file.
async function upload(page, text, version) {
  await page.locator("[name=document]").setInputFiles({ name: "students.yaml", mimeType: "application/yaml", buffer: Buffer.from(text) });
  await page.locator("[name=version]").fill(version ?? "");
  await press(page, "Upload as a draft");
  await page.waitForLoadState();
}

async function saw(kit, page, ...texts) {
  let main = "";
  for (let tries = 0; tries < 100; tries++) {
    main = await page.locator("main").innerText();
    if (texts.every((text) => main.includes(text))) return;
    await page.waitForTimeout(200); // a page that is slow may still come
  }
  for (const text of texts) if (!main.includes(text)) kit.fault(`${page.url()} does not say "${text}":\n${main.slice(0, 1500)}`);
}

// maintain makes the contract and its first version, and stops at what breaks it.
async function maintain(kit, page) {
  await page.goto(set.base + "/contracts");
  await kit.look(page, "/contracts maintainer");
  await page.getByRole("link", { name: "Make a contract" }).first().click();
  await page.locator("[name=id]").fill(set.id);
  await page.locator("[name=kind][value=asyncapi]").check();
  await page.locator("[name=title]").fill(set.title);
  await page.locator("[name=visibility][value=public]").check();
  await page.locator("[name=timeMeaning]").fill("When the change was written down.");
  await kit.look(page, "/admin/contracts/new");
  await press(page, "Make the contract");
  await page.waitForURL("**/upload");

  await paste(page, set.broken);
  await saw(kit, page, "What is wrong with the document", `${set.line}:`);
  await kit.look(page, "/admin/contracts/id/upload refused");
  await page.locator(`a[href='#L${set.line}']`).first().click();
  if (new URL(page.url()).hash !== `#L${set.line}` || !(await page.locator(`#L${set.line}`).isVisible())) kit.fault("the finding does not lead to its line");
  await paste(page, set.good);
  await page.waitForURL("**/versions/1.0.0");
  await kit.look(page, "/contracts/id/versions/draft");
  await publish(kit, page, "1.0.0");

  await page.goto(`${set.base}/admin/contracts/${set.id}/upload`);
  await paste(page, set.breaking);
  await page.getByRole("link", { name: "Publish this version" }).first().click();
  await saw(kit, page, "What breaks since version 1.0.0", "By its changes this is version 2.0.0");
  await kit.look(page, "/admin/contracts/id/versions/publication breaking");
  // The browser would not send it without a reason; this is about our answer.
  await page.locator("main form").first().evaluate((f) => f.setAttribute("novalidate", ""));
  await press(page, "Publish");
  await page.waitForLoadState();
  await saw(kit, page, "Say why this is published");
  await kit.look(page, "/admin/contracts/id/versions/publication stopped");
  await page.goto(`${set.base}/admin/contracts/${set.id}/upload`);
  await upload(page, set.breaking, "2.0.0");
  await publish(kit, page, "2.0.0");
}

async function publish(kit, page, version) {
  await page.getByRole("link", { name: "Publish this version" }).first().click();
  await page.waitForLoadState();
  await kit.look(page, "/admin/contracts/id/versions/publication");
  await press(page, "Publish");
  await page.waitForURL(`**/contracts/${set.id}/versions/${version}`);
  await saw(kit, page, `Version ${version} is published.`);
  await kit.look(page, "/contracts/id/versions/published");
}

// narrow tries who sees the contract, and is warned; nothing is changed.
async function narrow(kit, page) {
  await page.goto(`${set.base}/admin/contracts/${set.id}/visibility`);
  await kit.look(page, "/admin/contracts/id/visibility");
  await page.locator("[name=visibility][value=internal]").check();
  await page.locator("[name=reason]").fill("To see who would lose sight.");
  await press(page, "Change who sees it");
  await page.waitForLoadState();
  await saw(kit, page, "would not see it any more");
  await kit.look(page, "/admin/contracts/id/visibility warned");
}

async function integrate(kit, page) {
  await page.goto(set.base + "/contracts");
  await page.locator("main [name=q]").fill(set.title);
  await page.locator("main form").getByRole("button").first().click();
  await page.waitForLoadState();
  await kit.look(page, "/contracts found");
  await page.getByRole("link", { name: set.title, exact: true }).click();
  await page.waitForLoadState();
  await kit.look(page, "/contracts/id");

  const feed = await page.locator("head link[type='application/atom+xml']").getAttribute("href");
  const told = await (await page.request.get(set.base + feed)).text();
  for (const version of ["1.0.0", "2.0.0"]) if (!told.includes(`${set.title} ${version}`)) kit.fault(`the feed does not tell of ${version}: ${told}`);

  await page.getByRole("link", { name: "2.0.0", exact: true }).first().click();
  await page.getByRole("link", { name: "Read it" }).click();
  await saw(kit, page, "studentId", "Student enrolled");
  await kit.look(page, "/contracts/id/versions/reading");
  await page.locator("main [name=q]").fill("enrolled");
  await page.locator("main form").getByRole("button").first().click();
  await saw(kit, page, "Student enrolled");

  await page.goto(`${set.base}/contracts/${set.id}/versions/2.0.0/changes`);
  await page.locator("[name=from]").selectOption("1.0.0");
  await press(page, "Compare");
  await page.waitForLoadState();
  await saw(kit, page, "From version 1.0.0 to version 2.0.0.", "breaking");
  await kit.look(page, "/contracts/id/versions/changes");

  await page.goto(`${set.base}/contracts/${set.id}/versions/1.0.0`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as uploaded" }).click()]);
  if (readFileSync(await download.path(), "utf8") !== set.good) kit.fault("what is downloaded is not what was uploaded");
  if (download.suggestedFilename() !== `${set.id}-1.0.0.yaml`) kit.fault(`it is called ${download.suggestedFilename()}`);
  await page.goto(`${set.base}/contracts/${set.id}/versions/1.0.0?line=3#L3`);
  if (!(await page.locator("#L3").isVisible())) kit.fault("the source has no line 3");
}

// own is a partner that makes a contract of its own and asks for its publication.
async function own(kit, page) {
  await page.goto(set.base + "/partner/contracts/new");
  await kit.look(page, "/partner/contracts/new");
  await page.locator("[name=id]").fill(set.id + "-partner");
  await page.locator("[name=kind][value=asyncapi]").check();
  await page.locator("[name=title]").fill(set.title + " of a partner");
  await press(page, "Make the contract");
  await page.waitForURL("**/upload");
  await kit.look(page, "/partner/contracts/id/upload");
  await paste(page, set.good.replaceAll(set.type, set.type + ".partner"));
  await page.waitForURL("**/versions/1.0.0");
  await page.getByRole("link", { name: "Ask for its publication" }).click();
  await page.waitForLoadState();
  await kit.look(page, "/partner/contracts/id/publication");
  await press(page, "Ask for publication");
  await page.waitForURL("**/versions/1.0.0");
  await saw(kit, page, "asked for its publication");
  await kit.look(page, "/contracts/id/versions/asked");
}

async function decide(kit, page) {
  await page.goto(set.base + "/contracts");
  await saw(kit, page, "Partners ask for publication");
  await kit.look(page, "/contracts asked");
  await page.getByRole("link", { name: set.title + " of a partner 1.0.0" }).click();
  await page.waitForLoadState();
  await kit.look(page, "/contracts/id/versions/decide");
  await page.getByRole("link", { name: "Publish this version" }).click();
  await press(page, "Publish");
  await page.waitForURL("**/versions/1.0.0");
}

async function main() {
  const kit = await Kit.start(set.chromium, set.folder);
  try {
    const options = { javaScriptEnabled: set.javaScript };
    const maintainer = await kit.person("maintainer", options);
    const integrator = await kit.person("integrator", options);
    const partner = await kit.person("partner", options);
    await login(maintainer, set.admin);
    await maintain(kit, maintainer);
    await narrow(kit, maintainer);
    await integrate(kit, integrator);
    await login(partner, set.partner);
    await own(kit, partner);
    await decide(kit, maintainer);
  } catch (err) {
    kit.fault(String(err.stack ?? err));
  }
  await kit.finish();
}

main();
