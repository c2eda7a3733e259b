// Package replica keeps an exact copy of somebody's dataset in a database of one's own, by the deliveries of its changes
// (MUT-01).
//
// A copy is made of an initial delivery and kept up with deltas. Deliveries are streamed: nothing waits for a whole zip,
// and memory does not grow with it (MUT-28). Many groups go into one transaction, a group never into two (MUT-22), and
// how far the copy is stands in the same transaction (MUT-37). So whatever happens - a cut line, a killed program, a
// machine without power - the copy equals the dataset after some group, and the next run goes on behind that one. Losing the
// last transactions at a power cut is allowed for: they are done again.
//
// An initial delivery goes into a table of its own while the view of the copy still shows the old one; they are swapped in
// one transaction at the end. Nothing that is shown has the ids of states in it (MUT-18).
//
// Nothing here knows what the objects are or how their history works (MUT-03, MUT-04).
package replica
