// Sends one event in each HTTP mode with the CloudEvents SDK for JavaScript and
// prints the answers as JSON lines. Arguments: intake, token, source, type.
const { randomUUID } = require("node:crypto");
const { CloudEvent, HTTP, Mode, emitterFor, httpTransport } = require("cloudevents");

const [intake, token, source, type] = process.argv.slice(2);
const headers = () => ({ authorization: `Bearer ${token}`, "idempotency-key": `"${randomUUID()}"` });
const event = () => new CloudEvent({ source, type, datacontenttype: "application/json", data: { naam: "Zoë", n: 1 } });

async function main() {
  for (const mode of [Mode.STRUCTURED, Mode.BINARY]) {
    const e = event();
    // Some versions answer the status code in no way but the body.
    const answer = await emitterFor(httpTransport(intake), { mode })(e, { headers: headers() });
    console.log(JSON.stringify({ mode, ids: [e.id], answer: JSON.parse(answer.body) }));
  }
  const batch = [event(), event(), event()];
  const answer = await fetch(intake, {
    method: "POST",
    headers: { ...headers(), "content-type": "application/cloudevents-batch+json" },
    body: JSON.stringify(batch.map((e) => JSON.parse(HTTP.structured(e).body))),
  });
  console.log(JSON.stringify({ mode: "batch", ids: batch.map((e) => e.id), answer: await answer.json() }));
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
