// Login at a real OpenID provider in a real browser, for an administrator and for a user of a partner: the claim that lets them in is removed
// and restored, they log out here and there. The provider is npm's oidc-provider, in this process. Settings come as JSON in the environment
// variable STORY.
const { randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { Kit } = require("./kit.js");

const set = JSON.parse(process.env.STORY);

// What the provider says of each person; the story changes it.
const people = {
  anna: { name: "Anna Beheer", email: "anna@login.example", email_verified: true, groups: ["staff", "schakel-admins"] },
  piet: { name: "Piet Partner", email: "piet@login.example", email_verified: true, oin: set.oin },
  stranger: { name: "Sanne Vreemd", email: "sanne@login.example", email_verified: true, groups: ["staff"] },
};

// serveProvider starts the provider, with a login page of its own: a name is enough.
async function serveProvider() {
  const { default: Provider } = await import(pathToFileURL(path.join(process.env.NODE_PATH, "oidc-provider/lib/index.js")).href);
  const html = (body) => `<!DOCTYPE html><html lang="en"><title>Provider</title>${body}</html>`;
  const provider = new Provider(set.issuer, {
    clients: [{
      client_id: set.client, client_secret: set.secret, redirect_uris: [set.base + "/login/oidc/callback"], post_logout_redirect_uris: [set.base + "/login"],
      backchannel_logout_uri: set.base + "/login/oidc/logout", backchannel_logout_session_required: true,
    }],
    cookies: { keys: [randomBytes(16).toString("hex")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], schakel: ["groups", "oin"] },
    scopes: ["openid", "email", "profile", "schakel"],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false }, backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (ctx, form) => { ctx.body = html(`${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`); },
        postLogoutSuccessSource: (ctx) => { ctx.body = html("<p>Signed out</p>"); },
      },
    },
    fetch: (url, { dispatcher, ...options }) => fetch(url, options), // its own dispatcher connects to no loopback address
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    loadExistingGrant: async (ctx) => { // nobody is asked for consent
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope("openid email profile schakel");
      await grant.save();
      return grant;
    },
  });
  const said = []; // what went wrong there
  provider.on("server_error", (_, err) => said.push(String(err.stack)));
  provider.on("backchannel.error", (_, err, client, id) => said.push(`logout of ${id} was refused: ${err}`));
  provider.on("backchannel.success", (_, client, id) => said.push(`logout of ${id} was taken`));
  const callback = provider.callback();
  const server = https.createServer({ cert: readFileSync(set.cert), key: readFileSync(set.key) }, async (req, res) => {
    if (!req.url.startsWith("/interaction/")) return callback(req, res);
    if (req.method === "GET") {
      res.setHeader("Content-Type", "text/html");
      return res.end(html(`<form method="post"><label>Name <input name="name"></label><button>Sign in</button></form>`));
    }
    let body = "";
    for await (const part of req) body += part;
    await provider.interactionFinished(req, res, { login: { accountId: new URLSearchParams(body).get("name") } });
  });
  await new Promise((done) => server.listen(new URL(set.issuer).port, "127.0.0.1", done));
  return { said, close: () => { server.closeAllConnections(); server.close(); } };
}

const login = (page) => page.goto(set.base + "/login").then(() => page.getByRole("link", { name: "Test provider" }).click());

async function signIn(page, name) {
  await page.waitForURL(set.issuer + "/interaction/**");
  await page.fill("[name=name]", name);
  await page.getByRole("button", { name: "Sign in" }).click();
}

// stale makes the sessions as old as those that the provider is asked about again.
async function stale() {
  const answer = await fetch(set.stale, { method: "POST" });
  if (!answer.ok) throw new Error(`sessions could not be made older: ${await answer.text()}`);
}

// story is the same for both roles; take and give change the claim.
async function story(kit, provider, name, home, deeper, take, give) {
  const page = await kit.person(name, { ignoreHTTPSErrors: true });
  const want = (ok, what) => ok || kit.fault(`${name}: ${what}; at ${page.url()}`);
  const refused = async (what) => {
    const text = await page.locator("main").innerText();
    want(text.includes(set.refusal), `${what}: the page does not say why: ${text.slice(0, 300)}`);
  };
  const loggedOut = async (what) => {
    await page.goto(set.base + deeper);
    want(new URL(page.url()).pathname === "/login", `${what}: ${deeper} is still shown`);
  };
  await login(page);
  await signIn(page, name);
  await page.waitForURL(set.base + home);

  await stale(); // the provider confirms, unseen, and the page is the one that was asked for
  await page.goto(set.base + deeper);
  want(page.url() === set.base + deeper, "a renewal loses the page");
  want((await page.locator("main h1").count()) === 1, "the page is not shown after a renewal");

  take();
  await stale();
  await page.goto(set.base + deeper);
  await refused("renewal without the claim");
  want((await page.getByRole("button", { name: "Log out" }).count()) === 0, "the page after a lost claim looks as if the session went on");
  await kit.look(page, "refused-" + name);
  await loggedOut("renewal without the claim");
  await login(page); // the provider knows the browser and asks nothing
  await page.waitForURL(set.base + "/login/oidc/callback**");
  await refused("login without the claim");
  await loggedOut("login without the claim");

  give();
  await login(page);
  await page.waitForURL(set.base + home);

  await page.getByRole("button", { name: "Log out" }).first().click(); // here, which leads there
  await page.waitForURL(set.issuer + "/session/end**");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(set.base + "/login");
  await loggedOut("logout here");
  await login(page);
  await signIn(page, name); // the provider forgot the browser too
  await page.waitForURL(set.base + home);

  provider.said.length = 0;
  await page.goto(set.issuer + "/session/end"); // there, which tells us behind the browser's back
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("Signed out").waitFor();
  want(provider.said.join() === `logout of ${name} was taken`, `back-channel logout: ${provider.said}`);
  await loggedOut("logout at the provider");
}

async function main() {
  const kit = await Kit.start(set.chromium, set.folder);
  const provider = await serveProvider();
  try {
    const { anna, piet } = people;
    await story(kit, provider, "anna", "/admin", "/admin/partners", () => { anna.groups = ["staff"]; }, () => { anna.groups = ["schakel-admins"]; });
    await story(kit, provider, "piet", "/partner", "/partner/endpoints", () => { delete piet.oin; }, () => { piet.oin = set.oin; });
    const stranger = await kit.person("stranger", { ignoreHTTPSErrors: true });
    await login(stranger);
    await signIn(stranger, "stranger");
    await stranger.waitForURL(set.base + "/login/oidc/callback**");
    if (!(await stranger.locator("main").innerText()).includes(set.refusal)) kit.fault("somebody without a claim is not told why there is no way in");
  } catch (err) {
    kit.fault(`${err.stack ?? err}\nthe provider: ${provider.said}`);
  }
  provider.close();
  await kit.finish();
}

main();
