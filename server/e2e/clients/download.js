// Walks a download API with a client that is generated from a description of one (DownloadApi.json of PDOK), through its
// operationIds alone: deltas, their pages, custom downloads with their status, predefined ones. Zips go to a folder; what was
// seen is printed as JSON.
const fs = require('fs');
const path = require('path');
const { OpenAPIClientAxios } = require('openapi-client-axios');

const [description, base, token, folder, geofilter] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const seen = { deltas: [], timeliness: [], statuses: [], files: {} };

async function main() {
  const definition = JSON.parse(fs.readFileSync(description, 'utf8'));
  const options = { headers, maxRedirects: 0, validateStatus: () => true };
  const api = new OpenAPIClientAxios({ definition, withServer: { url: base }, axiosConfigDefaults: options });
  const client = await api.init();

  seen.timeliness = want(await client.GetDataset(), 200).timeliness;
  for (let page = 1; ; page++) {
    const list = want(await client.GetDeltas({ page, count: 2 }), 200);
    seen.deltas.push(...list.deltas);
    if (!list._links.some((l) => l.rel === 'next')) break;
  }
  const [first] = seen.deltas;
  seen.after = want(await client.GetDeltas({ 'after-delta-id': first.id, count: 100 }), 200).deltas.map((d) => d.id);

  const featuretypes = ['perceel', 'kadastralegrens'];
  await custom(client, 'DeltaCustomDownload', 'initial', { format: 'gml', featuretypes });
  for (const d of seen.deltas) {
    await custom(client, 'DeltaCustomDownload', `delta-${d.id}`, { format: 'gml', featuretypes, deltaId: d.id });
  }
  await custom(client, 'DeltaCustomDownload', 'area', { format: 'gml', featuretypes, geofilter });
  await custom(client, 'FullCustomDownload', 'full', { format: 'gml', featuretypes: ['perceel'] });
  seen.invalid = (await client.DeltaCustomDownload(null, { format: 'gml', featuretypes, geofilter: 'POLYGON((1 2,3' })).status;
  seen.unknown = (await client.DeltaCustomDownloadStatus('5b1d6fb2-0000-4000-8000-000000000000')).status;

  await predefined(await client.GetDeltaPredefinedGmlNl(), 'predefined-initial');
  await predefined(await client.GetDeltaPredefinedGmlNl({ 'delta-id': first.id }), 'predefined-delta');
  await predefined(await client.GetFullPredefinedGmlNl(), 'predefined-full');
  console.log(JSON.stringify(seen));
}

async function custom(client, operation, name, body) {
  const asked = want(await client[operation](null, body), 202);
  const status = `${operation}Status`;
  for (let tries = 0; ; tries++) {
    const answer = await client[status](asked.downloadRequestId);
    seen.statuses.push(`${answer.status} ${answer.data.status}`);
    if (answer.status === 201) return fetchFile(client, answer.data._links.download.href, name);
    if (answer.status !== 200 || tries > 600) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.data)}`);
    await new Promise((next) => setTimeout(next, 100));
  }
}

async function predefined(answer, name) {
  if (answer.status !== 307) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.data)}`);
  await fetchFile(null, answer.headers.location, name);
}

async function fetchFile(_, href, name) {
  const answer = await fetch(new URL(href, base), { headers });
  if (!answer.ok) throw new Error(`${href}: ${answer.status}`);
  const file = path.join(folder, `${name}.zip`);
  fs.writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  seen.files[name] = file;
}

function want(answer, status) {
  if (answer.status !== status) throw new Error(`${answer.config.url}: ${answer.status} ${JSON.stringify(answer.data)}`);
  return answer.data;
}

main().catch((err) => {
  console.error(err.message);
  process.exit(1);
});
