// Package lint finds what is wrong in mutation deliveries and no schema can see (MUT-64).
//
// Files and zips are read once, in the order in which they would be processed, whatever their size. What a state's id
// went through can only be judged when everything was read: each use of an id is noted in a record of a fixed size, the
// records are sorted by id and then by order of processing, and each id's uses are judged one after the other. Records
// that do not fit in the memory given are sorted in pieces, kept in temporary files, and merged at the end. So memory
// stays flat, nothing is left out, and a finding about ids comes with the report and not before.
package lint
