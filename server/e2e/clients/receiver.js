// A webhook made with the CloudEvents SDK for JavaScript. Arguments: certificate,
// key, bearer token to give out and to ask for. Prints its port, then each event
// it took as a JSON line. It ends when its standard input closes.
const https = require("node:https");
const { readFileSync } = require("node:fs");
const { HTTP } = require("cloudevents");

const [cert, key, token] = process.argv.slice(2);

function hook(request, body) {
  if (request.headers.authorization !== `Bearer ${token}`) return 401;
  try {
    const taken = HTTP.toEvent({ headers: request.headers, body });
    for (const event of [taken].flat()) {
      event.validate();
      console.log(JSON.stringify({ batch: Array.isArray(taken), id: event.id, type: event.type, data: event.data }));
    }
    return 202;
  } catch (err) {
    console.log(JSON.stringify({ error: String(err) }));
    return 400;
  }
}

const server = https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    if (request.url === "/token") {
      // Any client whose secret is its own name gets a token.
      const [id, secret] = Buffer.from((request.headers.authorization ?? "").replace(/^Basic /, ""), "base64").toString().split(":");
      if (!id || id !== secret) {
        response.writeHead(401, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: "invalid_client" }));
        return;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: token, token_type: "Bearer", expires_in: 3600 }));
      return;
    }
    response.writeHead(hook(request, body));
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
