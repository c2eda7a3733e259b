// Package amqp connects the engine with message brokers that speak AMQP 1.0: it adds one transport and one intake.
//
// For parties of the Norwegian health exchange it follows the AMQP profile of helsenorge.no (AMQP-01 to AMQP-140). An event with
// a business message goes out signed and encrypted, and stays open until its AppRec comes back. What comes in is checked in a
// fixed order, stored, answered, and settled last. For other parties it follows the AMQP binding of CloudEvents.
//
// The guarantee: what a broker gave us and we settled is in the database, with its answer; what a broker accepted from us stands
// as written. A crash at any step is taken up where it was, for every step can be repeated: a messageId is given before a message
// is written and stays (AMQP-121), an event that was taken in before is the same event (guarantee G4), an answer has the same
// messageId each time (AMQP-139). The known hole: an answer that the broker accepted just before a crash is written again under
// its messageId; it is for the other party to see that it is the same.
package amqp

import (
	"embed"
	"io/fs"
)

//go:embed messages*.md
var guides embed.FS

// Guides holds the guide to messages over AMQP, messages.md, and its translations.
func Guides() fs.FS { return guides }
