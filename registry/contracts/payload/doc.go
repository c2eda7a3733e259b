// Package payload holds the data of events against the JSON Schema of the contract version that defines them (CE-15).
//
// A schema is compiled once and kept; the least recently used one goes when there are too many. It is whole in itself:
// nothing is ever fetched. Formats that JSON Schema knows are checked in every draft; a pattern that Go cannot run, such
// as one with look-around, is taken to fit, and [Schema.Unchecked] names it.
//
// One check is bounded in the work it does, whatever schema and data are: each schema looked at is a step. A number
// beyond what a double can hold is refused before it costs anything.
package payload
