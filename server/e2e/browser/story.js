// The whole story in a browser: register, confirm, approve, add an endpoint, ask
// for a subscription, approve it, publish, see it delivered; break the receiver,
// see the dead letter, mend the receiver, resend, see it delivered; once more with a
// canary; and a filter of a list that is saved.
// Settings come as JSON in the environment variable STORY.
const { execFileSync } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const { datasets } = require("./datasets.js");
const { Kit, until } = require("./kit.js");

const set = JSON.parse(process.env.STORY);
const organisation = { name: set.organisation, oin: set.oin, contact: "Noor de Boer", email: set.email, password: "correct horse battery staple" };

const press = (page, name) => page.getByRole("button", { name, exact: true }).first().click();
const field = (page, label) => page.getByLabel(label, { exact: false }).first();

async function login(kit, page, email, password) {
  await page.goto(set.base + "/login");
  await kit.look(page);
  await field(page, "E-mail address").fill(email);
  await page.locator("input[type=password]").fill(password);
  await page.locator("main").getByRole("button").first().click();
  await page.waitForURL((url) => !url.pathname.startsWith("/login"));
}

async function register(kit, page) {
  for (const path of ["/", "/terms", "/docs", "/docs/operating", "/docs/rules", "/event-types", "/contracts", "/login/password"]) {
    await page.goto(set.base + path);
    await kit.look(page);
  }
  await page.goto(set.base + "/register");
  await kit.look(page);
  // The browser would not send what it sees to be wrong; this is about our answer.
  await page.locator("form[action='/register']").evaluate((f) => f.setAttribute("novalidate", ""));
  await press(page, "Next");
  await kit.look(page, "/register refused");
  await field(page, "Name of the organisation").fill(organisation.name);
  await page.locator("[name=by][value=oin]").check();
  await page.locator("[name=oin]").fill(organisation.oin);
  await press(page, "Save and go on later");
  await page.waitForURL("**/register/saved");
  await kit.look(page);
  await page.getByRole("link", { name: "Go on with the registration" }).click();
  await kit.look(page, "/register contact");
  await page.locator("[name=contactName]").fill(organisation.contact);
  await page.locator("[name=email]").fill(organisation.email);
  await press(page, "Next");
  await kit.look(page, "/register check");
  await page.getByLabel("Webhook").first().check();
  await page.locator("[name=terms]").check();
  await press(page, "Register");
  await page.waitForURL("**/register/sent*");
  await kit.look(page);
}

async function confirm(kit, page) {
  await page.goto(set.base + "/mailbox");
  await kit.look(page);
  // Others register meanwhile: the demonstration does so itself once its broker runs.
  await page.getByRole("row").filter({ hasText: organisation.email }).getByRole("link", { name: /Confirm your registration/ }).click();
  await kit.look(page, "/mailbox/id");
  await page.locator("main a[href*='/register/confirm/']").first().click();
  await page.waitForURL("**/register/confirm/*");
  await kit.look(page);
  await page.locator("input[type=password]").fill(organisation.password);
  await page.locator("main form").getByRole("button").last().click();
  await page.waitForURL("**/partner*");
  await kit.look(page, "/partner waiting");
}

async function approve(kit, admin, list, name) {
  await admin.goto(set.base + list);
  await kit.look(admin);
  await admin.getByRole("row").filter({ hasText: name }).first().getByRole("link").first().click();
  await admin.waitForLoadState();
  await kit.look(admin);
  await admin.getByRole("button", { name: /^Approve/ }).first().click();
  await admin.waitForLoadState();
}

async function endpoint(kit, page) {
  await page.goto(set.base + "/partner/endpoints/new");
  await kit.look(page);
  await page.locator("[name=name]").fill("Production");
  await page.locator("[name=url]").fill(set.hook.url);
  await page.locator("[name=tokenAuthMethod][value=client_secret_basic]").check();
  await page.locator("[name=tokenUrl]").fill(set.hook.tokenUrl);
  await page.locator("[name=tokenClientId]").fill(set.hook.id);
  await page.locator("[name=tokenSecret]").fill(set.hook.secret);
  await press(page, "Add and test endpoint");
  await page.waitForURL(/\/partner\/endpoints\/ept_\w+\/setup/);
  await kit.look(page);
  if ((await page.content()).includes(set.hook.secret)) kit.fault("the secret of the endpoint is shown after it was saved");
}

