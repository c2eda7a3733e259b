package pipe

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// kinds maps letters to the types of columns.
var kinds = map[byte]struct {
	name string
	oid  uint32
}{
	't': {"text", pgtype.TextOID}, 'i': {"int8", pgtype.Int8OID}, 'b': {"bool", pgtype.BoolOID}, 'x': {"bytea", pgtype.ByteaOID},
}

// Arrays holds columns as arrays of PostgreSQL in their binary format.
type Arrays struct {
	columns [][]byte
	rows    uint32
	Size    int
	nulls   []bool
}

// arrayHead gives the length of the header: dimensions, whether there are NULLs, type, length and first index.
const arrayHead = 20

// NewArrays makes empty columns of the types that the letters stand for: t text, i int8, b bool, x bytea. rows is their expected
// length.
func NewArrays(letters string, rows int) *Arrays {
	a := &Arrays{columns: make([][]byte, len(letters)), nulls: make([]bool, len(letters))}
	for i := range a.columns {
		c := make([]byte, arrayHead, arrayHead+rows*elementGuess)
		binary.BigEndian.PutUint32(c, 1)
		binary.BigEndian.PutUint32(c[8:], kinds[letters[i]].oid)
		binary.BigEndian.PutUint32(c[16:], 1)
		a.columns[i] = c
	}
	return a
}

// elementGuess estimates the bytes of an element.
const elementGuess = 32

// Add adds a row.
func (a *Arrays) Add(row []any) {
	for i, value := range row {
		before := len(a.columns[i])
		c := append(a.columns[i], 0, 0, 0, 0)
		c, null := appendBinary(c, value)
		length := len(c) - before - 4
		if null {
			length, a.nulls[i] = -1, true
		}
		binary.BigEndian.PutUint32(c[before:], uint32(length))
		a.columns[i] = c
		a.Size += len(c) - before
	}
	a.rows++
}

// Params returns the finished arrays.
func (a *Arrays) Params() [][]byte {
	for i, c := range a.columns {
		if a.nulls[i] {
			binary.BigEndian.PutUint32(c[4:], 1)
		}
		binary.BigEndian.PutUint32(c[12:], a.rows)
	}
	return a.columns
}

// appendBinary appends a value in the binary format of PostgreSQL: a text, bytes, a BIGINT or a BOOLEAN.
func appendBinary(to []byte, value any) (out []byte, null bool) {
	switch v := value.(type) {
	case string:
		return append(to, v...), false
	case []byte:
		return append(to, v...), v == nil
	case int64:
		return binary.BigEndian.AppendUint64(to, uint64(v)), false
	case bool:
		if v {
			return append(to, 1), false
		}
		return append(to, 0), false
	case nil:
		return to, true
	case instant:
		if v.IsZero() {
			return to, true
		}
		return binary.BigEndian.AppendUint64(to, uint64(v.UnixMicro())), false
	}
	panic(fmt.Sprintf("a %T has no binary format here", value))
}

// BinaryParams returns arguments of a statement in their binary formats.
func BinaryParams(args []any) [][]byte {
	params := make([][]byte, len(args))
	for i, value := range args {
		if p, null := appendBinary(make([]byte, 0, 8), value); !null {
			params[i] = p
		}
	}
	return params
}

// instant is a time, which the database keeps in microseconds; the zero time is NULL.
type instant interface {
	IsZero() bool
	UnixMicro() int64
}

// TypeName returns the name of the type that a letter stands for.
func TypeName(letter byte) string { return kinds[letter].name }
