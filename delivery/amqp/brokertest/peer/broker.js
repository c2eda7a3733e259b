// A broker whose answers are scripted, made with rhea. Its first argument is JSON: for
// each queue what it does with what is sent to it: "accept" (and hand it out to who
// receives), "release", "modify", "reject", "silent" (no outcome), "drop" (the
// connection breaks in place of an outcome), "close" (in place of the attach), "detach"
// (in place of an outcome) or "stall" (no credit). "rejected CONDITION" rejects with an
// error condition, "detached CONDITION" ends the link with it, "refused CONDITION" the
// attach and "forced CONDITION" the connection; a number after the condition is how often,
// and then the queue accepts. A queue it does not know is not found. As on Service Bus a
// queue has a dead-letter queue NAME/$DeadLetterQueue, whose name may be in lower case; it
// gets what is rejected and what failed ten times, with DeadLetterReason and
// DeadLetterErrorDescription among the application properties. Nobody can send to it.
// Prints the port it took, then every event as JSON.
'use strict';
const rhea = require('rhea');
const queues = JSON.parse(process.argv[process.argv.length - 1]);
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const container = rhea.create_container({ id: 'scripted' });
container.sasl_server_mechanisms.enable_anonymous();
container.sasl_server_mechanisms.enable_plain((user, password) => user === 'guest' && password === 'guest');
const options = { port: 0, host: '127.0.0.1', autoaccept: false, autosettle: true, treat_modified_as_released: false, receiver_options: { credit_window: 0 } };

const DEAD = '/$DeadLetterQueue';
const stored = {}; // queue -> messages that wait
const takers = {}; // queue -> sender links to those who receive
const limit = 10;

const base = (address) => (address.toLowerCase().endsWith(DEAD.toLowerCase()) ? address.slice(0, -DEAD.length) : address);
const isDead = (address) => base(address) !== address;
const canonical = (address) => (isDead(address) ? base(address) + DEAD : address);
const times = {}; // queue -> how often it did as it was told
function told(queue, word) { // the condition, when the queue is to do this now
  const [verb, condition, limit] = String(queues[queue]).split(' ');
  if (verb !== word) return undefined;
  times[queue] = (times[queue] || 0) + 1;
  if (limit !== undefined && times[queue] > Number(limit)) { queues[queue] = 'accept'; return undefined; }
  return condition;
}
const known = (address) => queues[base(address)] !== undefined;

function put(queue, message) {
  (stored[queue] = stored[queue] || []).push(message);
  hand(queue);
}

function hand(queue) {
  for (const sender of takers[queue] || []) {
    while (sender.sendable() && (stored[queue] || []).length > 0) {
      const message = stored[queue].shift();
      const delivery = sender.send(Object.assign({}, message, { message_annotations: { 'x-opt-enqueued-time': rhea.types.wrap_timestamp(message.at) } }));
      delivery.kept = message;
      sender.out.add(delivery);
      say({ event: 'handed', queue, id: message.message_id, count: message.delivery_count || 0 });
    }
  }
}

function bury(queue, message, reason, description) {
  const properties = Object.assign({}, message.application_properties, { DeadLetterReason: reason, DeadLetterErrorDescription: description });
  put(queue + DEAD, Object.assign({}, message, { application_properties: properties, delivery_count: 0 }));
}

function back(queue, delivery, failed) {
  const message = delivery.kept;
  failed = failed && !queue.endsWith(DEAD); // from there nothing goes further
  if (failed) message.delivery_count = (message.delivery_count || 0) + 1;
  if (failed && message.delivery_count >= limit) return bury(queue, message, 'MaxDeliveryCountExceeded', 'Message could not be consumed after 10 delivery attempts.');
  (stored[queue] = stored[queue] || []).unshift(message);
  return setImmediate(hand, queue);
}

function refuse(link, condition, description) {
  link.close({ condition, description });
}

