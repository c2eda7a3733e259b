// A foreign party made with rhea. Reads one job as JSON from its input: {"do": "send" or
// "receive", "host", "port", "user", "password", "address", "messages" or "count"}.
// Prints one line a message: the outcome of what it sent, or what it received.
'use strict';
const rhea = require('rhea');
const job = JSON.parse(require('fs').readFileSync(0));
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

const wrap = {
  string: (t) => t,
  symbol: (t) => rhea.types.wrap_symbol(t),
  uuid: (t) => rhea.types.wrap_uuid(Buffer.from(t.replaceAll('-', ''), 'hex')),
  binary: (t) => rhea.types.wrap_binary(Buffer.from(t, 'hex')),
  ulong: (t) => rhea.types.wrap_ulong(Number(t)),
  uint: (t) => rhea.types.wrap_uint(Number(t)),
  int: (t) => rhea.types.wrap_int(Number(t)),
  long: (t) => rhea.types.wrap_long(Number(t)),
  double: (t) => rhea.types.wrap_double(Number(t)),
  boolean: (t) => t === 'true',
  timestamp: (t) => rhea.types.wrap_timestamp(Number(t)),
};
const untyped = (v) => wrap[v.type](v.text);

function encoded(sections) {
  const message = {};
  for (const [name, v] of Object.entries(sections.properties || {})) {
    message[name.replaceAll('-', '_')] = name === 'content-type' ? v.text : untyped(v);
  }
  message.application_properties = {};
  for (const [name, v] of Object.entries(sections.application || {})) {
    message.application_properties[name] = untyped(v);
  }
  if (sections.header && sections.header.durable) message.durable = sections.header.durable.text === 'true';
  if (sections.header && sections.header.ttl) message.ttl = Number(sections.header.ttl.text);
  const parts = (sections.body || []).map((part) => Buffer.from(part.value.text, 'hex'));
  if (parts.length === 1) message.body = rhea.message.data_section(parts[0]);
  if (parts.length > 1) message.body = rhea.message.data_sections(parts);
  return message;
}

const typed = (v) => (Buffer.isBuffer(v) ? { type: 'binary', text: v.toString('hex') } : { type: typeof v, text: String(v) });

function decoded(message) {
  const out = { header: {}, properties: {}, application: {}, body: [] };
  for (const name of ['durable', 'priority', 'ttl', 'delivery_count']) {
    if (message[name] !== undefined) out.header[name.replaceAll('_', '-')] = typed(message[name]);
  }
  for (const name of ['message_id', 'user_id', 'to', 'subject', 'reply_to', 'correlation_id', 'content_type', 'content_encoding',
    'absolute_expiry_time', 'creation_time', 'group_id', 'group_sequence', 'reply_to_group_id']) {
    if (message[name] !== undefined) out.properties[name.replaceAll('_', '-')] = typed(message[name]);
  }
  for (const [name, v] of Object.entries(message.application_properties || {})) out.application[name] = typed(v);
  const body = message.body;
  const isData = body && body.typecode === 0x75;
  const parts = isData && body.multiple ? body.content : [isData ? body.content : body];
  for (const part of parts) out.body.push({ kind: isData ? 'data' : 'value', value: typed(part) });
  return out;
}

const connection = rhea.connect({
  host: job.host, port: job.port, username: job.user, password: job.password, reconnect: false,
});
const fail = (context, endpoint) => {
  const why = (endpoint && endpoint.error) || context.error;
  process.stderr.write((why ? why.condition + ': ' + why.description : 'disconnected') + '\n');
  process.exit(1);
};
rhea.on('sender_error', (c) => fail(c, c.sender));
rhea.on('receiver_error', (c) => fail(c, c.receiver));
rhea.on('session_error', (c) => fail(c, c.session));
rhea.on('connection_error', (c) => fail(c, c.connection));
rhea.on('disconnected', (c) => fail(c));

if (job.do === 'send') {
  const todo = job.messages.slice();
  let open = 0;
  const outcome = (name) => () => {
    say(name);
    if (--open === 0 && todo.length === 0) connection.close();
  };
  const sender = connection.open_sender({ target: { address: job.address }, treat_modified_as_released: false });
  sender.on('sendable', () => {
    while (sender.sendable() && todo.length > 0) {
      open++;
      sender.send(encoded(todo.shift()));
    }
  });
  for (const name of ['accepted', 'released', 'rejected', 'modified']) sender.on(name, outcome(name));
} else {
  const receiver = connection.open_receiver({ source: { address: job.address }, credit_window: 0 });
  receiver.add_credit(job.count);
  receiver.on('message', (context) => {
    say(decoded(context.message));
    if (--job.count === 0) connection.close();
  });
}