async function subscribe(kit, page) {
  await page.goto(set.base + "/partner/subscriptions/new");
  await kit.look(page);
  await page.getByLabel(`${set.type}, version 1.x`).check();
  const mine = page.locator("[name=endpoint] option").filter({ hasText: "Production" });
  await page.locator("[name=endpoint]").selectOption(await mine.getAttribute("value"));
  await page.locator("[name=purpose]").fill("Keep our own administration up to date.");
  await page.locator("main form details:not([open]) > summary").first().click();
  await page.locator("[name=filter-0-attribute]").fill("source"); // the events of the demonstration would open the circuit of the broken receiver
  await page.locator("[name=filter-0-value]").fill("urn:story:1");
  await press(page, "Ask for this subscription");
  await page.waitForURL(/\/partner\/subscriptions(\/sub_|$)/);
  await kit.look(page);
}

// client makes a client of the own organisation and gives its id and secret.
async function client(kit, admin) {
  await admin.goto(set.base + "/admin/own/clients/new");
  await kit.look(admin);
  await admin.locator("[name=name]").fill("Story");
  await admin.locator("[name=authMethod][value=client_secret_basic]").check();
  await admin.locator("[name=scopes][value='events.publish']").check();
  await admin.locator("[name=publishTypes]").fill("nl.voorbeeld.*");
  await admin.locator("[name=publishSources]").fill("urn:story:*");
  await press(admin, "Add client");
  await admin.waitForLoadState();
  await kit.look(admin, "/admin/own/clients secret");
  const text = await admin.locator("main").innerText();
  const secret = await admin.locator("main input[readonly], main code").evaluateAll((all) => all.map((e) => e.value ?? e.textContent.trim()));
  const id = text.match(/cli_[0-9A-Z]{26}/)[0];
  return { id, secret: secret.find((s) => /^[\w-]{30,}$/.test(s) && !s.startsWith("cli_")) };
}

// publish sends an event of which the data is as its contract says.
function publish(as, id, { school = "Story", key } = {}) {
  const data = {
    id: randomUUID(), notificationType: "DELETE", objectType: "leerling", objectId: randomUUID(),
    school: { id: randomUUID(), name: school }, created: "2026-09-01T09:00:00Z", isDeleteNotification: true,
  };
  return execFileSync(
    set.binary,
    ["publish", "--url", set.base, "--client-id", as.id, "--type", set.type, "--source", "urn:story:1", "--id", id, ...(key ? ["--idempotency-key", key] : [])],
    { input: JSON.stringify(data), env: { ...process.env, SCHAKEL_CLIENT_SECRET: as.secret }, encoding: "utf8" },
  );
}

// delivery waits for the delivery of an event to be in a state, on a page that lists them.
async function delivery(page, list, id, state) {
  await page.goto(`${set.base}${list}${list.includes("?") ? "&" : "?"}event=${id}`);
  const there = until(`event ${id} is ${state}`, page, async () => {
    const link = page.locator("tbody tr").filter({ hasText: set.row }).getByRole("link").first();
    if ((await link.count()) === 0) return false;
    return !state || (await page.locator("tbody").innerText()).toLowerCase().includes(state);
  });
  await there.catch(async (err) => { // in which state it is tells more than that it is in none of this list
    await page.goto(`${set.base}${list.split("?")[0]}?event=${id}`);
    throw new Error(`${err.message}\nwithout the filter:\n${await page.locator("main").innerText()}`);
  });
}

