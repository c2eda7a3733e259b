// Access tokens of two real issuers (npm's oidc-provider, in this process) call the API for events: one gives JWTs, whose keys are found by
// discovery and roll, the other opaque tokens, about which it is asked. Settings come as JSON in the environment variable STORY.
const { generateKeyPairSync, randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const https = require("node:https");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const set = JSON.parse(process.env.STORY);
const faults = [];

async function serve(issuer, format) {
  const { default: Provider } = await import(pathToFileURL(path.join(process.env.NODE_PATH, "oidc-provider/lib/index.js")).href);
  const provider = new Provider(issuer, {
    clients: [
      { client_id: "school", client_secret: set.secret, grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
      { // Schakel itself, which asks about tokens
        client_id: "schakel", token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_signing_alg: "ES256", jwks_uri: set.base + "/oauth/jwks",
        grant_types: [], redirect_uris: [], response_types: [],
      },
    ],
    cookies: { keys: [randomBytes(16).toString("hex")] },
    features: {
      devInteractions: { enabled: false }, clientCredentials: { enabled: true }, revocation: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true, defaultResource: () => set.base, useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({ scope: "events.consume", audience: resource, accessTokenFormat: format, accessTokenTTL: 600, jwt: { sign: { alg: "RS256" } } }),
      },
    },
    fetch: (url, { dispatcher, ...options }) => fetch(url, options), // its own dispatcher connects to no loopback address
    jwks: { keys: [{ kid: "first", alg: "RS256", use: "sig", ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }) }] },
  });
  provider.on("server_error", (_, err) => faults.push(String(err.stack)));
  provider.on("introspection.error", (_, err) => faults.push("introspection: " + err));
  const server = https.createServer({ cert: readFileSync(set.cert), key: readFileSync(set.keyFile) }, provider.callback());
  await new Promise((done) => server.listen(new URL(issuer).port, "127.0.0.1", done));
  return () => { server.closeAllConnections(); server.close(); };
}

const basic = "Basic " + Buffer.from("school:" + set.secret).toString("base64");

async function form(url, fields) {
  return fetch(url, { method: "POST", headers: { Authorization: basic }, body: new URLSearchParams(fields) });
}

async function token(issuer, scope) {
  const answer = await form(issuer + "/token", { grant_type: "client_credentials", resource: set.base, ...(scope && { scope }) });
  const body = await answer.json();
  if (!body.access_token) throw new Error("no token: " + JSON.stringify(body));
  return body.access_token;
}

async function call(bearer, status, code, what) {
  const answer = await fetch(set.base + "/events/v1/subscriptions", { headers: { Authorization: "Bearer " + bearer } });
  const body = await answer.text();
  if (answer.status !== status || (code && JSON.parse(body).code !== code)) faults.push(`${what}: ${answer.status} ${body}`);
}

// up waits until Schakel, which started first, asks the issuer again.
async function up(bearer) {
  for (let n = 0; n < 120; n++) {
    const { status } = await fetch(set.base + "/events/v1/subscriptions", { headers: { Authorization: "Bearer " + bearer } });
    if (status !== 503) return;
    await new Promise((done) => setTimeout(done, 250));
  }
}

(async () => {
  const close = [await serve(set.jwt, "jwt"), await serve(set.opaque, "opaque")];
  const good = await token(set.jwt, "events.consume");
  await up(good);
  await call(good, 200, "", "a JWT");
  await call(good, 200, "", "a JWT, again");
  await call(await token(set.jwt), 403, "insufficient-scope", "a JWT without the scope");
  await call(good.slice(0, -8) + "AAAAAAAA", 401, "token-unverified", "a JWT with another signature");
  const opaque = await token(set.opaque, "events.consume");
  await call(opaque, 200, "", "an opaque token");
  await call(opaque + "x", 401, "token-inactive", "an opaque token that nobody gave");
  const revoked = await token(set.opaque, "events.consume");
  await form(set.opaque + "/token/revocation", { token: revoked });
  await call(revoked, 401, "token-inactive", "a revoked token");
  close.forEach((stop) => stop());
  const last = await fetch(set.base + "/events/v1/subscriptions", { headers: { Authorization: "Bearer neverseen" } });
  if (last.status !== 503) faults.push("an issuer that is down: " + last.status);
  await call(good, 200, "", "a JWT while its issuer is down");
  if (faults.length) throw new Error(faults.join("\n"));
})().then(() => process.exit(0), (err) => { console.error(err); process.exit(1); });
