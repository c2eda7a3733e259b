package lint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// recordSize counts the bytes of a record in a file.
const recordSize = 32 + 3*8 + 3*4

// record is one use of an id.
type record struct {
	key    [32]byte // the id; see keyOf
	seq    uint64   // of the mutation, times two; odd for a WORDT
	fields uint64   // of the state's digest
	object uint64   // of the object's type and id; 0 is not known
	file   uint32
	line   uint32
	group  uint32
}

func (r *record) wordt() bool { return r.seq&1 == 1 }

func compare(a, b *record) int {
	if c := bytes.Compare(a.key[:], b.key[:]); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

func (r *record) append(to []byte) []byte {
	to = append(to, r.key[:]...)
	for _, n := range []uint64{r.seq, r.fields, r.object} {
		to = binary.BigEndian.AppendUint64(to, n)
	}
	for _, n := range []uint32{r.file, r.line, r.group} {
		to = binary.BigEndian.AppendUint32(to, n)
	}
	return to
}

func (r *record) read(from []byte) {
	copy(r.key[:], from)
	r.seq, r.fields, r.object = binary.BigEndian.Uint64(from[32:]), binary.BigEndian.Uint64(from[40:]), binary.BigEndian.Uint64(from[48:])
	r.file, r.line, r.group = binary.BigEndian.Uint32(from[56:]), binary.BigEndian.Uint32(from[60:]), binary.BigEndian.Uint32(from[64:])
}

// The forms of a key, in its first byte.
const (
	keyUUID = 1 + iota // the 16 bytes follow
	keyText            // the length and the id follow
	keySum             // a part of the id's SHA-256 follows
)

// keyOf gives an id a fixed size, so that most can be shown again.
func keyOf(id string) (key [32]byte) {
	if u, err := uuid.Parse(id); err == nil && len(id) == 36 && u.String() == id {
		key[0] = keyUUID
		copy(key[1:], u[:])
		return key
	}
	if len(id) <= len(key)-2 {
		key[0], key[1] = keyText, byte(len(id))
		copy(key[2:], id)
		return key
	}
	sum := sha256.Sum256([]byte(id))
	key[0] = keySum
	copy(key[1:], sum[:])
	return key
}

func idOf(key [32]byte) string {
	switch key[0] {
	case keyUUID:
		return uuid.UUID(key[1:17]).String()
	case keyText:
		return string(key[2 : 2+int(key[1])])
	}
	return fmt.Sprintf("with SHA-256 %s…", hex.EncodeToString(key[1:9]))
}

// mark is a part of a sum, never 0.
func mark(sum [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(sum[:]) | 1 }