// open follows the link of the first row of a list that has the text.
async function open(page, list, text) {
  await page.goto(set.base + list);
  await page.locator("tbody tr").filter({ hasText: text }).first().getByRole("link").first().click();
  await page.waitForLoadState();
}

// portions looks at endpoints with hours and with batches, at a batch, and at a replay.
async function portions(kit, page) {
  await login(kit, page, set.portions.email, set.portions.password);
  await open(page, "/partner/endpoints", "office hours");
  await kit.look(page, "/partner/endpoints/id hours");
  await open(page, "/partner/endpoints", "in batches");
  await kit.look(page, "/partner/endpoints/id batches");
  const endpoint = page.url().match(/ept_[0-9A-Z]{26}/)[0];
  await page.getByRole("link", { name: "Change", exact: true }).click();
  for (const fold of await page.locator("main form details:not([open]) > summary").all()) await fold.click();
  await page.locator("[name=batchEvents]").fill("many");
  await page.locator("[name=windows]").fill("never");
  await page.locator("form[action*='/endpoints/']").evaluate((f) => f.setAttribute("novalidate", ""));
  await press(page, "Save changes");
  await kit.look(page, "/partner/endpoints/id refused");
  const batch = page.locator("main a[href*='/batches/']").first();
  await until("a batch is delivered", page, async () => {
    await page.goto(`${set.base}/partner/deliveries?endpoint=${endpoint}&state=delivered`);
    const deliveries = await page.locator("tbody a").evaluateAll((all) => all.map((e) => e.href));
    for (const delivery of deliveries.slice(0, 10)) { // an event that found no others went by itself
      await page.goto(delivery);
      if ((await batch.count()) > 0) return true;
    }
    return false;
  });
  await batch.click();
  await page.waitForURL("**/batches/*");
  await kit.look(page);
  await open(page, "/partner/subscriptions", "in batches");
  await kit.look(page);
  await page.locator("main a[href$='/selection']").click();
  await page.locator("[name=retryWaits]").fill("soon");
  await press(page, "Save changes");
  await kit.look(page, "/partner/subscriptions/id/selection refused");
  await page.goto(`${set.base}/partner/replays?mode=all&endpoint=${endpoint}`);
  await kit.look(page);
  await page.getByRole("button", { name: /^Replay/ }).click();
  await page.waitForURL("**/jobs/*");
  await kit.look(page);
  await page.goto(set.base + "/partner/jobs");
  await kit.look(page);
}

// aside has a request quarantined and a large event kept apart, and looks at both.
async function aside(kit, admin, as) {
  await admin.goto(set.base + "/admin/quarantine");
  await kit.look(admin, "/admin/quarantine empty");
  await admin.goto(set.base + "/admin/settings/edit");
  for (const group of await admin.locator("main details > summary").all()) await group.click();
  await admin.locator("[name='idempotency.on_mismatch'][value=quarantine]").check();
  await admin.locator("[name='events.oversize'][value=claim_check]").check();
  await admin.locator("[name='events.payload'][value=off]").check();
  await admin.locator("[name='idempotency.ttl']").fill("never");
  await press(admin, "Save the settings");
  await kit.look(admin, "/admin/settings/edit refused");
  await admin.locator("[name='idempotency.ttl']").fill("168h");
  await admin.locator("[name=reason]").fill("To see what is kept aside.");
  await press(admin, "Save the settings");
  await admin.waitForURL("**/admin/settings");
  const key = randomUUID();
  publish(as, randomUUID(), { key });
  await admin.goto(set.base + "/admin/quarantine");
  await until("a request is in quarantine", admin, async () => {
    if ((await admin.locator("tbody tr").count()) > 0) return true;
    try {
      publish(as, randomUUID(), { key, school: "Another" });
    } catch {} // the setting is not in force yet
    return false;
  });
  await kit.look(admin);
  await admin.locator("tbody").getByRole("link").first().click();
  await admin.waitForURL("**/quarantine/*");
  await kit.look(admin);
  const large = randomUUID();
  publish(as, large, { school: "x".repeat(100_000) });
  await admin.goto(`${set.base}/admin/events?event=${large}`);
  await admin.locator("tbody").getByRole("link").first().click();
  await admin.waitForURL("**/events/*");
  await kit.look(admin, "/admin/events/id object");
}

