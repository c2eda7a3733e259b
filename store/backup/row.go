package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
)

// Kinds of columns in a backup. They are the same for both databases, so that a backup of one can be restored into the
// other.
const (
	kindText    = "text"
	kindInteger = "integer"
	kindBoolean = "boolean"
	kindBytes   = "bytes"
	kindReal    = "real"
)

// maxBackupValue bounds one value of a backup, in bytes; SQLite keeps no larger one.
const maxBackupValue = 1 << 30

// errBadRow is a row that no backup of ours has.
var errBadRow = errors.New("malformed row")

// appendValue adds one value of a column to an encoded row: a 0 for NULL; else a 1 and then, by kind, a varint, a byte,
// eight bytes, or a length and that many bytes.
func appendValue(row []byte, kind string, v any) ([]byte, error) {
	if v == nil {
		return append(row, 0), nil
	}
	row = append(row, 1)
	switch v := v.(type) {
	case string:
		if kind == kindText || kind == kindBytes {
			return append(binary.AppendUvarint(row, uint64(len(v))), v...), nil
		}
	case []byte:
		if kind == kindText || kind == kindBytes {
			return append(binary.AppendUvarint(row, uint64(len(v))), v...), nil
		}
	case bool:
		if kind == kindBoolean {
			return append(row, truth(v)), nil
		}
	case int64:
		switch kind {
		case kindInteger:
			return binary.AppendVarint(row, v), nil
		case kindBoolean:
			return append(row, truth(v != 0)), nil
		}
	case float64:
		if kind == kindReal {
			return binary.BigEndian.AppendUint64(row, math.Float64bits(v)), nil
		}
	}
	return nil, fmt.Errorf("a %T stands in a column for %s", v, kind)
}

func truth(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// rowReader reads encoded rows.
type rowReader struct {
	in  *bufio.Reader
	row []byte // the last one, encoded again
}

func newRowReader(in io.Reader) *rowReader { return &rowReader{in: bufio.NewReaderSize(in, 64<<10)} }

// next reads a row of these columns, and answers io.EOF after the last.
func (r *rowReader) next(columns []Column) ([]any, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	values := make([]any, len(columns))
	r.row = r.row[:0]
	for i, c := range columns {
		v, err := r.value(c.Kind)
		if err == nil {
			values[i] = v
			r.row, err = appendValue(r.row, c.Kind, v)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, noEOF(err))
		}
	}
	return values, nil
}

// noEOF keeps the end of the input in the middle of a row from being taken for the end of the rows.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *rowReader) value(kind string) (any, error) {
	present, err := r.in.ReadByte()
	if err != nil || present == 0 {
		return nil, err
	}
	if present != 1 {
		return nil, errBadRow
	}
	switch kind {
	case kindInteger:
		return binary.ReadVarint(r.in)
	case kindBoolean:
		b, err := r.in.ReadByte()
		if err == nil && b > 1 {
			err = errBadRow
		}
		return b == 1, err
	case kindReal:
		var b [8]byte
		_, err := io.ReadFull(r.in, b[:])
		return math.Float64frombits(binary.BigEndian.Uint64(b[:])), err
	case kindText:
		b, err := r.bytes()
		return string(b), err
	case kindBytes:
		return r.bytes()
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}

// bytes reads a length and that many bytes. It takes memory as they come: the length may be a lie.
func (r *rowReader) bytes() ([]byte, error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return nil, err
	}
	if n > maxBackupValue {
		return nil, errBadRow
	}
	if n <= 64<<10 {
		b := make([]byte, n)
		_, err := io.ReadFull(r.in, b)
		return b, err
	}
	b, err := io.ReadAll(io.LimitReader(r.in, int64(n)))
	if err == nil && uint64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// tally counts rows and keeps a digest of them that is the same in whatever order they come, because no two databases
// keep the same order.
type tally struct {
	rows int64
	sum  [4]uint64 // the rows' SHA-256, added up in four parts
}

func (t *tally) add(row []byte) {
	t.rows++
	digest := sha256.Sum256(row)
	for i := range t.sum {
		t.sum[i] += binary.BigEndian.Uint64(digest[i*8:])
	}
}

// digest is 64 hexadecimal digits.
func (t *tally) digest() string {
	var b []byte
	for _, part := range t.sum {
		b = binary.BigEndian.AppendUint64(b, part)
	}
	return hex.EncodeToString(b)
}
