// Package message reads, checks and writes the messages of the AMQP profile of the Norwegian health exchange: their attributes
// (AMQP-18 to AMQP-41), the checks on them that sender and receiver share (AMQP-98, AMQP-99), the error messages of section 2.2.6
// with their codes, texts and data (AMQP-125 to AMQP-137), and the ids of answers. It carries CloudEvents in the AMQP binding
// too, for parties of no health exchange.
//
// It writes exactly what the profile says and reads liberally (AMQP-140): names in any case, values of any simple type, ids as
// uuid, string, binary or number, times as others write them. What it cannot read it names as a Fault, and never guesses.
//
// What it does not judge: whether a queue, a HER-id, a subject or a CPA is known. That takes the register.
package message