// filters saves the filter of a list under a name, opens the list by that name, and forgets it.
async function filters(kit, page) {
  await page.goto(set.base + "/admin/deliveries?status=delivered");
  await page.locator(".schakel-saved__fold summary").click();
  await page.locator("#saved-name").fill("What arrived");
  await press(page, "Save this filter");
  await page.waitForURL("**/admin/deliveries?*");
  await page.goto(set.base + "/admin/deliveries");
  await page.getByRole("link", { name: "What arrived", exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get("status") === "delivered");
  await kit.look(page, "/admin/deliveries saved filter");
  await page.locator(".schakel-saved__fold summary").click();
  await press(page, "Delete “What arrived”");
  await page.waitForURL("**/admin/deliveries*");
  if ((await page.getByRole("link", { name: "What arrived", exact: true }).count()) > 0) kit.fault("a saved filter that was deleted is still there");
}

// canary resends what one event left dead, the first to each endpoint ahead of the rest.
async function canary(kit, page, id) {
  await page.goto(`${set.base}/partner/deliveries/all?status=dead&event=${id}`);
  await page.locator("[name=canary]").check();
  await page.locator("[name=rate]").fill("60");
  await kit.look(page, "/partner/deliveries/all");
  await page.getByRole("button", { name: /^Resend/ }).first().click();
  await page.waitForURL("**/jobs/*");
  await until("the job shows its canary", page, async () => (await page.locator("main").innerText()).includes("First delivery to each endpoint"));
  await kit.look(page, "/partner/jobs/id canary");
  await delivery(page, "/partner/deliveries", id, "delivered");
}

async function receiver(kit, page, button) {
  await page.goto(set.control);
  await kit.look(page, "/receiver");
  await press(page, button);
}

async function main() {
  const kit = await Kit.start(set.chromium, set.folder);
  try {
    const partner = await kit.person("partner", { javaScriptEnabled: set.javaScript });
    const admin = await kit.person("administrator", { javaScriptEnabled: set.javaScript });
    const visitor = await kit.person("visitor", { javaScriptEnabled: set.javaScript });
    await register(kit, partner);
    await confirm(kit, partner);
    await login(kit, admin, set.admin.email, set.admin.password);
    await approve(kit, admin, "/admin/partners?status=requested", organisation.name);
    await endpoint(kit, partner);
    await subscribe(kit, partner);
    await approve(kit, admin, "/admin/subscriptions?status=requested", organisation.name);
    const as = await client(kit, admin);
    publish(as, set.ids[0]);
    await delivery(partner, "/partner/deliveries", set.ids[0], "delivered");
    await kit.look(partner);
    await receiver(kit, visitor, "Break the receiver");
    publish(as, set.ids[1]);
    publish(as, set.ids[2]);
    await delivery(partner, "/partner/deliveries?status=dead", set.ids[2], "");
    await delivery(admin, "/admin/dead-letters", set.ids[1], "");
    await kit.look(admin);
    await admin.locator("tbody tr").filter({ hasText: set.row }).getByRole("link").first().click();
    await admin.waitForLoadState();
    await kit.look(admin);
    await receiver(kit, visitor, "Mend the receiver");
    await admin.locator("form[action$='/resend'] button").first().click();
    await admin.waitForLoadState();
    await delivery(partner, "/partner/deliveries", set.ids[1], "delivered");
    await canary(kit, partner, set.ids[2]);
    await filters(kit, admin);
    await portions(kit, await kit.person("partner with batches", { javaScriptEnabled: set.javaScript }));
    await aside(kit, admin, as);
    await datasets(kit, set.base, admin, partner);
  } catch (err) {
    kit.fault(String(err.stack ?? err));
  }
  await kit.finish();
}

main();
