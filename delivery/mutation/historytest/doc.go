// Package historytest makes random histories of registers, as sources of them keep
// them, and knows what an exact copy holds at every moment (MUT-01, MUT-02).
//
// Three registers keep their history in ways of their own, and so do the models
// here: when an object ends, BAG adds a version that says so, and a wrong one is
// made inactive instead of deleted; BGT and BRK delete it. What a model does is
// known here alone: those who process the mutations must do without.
package historytest
