// Package compare finds what changed between two versions of a contract and whom it breaks (EDU-08, CE-16). It is pure:
// it reads no file, opens no connection, follows no reference that leads outside the document and asks no clock, so the
// same two documents always give the same answer.
//
// # Who is bound
//
// A contract has an owner and others that hold to it. A change is judged for those others:
//
//   - who calls an API (paths) sends requests and reads responses: it is the consumer;
//   - who is called back (webhooks and callbacks of OpenAPI) reads requests and sends responses: it is the consumer too,
//     and the directions are the other way round;
//   - who gets a message that the application of an AsyncAPI document sends (send; subscribe in 2.6) is a consumer;
//   - who sends a message that the application receives (receive; publish in 2.6) is a producer.
//
// What is read may get narrower without harm and must not get wider; what is sent may get wider and must not get
// narrower. A message of a channel that no operation names is taken as one that is read.
//
// # How
//
// A schema is compared by what it allows, not by how it is written. All schemas that a value has to fit - the schema itself,
// what it refers to, the parts of its allOf - form a bundle, and of two bundles each keyword is held against the other:
// does the new one allow fewer values, more, others, or can it not be told? A pair of bundles is compared once for each
// direction, and what differs is told of at every place that leads to it. Keywords that OpenAPI 3.0, 3.1 and AsyncAPI
// write differently (nullable, exclusiveMinimum, tuples, bytes) are brought into one form first.
//
// Around the schemas, the package compares operations, parameters and the way they are written, media types, the encoding of
// forms, answers, headers, links, security, servers, and all of AsyncAPI. Traits are merged into their message or operation
// first. Of the bindings of a protocol, fields by which the parties find or read each other break them. Schemas that are no JSON Schema (Avro, Protobuf,
// RAML) are only compared as they are written; a difference is a warning.
package compare
