// Package keys changes the key of the vault while programs run, and counts what each key seals.
//
// A change goes in steps, each of which can be killed and begun again: the new key is announced; when every node that lives has it, it comes
// into use, which the nodes follow; when all of them seal with it, every value is sealed anew; at last an old key that no value needs may be
// removed. At each moment every node can open every value.
//
// The known hole: a process that began before the key came into use, and is no node, may still seal with the old key. Such values are found
// before the old key is removed.
package keys
