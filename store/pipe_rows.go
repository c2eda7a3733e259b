package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// kinds are the types of the columns of a bulk insert, by the letter that stands for each.
var kinds = map[byte]struct {
	name string
	oid  uint32
}{
	't': {"text", pgtype.TextOID}, 'i': {"int8", pgtype.Int8OID}, 'b': {"bool", pgtype.BoolOID}, 'x': {"bytea", pgtype.ByteaOID},
}

// pipeRows is how many rows one statement of PostgreSQL takes at most.
const pipeRows = 1000

// unnested is the INSERT of a bulk that takes each column as an array: one statement for any number of rows, which is planned
// once.
func (b *bulk) unnested() string {
	arrays := make([]string, len(b.kinds))
	for i := range arrays {
		arrays[i] = `$` + strconv.Itoa(i+1) + `::` + kinds[b.kinds[i]].name + `[]`
	}
	return `INSERT INTO ` + b.into + ` SELECT * FROM unnest(` + strings.Join(arrays, ", ") + `)` + b.suffix
}

// sendMany inserts n rows on PostgreSQL. It tells how many were written and the first columns returned, but neither for a
// bulk that is blind: that one may wait for the commit.
func (tx *Tx) sendMany(ctx context.Context, b bulk, n int, values func(args []any, i int) []any) (written int64, returned []string, err error) {
	args := make([]any, 0, len(b.kinds))
	query := tx.texts.as(textKey{into: b.into, suffix: b.suffix}, b.unnested)
	for i := 0; i < n; {
		columns := newArrays(b.kinds, min(n-i, pipeRows))
		for rows := 0; i < n && rows < pipeRows && columns.size < pipeBytes; rows, i = rows+1, i+1 {
			args = values(args[:0], i)
			columns.add(args)
		}
		d := &direct{params: columns.params(), later: b.blind}
		result, err := tx.ext.ExecContext(ctx, query, d)
		if err != nil {
			return 0, nil, err
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return 0, nil, err
		}
		written, returned = written+rows, append(returned, d.first...)
	}
	return written, returned, nil
}

// arrays are columns as arrays of PostgreSQL in their binary format.
type arrays struct {
	columns [][]byte
	rows    uint32
	size    int
	nulls   []bool
}

// arrayHead is the length of what comes before the elements: dimensions, whether there are NULLs, type, length and first index.
const arrayHead = 20

func newArrays(letters string, rows int) *arrays {
	a := &arrays{columns: make([][]byte, len(letters)), nulls: make([]bool, len(letters))}
	for i := range a.columns {
		c := make([]byte, arrayHead, arrayHead+rows*elementGuess)
		binary.BigEndian.PutUint32(c, 1)
		binary.BigEndian.PutUint32(c[8:], kinds[letters[i]].oid)
		binary.BigEndian.PutUint32(c[16:], 1)
		a.columns[i] = c
	}
	return a
}

// elementGuess is about how many bytes an element takes.
const elementGuess = 32

// add adds a row.
func (a *arrays) add(row []any) {
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
		a.size += len(c) - before
	}
	a.rows++
}

// params are the finished arrays.
func (a *arrays) params() [][]byte {
	for i, c := range a.columns {
		if a.nulls[i] {
			binary.BigEndian.PutUint32(c[4:], 1)
		}
		binary.BigEndian.PutUint32(c[12:], a.rows)
	}
	return a.columns
}

// appendBinary appends a value as PostgreSQL has it in its binary format: a text, bytes, a BIGINT or a BOOLEAN.
func appendBinary(to []byte, value any) (out []byte, null bool) {
	switch v := value.(type) {
	case string:
		return append(to, v...), false
	case []byte:
		return append(to, v...), v == nil
	case int64:
		return binary.BigEndian.AppendUint64(to, uint64(v)), false
	case Time:
		if v.IsZero() {
			return to, true
		}
		return binary.BigEndian.AppendUint64(to, uint64(v.UnixMicro())), false
	case bool:
		if v {
			return append(to, 1), false
		}
		return append(to, 0), false
	case nil:
		return to, true
	}
	panic(fmt.Sprintf("a %T has no binary format here", value))
}

// binaryParams are arguments of a statement in their binary formats.
func binaryParams(args []any) [][]byte {
	params := make([][]byte, len(args))
	for i, value := range args {
		if p, null := appendBinary(make([]byte, 0, 8), value); !null {
			params[i] = p
		}
	}
	return params
}

// later runs a statement of which nobody asks what came of it. On PostgreSQL it may wait for the commit, which fails when it
// fails.
func (tx *Tx) later(ctx context.Context, query string, args ...any) error {
	if tx.dialect != Postgres {
		_, err := tx.exec(ctx, query, args...)
		return err
	}
	text := tx.texts.as(textKey{into: query}, func() string { return tx.ext.Rebind(query) })
	_, err := tx.ext.ExecContext(ctx, text, &direct{params: binaryParams(args), later: true})
	return err
}

// laterIn is later for a statement that ends with "id IN", and the ids that it is for.
func (tx *Tx) laterIn(ctx context.Context, query string, first []any, ids []string) error {
	text := tx.texts.as(textKey{into: query}, func() string {
		return tx.ext.Rebind(strings.TrimSuffix(query, "IN") + `= ANY (?) AND id >= ? AND id <= ?`)
	})
	list := newArrays("t", len(ids))
	for _, id := range ids {
		list.add([]any{id})
	}
	params := append(binaryParams(first), list.params()...)
	params = append(params, []byte(slices.Min(ids)), []byte(slices.Max(ids)))
	return tx.planned(ctx, text, params)
}

// planned runs a statement that finds rows by their ids, under a plan that is made once. The bounds of the ids tell the
// partitions.
func (tx *Tx) planned(ctx context.Context, text string, params [][]byte) error {
	if err := tx.planOnce(ctx); err != nil {
		return err
	}
	_, err := tx.ext.ExecContext(ctx, text, &direct{params: params, later: true})
	return err
}

// planOnce has the statements of the transaction from now on run under plans that are made once and use indexes. To plan anew
// over the partitions of every day takes longer than to claim or to complete, and a plan that was made while the partition
// of a day was empty reads it from end to end when it is not. A bitmap would read all that waits to find what comes first.
func (tx *Tx) planOnce(ctx context.Context) error {
	if tx.plannedOnce {
		return nil
	}
	tx.plannedOnce = true
	const settings = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true)`
	_, err := tx.ext.ExecContext(ctx, settings, &direct{later: true})
	return err
}
