// The story of a dataset: an administrator makes it and imports a file, a partner
// follows its area of it.
const { until } = require("./kit.js");

const space = "urn:nl:voorbeeld:huizen:1.0";
const area = "POLYGON((207000 473000,209000 473000,209000 475000,207000 475000,207000 473000),(207500 473500,208000 473500,208000 474000,207500 473500))";

const state = (x) => `<h:Huis xmlns:h="${space}" xmlns:gml="http://www.opengis.net/gml/3.2"><h:plek><gml:Point srsName="urn:ogc:def:crs:EPSG::28992"><gml:pos>${x} 474500</gml:pos></gml:Point></h:plek></h:Huis>`;
const added = (id, x) => `<ml:mutatieGroep><ml:toevoeging objectType="Huis" objectId="${id}"><ml:wordt id="s-${id}">${state(x)}</ml:wordt></ml:toevoeging></ml:mutatieGroep>`;
const removed = (id, x) => `<ml:mutatieGroep><ml:verwijdering objectType="Huis" objectId="${id}"><ml:was id="s-${id}">${state(x)}</ml:was></ml:verwijdering></ml:mutatieGroep>`;
const file = (id, type, groups) => ({
  name: "huizen.xml",
  mimeType: "application/xml",
  buffer: Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><h:huisMutaties xmlns:h="${space}" xmlns:ml="http://www.kadaster.nl/schemas/mutatielevering-generiek/2.0"><ml:mutatieBericht><ml:dataset>${id}</ml:dataset><ml:inhoud><ml:mutatieType>${type}</ml:mutatieType><ml:gebied/><ml:leveringsId>l-1</ml:leveringsId><ml:objectTypen><ml:objectType>Huis</ml:objectType></ml:objectTypen></ml:inhoud>${groups}</ml:mutatieBericht></h:huisMutaties>`,
  ),
});

async function press(page, name) {
  await page.getByRole("button", { name }).first().click();
  await page.waitForLoadState();
}

async function saw(kit, page, ...words) {
  const text = await page.locator("main").innerText();
  for (const word of words) if (!text.includes(word)) kit.fault(`${page.url()} does not say "${word}"`);
}

async function make(kit, base, page, id) {
  await page.goto(base + "/admin/datasets/new");
  await kit.look(page);
  await press(page, "Make dataset");
  await saw(kit, page, "Object types:");
  await kit.look(page, "/admin/datasets refused");
  for (const [name, value] of Object.entries({ id, title: "Huizen", objectTypes: "Huis", rootLocal: "huisMutaties", rootPrefix: "h", rootSpace: space, deltaSchedule: "" })) {
    await page.locator(`[name=${name}]`).fill(value);
  }
  await press(page, "Make dataset");
  await page.waitForURL(`**/admin/datasets/${id}`);
  await kit.look(page, "/admin/datasets/id empty");
}

async function load(kit, base, page, id) {
  const here = `${base}/admin/datasets/${id}`;
  await page.goto(here + "/import");
  await kit.look(page, "/admin/datasets/id/import");
  await page.locator("[name=file]").setInputFiles(file(id, "delta", added("1", 208500) + removed("9", 208500)));
  await press(page, "Take it in");
  await saw(kit, page, "What is wrong with the file", "group 2");
  await kit.look(page, "/admin/datasets/id/import refused");
  await page.goto(here + "/import");
  await page.locator("[name=file]").setInputFiles(file(id, "delta", added("2", 208600) + added("3", 210000)));
  await press(page, "Take it in");
  await page.waitForURL("**/publications/*");
  await kit.look(page, "/admin/datasets/id/publications/id");
  await page.goto(here);
  await press(page, "Make a snapshot now");
}

async function lint(kit, base, page, id) {
  await page.goto(base + "/partner/mutations/lint");
  await kit.look(page);
  await page.locator("[name=file]").setInputFiles(file(id, "delta", added("1", 208500) + removed("1", 208500) + removed("1", 208500)));
  await press(page, "Look at it");
  await saw(kit, page, "was-twice", "group 3");
  await kit.look(page, "/partner/mutations/lint findings");
}

async function ask(kit, base, page, id) {
  await page.goto(base + "/partner/datasets");
  await kit.look(page);
  await page.goto(`${base}/partner/datasets/${id}`);
  await kit.look(page, "/partner/datasets/id none");
  await page.getByRole("link", { name: "Ask for a subscription" }).first().click();
  await page.locator("[name=purpose]").fill("To draw our own map.");
  await page.locator("[name=newEndpoint]").fill("Our copy");
  await page.locator("[name=areaName]").fill("Deventer");
  await page.locator("[name=area]").fill(area);
  await press(page, "Show it on the map first");
  await saw(kit, page, "x 207,000 to 209,000");
  await kit.look(page, "/partner/datasets/id/subscribe");
  await press(page, "Ask for it");
  await page.waitForURL(`**/partner/datasets/${id}`);
  await kit.look(page, "/partner/datasets/id waiting");
}

async function approve(kit, base, page, id) {
  await page.goto(base + "/admin/subscriptions?status=requested");
  await page.getByRole("row").filter({ hasText: "Dataset " + id }).first().getByRole("link").first().click();
  await page.waitForLoadState();
  await saw(kit, page, "You decide on the dataset");
  await kit.look(page, "/admin/subscriptions/id dataset");
  await press(page, /^Approve/);
}

// datasets plays the story; the partner is one whose registration is approved.
async function datasets(kit, base, admin, partner) {
  const id = "huizen";
  await make(kit, base, admin, id);
  await load(kit, base, admin, id);
  await lint(kit, base, partner, id);
  await ask(kit, base, partner, id);
  await approve(kit, base, admin, id);
  await partner.goto(`${base}/partner/datasets/${id}`);
  await until("the files for the area are ready", partner, async () => (await partner.getByText("Done").count()) > 0);
  await kit.look(partner, "/partner/datasets/id");
  await partner.getByRole("link", { name: "Deventer" }).first().click();
  await partner.waitForLoadState();
  await kit.look(partner, "/partner/datasets/id/areas/id");
  await partner.goto(`${base}/partner/datasets/${id}`);
  await partner.getByRole("link", { name: "Change what it gets" }).click();
  await kit.look(partner, "/partner/datasets/id/subscriptions/id/area");
  for (const path of ["/admin/datasets", `/admin/datasets/${id}`, `/admin/datasets/${id}/deltas`, `/admin/datasets/${id}/followers`, `/admin/datasets/${id}/publications`, `/admin/datasets/${id}/edit`]) {
    await admin.goto(base + path);
    await kit.look(admin, path.replace(id, "id"));
  }
}

module.exports = { datasets };
