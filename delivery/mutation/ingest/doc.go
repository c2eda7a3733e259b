// Package ingest takes mutations in: it writes what is published into the history of a dataset.
//
// A publication is a stream of groups, from a file or a zip of the format, or from JSON. Groups are taken in order, each
// wholly or not at all (MUT-22), many in a transaction, with the progress of the publication in the same one. Every state
// gets an id here, a UUID that is never given twice (MUT-10, MUT-11); what its publisher calls it is stored beside it, and a
// later WAS may name either, or tell the fields alone (MUT-12, MUT-15). A WAS must refer to exactly one state that is there
// now: so histories never go wrong silently, and are right from top to bottom (MUT-13, MUT-26).
//
// A request that was cut off is sent again from its beginning with the same key: a hash that runs over the groups tells that
// they are the same, and what is in is passed over.
package ingest
