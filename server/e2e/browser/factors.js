// Second factors in a real browser: an administrator adds a passkey and an authenticator app, logs in with each, and is asked again who it
// is. The passkey is that of Chromium's virtual authenticator. Settings come as JSON in the environment variable STORY.
const { createHmac } = require("node:crypto");
const { Kit } = require("./kit.js");

const set = JSON.parse(process.env.STORY);

// code is that of an authenticator app (RFC 6238).
function code(secret, at = Date.now()) {
  const bits = [...secret.replaceAll(" ", "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(at / 30000)));
  const sum = createHmac("sha1", key).update(step).digest();
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1000000).padStart(6, "0");
}

async function password(page) {
  await page.goto(set.base + "/login");
  await page.fill("#email", set.email);
  await page.fill("#password", set.password);
  await page.locator("main").getByRole("button", { name: "Log in" }).click();
}

async function logout(page) {
  await page.goto(set.base + "/admin");
  await page.getByRole("button", { name: "Log out" }).first().click();
  await page.waitForURL("**/login");
}

async function main() {
  const kit = await Kit.start(set.chromium, set.folder);
  try {
    const page = await kit.person("administrator");
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("WebAuthn.enable");
    await cdp.send("WebAuthn.addVirtualAuthenticator", {
      options: { protocol: "ctap2", transport: "usb", hasResidentKey: false, hasUserVerification: false, isUserVerified: false, automaticPresenceSimulation: true },
    });
    await password(page);
    await page.waitForURL("**/admin");
    await page.goto(set.base + "/account/factors");
    await kit.look(page, "factors-none");
    await page.getByRole("link", { name: "Add passkey" }).click();
    await page.fill("#name", "Security key");
    await kit.look(page, "passkey");
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.waitForURL("**/codes");
    await kit.look(page, "codes");
    const recovery = (await page.locator("#codes").innerText()).split(/\s+/);

    await page.goto(set.base + "/account/factors/app");
    await kit.look(page, "app");
    const secret = await page.locator("#secret").innerText();
    await page.fill("#name", "Phone");
    await page.fill("#code", code(secret));
    await page.getByRole("button", { name: "Add authenticator app" }).click();
    await page.waitForURL("**/account/factors");
    await kit.look(page, "factors");

    await logout(page);
    await password(page);
    await page.waitForURL("**/login/factor");
    await kit.look(page, "login-factor");
    await page.getByRole("button", { name: "Use passkey" }).click();
    await page.waitForURL("**/admin");
    await page.goto(set.base + "/account");
    await kit.look(page, "account");
    if (!(await page.locator("#sessions").innerText()).includes("Chrome on Linux (this browser)")) kit.fault("the sessions do not name this browser");

    await logout(page);
    const other = await kit.person("without the key"); // no authenticator: the recovery code is left
    await password(other);
    await other.waitForURL("**/login/factor");
    await other.fill("#code", recovery[0]);
    await other.locator("main").getByRole("button", { name: "Log in" }).click();
    await other.waitForURL("**/admin");

    const plain = await kit.person("without JavaScript", { javaScriptEnabled: false });
    await password(plain);
    await plain.waitForURL("**/login/factor");
    if (!(await plain.locator("main").innerText()).includes("Passkeys need JavaScript")) kit.fault("without JavaScript nothing says why there is no passkey");
    await plain.fill("#code", code(secret, Date.now() + 30000)); // the next one: this one may be used
    await plain.locator("main").getByRole("button", { name: "Log in" }).click();
    await plain.waitForURL("**/admin");
  } catch (err) {
    kit.fault(String(err.stack ?? err));
  }
  await kit.finish();
}

main();
