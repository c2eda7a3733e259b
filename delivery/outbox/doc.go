// Package outbox implements the delivery engine: it accepts events, stores them and hands them to the transports.
//
// The database is the queue. An event, its idempotency key and one delivery per approved subscription are written in
// one transaction; Accept returns after that transaction is on disk (guarantee G1). Deliveries are claimed for a lease
// time, sent, and their outcomes written back in batches. A crash between sending and writing back means that the
// same event is sent once more with the same id and Idempotency-Key, never that it is lost.
//
// A delivery goes only along these arrows. Its event is pruned only when it is delivered or discarded.
//
//	accepted, replayed
//	    │
//	    ▼       no answer, 429, 5xx, released, lease over
//	┌ pending ─────────────────────────────────► retrying ┐
//	│   ▲                                                 │
//	├───┼────────── 2xx, acknowledged ────────────────────┼─► delivered ─┐
//	│   │                                                 │              │
//	├───┼────────── other answers, rejected by the ───────┼─► held ──────┤
//	│   │           consumer, paused, suspended           │              │
//	└───┼────────── 410, tries over, key over, ended ─────┴─► dead ──────┤
//	    │                                                                │
//	    └────────── resent by a person; held: what stopped it is over ───┘
//
//	held, dead ──── discarded by a person, with a reason ───► discarded
//	pending, retrying, held by a pause ──── its event expired ► discarded
//	held, dead ──── the 2xx of an attempt that was under way ─► delivered
//
// Deliveries of one key go in order: store/order.go holds the states of a key and who changes its head, run.go sends a key with a
// backlog.
//
// The known hole: a node that stands still, or is cut off from the database, for longer than a lease in the middle of an attempt
// has sent a delivery that another node has taken over. Receivers see the same id and key twice.
package outbox
