// Package export makes what followers of a dataset fetch: deltas, snapshots, and the parts of those that one of them wants.
//
// A delta is the groups behind the delta before it, up to the last group that was there when it was begun; a snapshot is
// every state that was there at the end of a delta (MUT-31, MUT-32), which it names (MUT-34). Both are written as a stream
// from the store into a zip in the store, while the dataset goes on to change, and are stored by the one transaction that
// finishes their zip, only if they still fit: so that two nodes, a crash or a replaced history leave no gap, no overlap and
// no double. What is broken off leaves an unfinished file, which is pruned.
//
// A delta can be fetched until 31 times 24 hours after the end of its window, that moment included (MUT-33); afterwards it is
// known that it was there, so that a follower that asks is answered to rebuild from a snapshot. Of snapshots the newest two
// stay, and any other for a day after a newer one came. Downloads that were asked for stay seven days, those of a subscription
// as long as their delta or snapshot. What an old lineage had can be fetched no more, and its bytes go after a day.
//
// A part is made from the finished zip: mutations pass byte for byte. It has a lineage of its own, which follows from the
// dataset's and the filter, so that another area is another lineage (MUT-38, MUT-49). Parts with the same bytes are made once.
package export
