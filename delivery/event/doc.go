// Package event reads and writes CloudEvents 1.0 in JSON and over HTTP, strictly.
//
// It guarantees that an accepted event keeps the literal and the order of every context attribute and the exact bytes of its
// data, so it leaves as it came (CE-05, CE-23, CE-58). It rejects an event with every problem it can find, each naming the
// attribute, its place and the correction (CE-01 to CE-60).
//
// The known limits: white space around a JSON value that came as the whole body of a binary request is kept in Data, but a
// receiver of the structured form cannot tell it from white space of the envelope. An integer or a boolean that travels in binary
// mode arrives as a string, for headers have no types.
package event
