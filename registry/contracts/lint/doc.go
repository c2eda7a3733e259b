// Package lint gives advice on contracts: it holds a document against rules that are not needed to register it, and
// counts how many it keeps. Like package contract it is pure.
//
// # Rules
//
// OpenAPI documents are held against the rules of the NL API Design Rules 2.2 that can be tested in a document, those of
// the public linter of that standard; the rules for the validity of a document are left to [contract.Document.Validate].
// What receives CloudEvents, in an OpenAPI document, and what AsyncAPI documents say of events is held against the
// Edukoppeling profile and NL GOV CloudEvents (EDU-01, EDU-26, CE-06 to CE-20, IDEM-02).
//
// # Score
//
// A rule applies when the document has something it speaks of, and holds when nothing is found. An error weighs 3, a
// warning 1, an info nothing. The score is 100 times the weight of the rules that hold, divided by that of those that
// apply, rounded down: only a document that keeps every rule has 100, and where no rule applies there is nothing to
// improve, so it has 100 as well. The same document always has the same score.
//
// # Where it differs from the public linter
//
//   - A server address without a host is fine, as it is in the linter since: it is as safe as the page it stands on.
//   - A path below /.well-known is named by a standard (RFC 8615), not by its author.
//   - A property such as startDateTime is an instant, so date-time is right for it. What is a number, a truth value or
//     an object needs no format.
//   - Query parameters of a whole path are looked at too, and answers for a range such as 2XX.
//   - Only what is an operation, a response or a schema counts: not examples, extensions, or a property that happens to
//     be called servers or output.
//   - The rules about methods and about the names of properties do what their text says; those of the linter look at
//     something else, or at nothing.
package lint
