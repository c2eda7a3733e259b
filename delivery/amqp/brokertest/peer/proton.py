# A foreign party made with python3-qpid-proton. Reads one job as JSON from its input:
# {"do": "send" or "receive", "url", "address", "messages" or "count"}. Prints one line
# a message: the outcome of what it sent, or all sections of what it received as they
# are on the wire, each value with its AMQP type.
import json
import sys
import uuid

import proton
from proton.handlers import MessagingHandler
from proton.reactor import Container

SECTIONS = {0x70: "header", 0x71: "deliveryAnnotations", 0x72: "annotations", 0x73: "properties",
            0x74: "application", 0x75: "data", 0x76: "sequence", 0x77: "value", 0x78: "footer"}
FIELDS = {
    "header": ["durable", "priority", "ttl", "first-acquirer", "delivery-count"],
    "properties": ["message-id", "user-id", "to", "subject", "reply-to", "correlation-id", "content-type",
                   "content-encoding", "absolute-expiry-time", "creation-time", "group-id", "group-sequence",
                   "reply-to-group-id"],
}


def typed(v):
    for kind, name in ((bool, "boolean"), (proton.symbol, "symbol"), (str, "string"), (uuid.UUID, "uuid"),
                       (proton.timestamp, "timestamp"), (proton.ulong, "ulong"), (proton.uint, "uint"),
                       (proton.ubyte, "ubyte"), (proton.int32, "int"), (int, "long"), (float, "double")):
        if isinstance(v, kind):
            return {"type": name, "text": str(v).lower() if kind is bool else str(v)}
    if isinstance(v, (bytes, bytearray, memoryview)):
        return {"type": "binary", "text": bytes(v).hex()}
    if v is None:
        return {"type": "null", "text": ""}
    return {"type": type(v).__name__, "text": str(v)}


def untyped(v):
    kind, text = v["type"], v["text"]
    if kind == "string":
        return text
    make = {"symbol": proton.symbol, "uuid": uuid.UUID, "binary": bytes.fromhex, "boolean": lambda t: t == "true",
            "ulong": lambda t: proton.ulong(int(t)), "uint": lambda t: proton.uint(int(t)),
            "int": lambda t: proton.int32(int(t)), "long": int, "double": float,
            "timestamp": lambda t: proton.timestamp(int(t))}
    return make[kind](text)


def decoded(raw):
    out = {"body": []}
    while raw:
        data = proton.Data()
        used = data.decode(raw)
        raw = raw[used:]
        data.rewind()
        data.next()
        section = data.get_object()
        name = SECTIONS[int(section.descriptor)]
        value = section.value
        if name in FIELDS:
            out[name] = {f: typed(v) for f, v in zip(FIELDS[name], value) if v is not None}
        elif name in ("data", "sequence", "value"):
            out["body"].append({"kind": name, "value": typed(value)})
        else:
            out[name] = {str(k): typed(v) for k, v in value.items()}
    return out


def keep_raw(self, encoded):
    self.raw = bytes(encoded)
    original_decode(self, encoded)


original_decode = proton.Message.decode
proton.Message.decode = keep_raw


def encoded(sections):
    m = proton.Message()
    for name, v in sections.get("properties", {}).items():
        attribute = {"message-id": "id", "to": "address"}.get(name, name.replace("-", "_"))
        setattr(m, attribute, untyped(v))
    m.properties = {k: untyped(v) for k, v in sections.get("application", {}).items()} or None
    header = sections.get("header", {})
    m.durable = header.get("durable", {}).get("text") == "true"
    if "ttl" in header:
        m.ttl = int(header["ttl"]["text"]) / 1000
    for part in sections.get("body", []):
        m.body = untyped(part["value"])
        m.inferred = part["kind"] == "data"
    return m


class Peer(MessagingHandler):
    def __init__(self, job):
        super().__init__(prefetch=0 if job["do"] == "receive" else 10)
        self.job, self.todo, self.open = job, list(job.get("messages") or []), 0

    def on_start(self, event):
        options = {"allowed_mechs": "PLAIN"} if "@" in self.job["url"] else {"allowed_mechs": "ANONYMOUS"}
        self.connection = event.container.connect(self.job["url"], reconnect=False, allow_insecure_mechs=True, **options)
        if self.job["do"] == "send":
            event.container.create_sender(self.connection, self.job["address"])
        else:
            receiver = event.container.create_receiver(self.connection, self.job["address"])
            receiver.flow(self.job["count"])

    def on_sendable(self, event):
        while event.sender.credit and self.todo:
            event.sender.send(encoded(self.todo.pop(0)))
            self.open += 1

    def outcome(self, name):
        print(json.dumps(name), flush=True)
        self.open -= 1
        if not self.open and not self.todo:
            self.connection.close()

    def on_accepted(self, event):
        self.outcome("accepted")

    def on_rejected(self, event):
        self.outcome("rejected")

    def on_released(self, event):
        self.outcome("released")

    def on_message(self, event):
        print(json.dumps(decoded(event.message.raw)), flush=True)
        self.job["count"] -= 1
        if not self.job["count"]:
            self.connection.close()

    def failed(self, event, endpoint):
        print(endpoint.remote_condition, file=sys.stderr, flush=True)
        sys.exit(1)

    def on_link_error(self, event):
        self.failed(event, event.link)

    def on_session_error(self, event):
        self.failed(event, event.session)

    def on_connection_error(self, event):
        self.failed(event, event.connection)

    def on_transport_error(self, event):
        self.failed(event, event.transport)


Container(Peer(json.load(sys.stdin))).run()
