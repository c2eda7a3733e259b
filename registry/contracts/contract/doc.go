// Package contract reads the documents that an exchange is based on: OpenAPI 3.0, 3.1, 3.2 and AsyncAPI 2.6, 3.0, 3.1, in JSON or
// YAML (EDU-21). It is pure: it reads no file, opens no connection and never follows a reference that leads outside the document.
//
// [Parse] reads strictly: one document, valid UTF-8, no duplicate member names, no YAML alias that refers to itself, no
// merge keys, and no more bytes, nodes, depth and aliases than [Limits] allow. [Document.Validate] holds the document
// against the official JSON Schemas and then against rules that no schema can state. What is wrong comes back as
// [Finding] values with a JSON Pointer, a line and a column; both count from 1, columns in code points.
//
// # Event types
//
// [Document.EventTypes] lists the CloudEvents types that the messages of an AsyncAPI document define. The types of a
// message come from the first of these that is there:
//
//  1. the const or enum of a header property ce-type, ce_type, cloudEvents:type or cloudEvents_type, or of a property
//     type of headers or payload that describe a CloudEvent (they also have specversion, or both id and source);
//     allOf, oneOf, anyOf and references inside the document are followed, and each value of an enum is a type;
//  2. the extension x-cloudevents-type of the message: a text or a list of texts;
//  3. the examples: ce-type in the headers or type in the payload of a message example, then the example, examples or
//     default of the property type found under 1;
//  4. the name of the message, or else its key, when it is a reverse domain name such as nl.example.student.enrolled.
//
// Message traits are applied first. A message for which none of these gives a type is not a CloudEvent and is left out.
// When the payload describes the whole event (as above), the schema of the data is that of its property data; else the
// payload is the data. The extension x-titles of a message gives titles in other languages: {nl: …, nb: …}. Schemas other than JSON Schema (Avro, Protobuf, OpenAPI 3.0) are not given.
package contract