container.on('receiver_open', (context) => { // someone sends to us
  const receiver = context.receiver;
  const queue = receiver.remote.attach.target.address;
  say({ event: 'attach', role: 'sender', queue });
  if (!known(queue)) return refuse(receiver, 'amqp:not-found', 'no queue ' + queue);
  if (isDead(queue)) return refuse(receiver, 'amqp:not-allowed', 'nobody sends to ' + queue);
  const refusal = told(queue, 'refused');
  if (refusal) return refuse(receiver, refusal, 'scripted');
  if (queues[queue] === 'close') return context.connection.socket.destroy();
  receiver.set_target({ address: queue });
  if (queues[queue] !== 'stall') receiver.add_credit(100);
  return undefined;
});

container.on('message', (context) => {
  const queue = context.receiver.remote.attach.target.address;
  const { message, delivery } = context;
  say({ event: 'transfer', queue, id: message.message_id, durable: message.durable === true, ttl: message.ttl });
  context.receiver.add_credit(1);
  const rejection = told(queue, 'rejected');
  if (rejection) return delivery.update(true, rhea.message.rejected({ error: { condition: rejection, description: 'scripted' } }).described());
  const detachment = told(queue, 'detached');
  if (detachment) return refuse(context.receiver, detachment, 'scripted');
  const end = told(queue, 'forced');
  if (end) return context.connection.close({ condition: end, description: 'scripted' });
  switch (queues[queue]) {
    case 'accept':
      message.at = Date.now();
      put(queue, message);
      return delivery.accept();
    case 'release': return delivery.update(true, rhea.message.released().described());
    case 'modify': return delivery.update(true, rhea.message.modified({ delivery_failed: true }).described());
    case 'reject': return delivery.update(true, rhea.message.rejected({ error: { condition: 'amqp:precondition-failed', description: 'scripted' } }).described());
    case 'drop': return context.connection.socket.destroy();
    case 'detach': return refuse(context.receiver, 'amqp:resource-deleted', 'the queue was deleted');
    default: return undefined; // silent
  }
});

container.on('sender_open', (context) => { // someone receives from us
  const sender = context.sender;
  const asked = sender.remote.attach.source.address;
  const queue = canonical(asked);
  say({ event: 'attach', role: 'receiver', queue });
  if (!known(queue)) return refuse(sender, 'amqp:not-found', 'no queue ' + queue);
  sender.remote.attach.source.address = queue;
  sender.set_source({ address: asked });
  sender.out = new Set();
  (takers[queue] = takers[queue] || []).push(sender);
  return undefined;
});
container.on('sendable', (context) => hand(context.sender.remote.attach.source.address));

const settled = (outcome, then) => container.on(outcome, (context) => {
  const queue = context.sender.remote.attach.source.address;
  const { delivery } = context;
  context.sender.out.delete(delivery);
  say({ event: outcome, queue, id: delivery.kept.message_id });
  then(queue, delivery, context);
});
settled('accepted', () => {});
settled('released', (queue, delivery) => back(queue, delivery, false));
settled('modified', (queue, delivery) => back(queue, delivery, delivery.remote_state.delivery_failed));
settled('rejected', (queue, delivery) => {
  const error = (delivery.remote_state && delivery.remote_state.error) || {};
  bury(queue, delivery.kept, String(error.condition), String(error.description));
});

// What came with the end in one read is announced after it: an outcome must count before the rest goes back.
function gone(sender) {
  const queue = sender.remote.attach && sender.remote.attach.source && sender.remote.attach.source.address;
  takers[queue] = (takers[queue] || []).filter((other) => other !== sender);
  setImmediate(() => {
    for (const delivery of sender.out || []) back(queue, delivery, true);
    if (sender.out) sender.out.clear();
  });
}
container.on('sender_close', (context) => gone(context.sender));
for (const end of ['disconnected', 'connection_close', 'session_close']) {
  container.on(end, (context) => {
    for (const all of Object.values(takers)) for (const sender of all.slice()) if (sender.connection === context.connection) gone(sender);
  });
}
container.on('error', () => {});
container.on('protocol_error', () => {});
container.on('connection_error', () => {});

const server = container.listen(options);
server.on('listening', () => say({ event: 'listening', port: server.address().port }));
process.stdin.on('end', () => process.exit(0)).resume();
