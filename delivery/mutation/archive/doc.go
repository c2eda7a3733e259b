// Package archive reads and writes the zips of mutation deliveries as a stream, and the deliveries in them.
//
// The names in such a zip, the files in it and their processing have one order (MUT-27), so that a consumer can start
// while it still downloads (MUT-28). Reading needs no seeking: it goes by the local headers, and holds the central
// directory at the end against what it saw. Nothing of a zip is trusted: names, sizes, ratios and counts are bounded,
// and what is encrypted, hidden between the entries or cut off is refused (MUT-29, MUT-30).
package archive
