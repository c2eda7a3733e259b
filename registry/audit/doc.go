// Package audit proves that the audit trail is as it was written: it signs checkpoints of its chain, walks the chain, and writes entries
// in the forms that other systems read.
//
// The chain itself is made in package store, in the transaction of what an entry tells of: each entry holds the hash of the one before
// it. Whoever can write to the database can compute such hashes too. What they cannot make is a checkpoint: that is signed with a key
// which only the key of the vault opens. So a change of an entry is found when a checkpoint behind it is kept, in the database or, which
// is better, where the administrators of the database cannot write. The known hole: what was written after the last checkpoint that
// is out of their reach can be removed from the end, together with the checkpoints in the database.
package audit
