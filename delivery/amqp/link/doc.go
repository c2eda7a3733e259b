// Package link connects to an AMQP 1.0 broker: it sends to queues, receives from them, and asks whether they are there.
//
// What it guarantees: a send is a success only when the broker said accepted (AMQP-07); every other end is a typed error that
// reports whether the message may have been written all the same. A message that was received leaves its queue only when it is
// accepted or rejected by the one who handles it (AMQP-10); that fails, and says so, when the link it came over is gone, for the
// broker then delivers it again. No queue is ever declared (AMQP-46). Lost connections come back, with growing waits.
//
// How it stands apart: sends share one connection; every queue that is received from and every question has one of its own, so
// trouble with one does not touch the others. On trouble a connection is closed whole, for sessions that are opened on one where
// another ended have been seen to hang.
//
// What it does not know: how many messages wait in a queue. AMQP 1.0 has no portable question for it.
package link
