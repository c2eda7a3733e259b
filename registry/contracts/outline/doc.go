// Package outline puts a contract in the shape of a page that people read: its servers and security, groups by tag or channel, and
// an entry for each operation, channel, message and shared schema, with schemas as trees of fields, samples beside them, and an
// anchor for each. It also finds words in a document and locates changes.
//
// It is pure: it follows references inside the document alone, and every walk is bounded in depth and size, so that a schema
// that refers to itself, or a document made to be expensive, costs little. Texts are the author's: Markdown that nobody has
// checked. An Outline is immutable and safe for concurrent use; it keeps the decoded document in memory.
package outline
