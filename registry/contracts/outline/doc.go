// Package outline puts a contract in the shape of a page that people read: its servers and security, and an entry for
// each operation, channel, message and shared schema, with schemas as flat tables of fields. It is pure: it follows
// references inside the document alone, and every walk is bounded in depth and size, so that a schema that refers to
// itself, or a document made to be expensive, costs little. Texts are the author's: Markdown that nobody has checked.
package outline
