// Package compare tells what changed between two versions of a contract and whom it breaks (EDU-08, CE-16). It is pure:
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
// OpenAPI documents, and the payloads and headers of AsyncAPI messages put in the shape of one, are judged by oasdiff;
// the texts and some of the levels are ours. Each place that oasdiff names is led back to a JSON Pointer in the document
// that was given. What oasdiff does not see is compared here: media types, security, servers, parameters in the query
// string as a whole, additionalProperties, and all of AsyncAPI around the schemas. Schemas that are no JSON Schema (Avro,
// Protobuf, RAML) are only compared as they are written; a difference is a warning.
package compare
