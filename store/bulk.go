package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"schakel/store/pipe"
)

// bulk is an INSERT of many rows; width is its number of columns, suffix what follows the rows. kinds are the types of the
// columns for PostgreSQL, a letter each. Of one that is blind the number of rows is not needed.
type bulk struct {
	into, suffix string
	width        int
	kinds        string
	blind        bool
}

// bulkRows bounds how many rows one statement takes; up to bulkExact of them go in one statement made for that many,
// more in multiples of bulkStep and a rest. So two dozen statements serve every number and stay prepared, and most
// transactions need only one or two of each kind.
const (
	bulkRows  = 64
	bulkExact = 16
	bulkStep  = 8
)

// chunk returns how many of n values the next statement takes.
func chunk(n int) int {
	if n <= bulkExact {
		return n
	}
	return min(n/bulkStep*bulkStep, bulkRows)
}

// putMany inserts n rows, many in a statement, and returns how many were written: values appends the columns of row i.
func (tx *Tx) putMany(ctx context.Context, b bulk, n int, values func(args []any, i int) []any) (written int64, err error) {
	if tx.dialect == Postgres {
		written, _, err = tx.sendMany(ctx, b, n, values)
		return written, err
	}
	err = tx.inChunks(b, n, values, func(query string, args []any) error {
		res, err := tx.ext.ExecContext(ctx, query, args...)
		if err != nil {
			return conflict(err)
		}
		rows, err := res.RowsAffected()
		written += rows
		return err
	})
	return written, err
}

func (tx *Tx) inChunks(b bulk, n int, values func(args []any, i int) []any, run func(query string, args []any) error) error {
	args := make([]any, 0, min(n, bulkRows)*b.width)
	for from, size := 0, 0; from < n; from += size {
		size, args = chunk(n-from), args[:0]
		for i := from; i < from+size; i++ {
			args = values(args, i)
		}
		if err := run(tx.texts.of(textKey{b.into, b.suffix, b.width, size}, tx.ext.Rebind), args); err != nil {
			return err
		}
	}
	return nil
}

// texts keeps the statements of putMany as the database reads them: making them anew costs more than running them.
type texts struct {
	mu   sync.Mutex
	made map[textKey]string
}

// textKey names a statement that inserts rows, or when into is empty one that ends with a list of rows values.
type textKey struct {
	into, suffix string
	width, rows  int
}

func newTexts() *texts { return &texts{made: make(map[textKey]string)} }

func (t *texts) of(k textKey, rebind func(string) string) string {
	return t.as(k, func() string { return rebind(k.text()) })
}

// as is of for a statement that is made otherwise.
func (t *texts) as(k textKey, made func() string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, ok := t.made[k]
	if !ok {
		text = made()
		t.made[k] = text
	}
	return text
}

func (k textKey) text() string {
	if k.width == 0 {
		return k.into + ` (` + marks(k.rows) + `)` + k.suffix
	}
	row := "(" + marks(k.width) + "), "
	return `INSERT INTO ` + k.into + ` VALUES ` + strings.TrimSuffix(strings.Repeat(row, k.rows), ", ") + k.suffix
}

// eachChunk runs a statement that ends with "id IN", for all ids. first are the arguments before the list.
func (tx *Tx) eachChunk(ctx context.Context, query string, first []any, ids []string) error {
	if tx.dialect == Postgres {
		return tx.laterIn(ctx, query, first, ids)
	}
	for len(ids) > 0 {
		size := chunk(len(ids))
		args := first[:len(first):len(first)]
		for _, id := range ids[:size] {
			args = append(args, id)
		}
		if _, err := tx.ext.ExecContext(ctx, tx.texts.of(textKey{into: query, rows: size}, tx.ext.Rebind), args...); err != nil {
			return conflict(err)
		}
		ids = ids[size:]
	}
	return nil
}

// pipeRows bounds how many rows one statement of PostgreSQL takes.
const pipeRows = 1000

// unnested is the INSERT of a bulk that takes each column as an array: one statement for any number of rows, which is planned
// once.
func (b *bulk) unnested() string {
	arrays := make([]string, len(b.kinds))
	for i := range arrays {
		arrays[i] = `$` + strconv.Itoa(i+1) + `::` + pipe.TypeName(b.kinds[i]) + `[]`
	}
	return `INSERT INTO ` + b.into + ` SELECT * FROM unnest(` + strings.Join(arrays, ", ") + `)` + b.suffix
}

// sendMany inserts n rows on PostgreSQL. It returns how many were written and the first columns returned, but neither for a
// bulk that is blind: that one may wait for the commit.
func (tx *Tx) sendMany(ctx context.Context, b bulk, n int, values func(args []any, i int) []any) (written int64, returned []string, err error) {
	args := make([]any, 0, len(b.kinds))
	query := tx.texts.as(textKey{into: b.into, suffix: b.suffix}, b.unnested)
	for i := 0; i < n; {
		columns := pipe.NewArrays(b.kinds, min(n-i, pipeRows))
		for rows := 0; i < n && rows < pipeRows && columns.Size < pipe.MaxBytes; rows, i = rows+1, i+1 {
			args = values(args[:0], i)
			columns.Add(args)
		}
		d := &pipe.Statement{Params: columns.Params(), Later: b.blind}
		result, err := tx.ext.ExecContext(ctx, query, d)
		if err != nil {
			return 0, nil, err
		}
		rows, err := result.RowsAffected()
		if err != nil {
			return 0, nil, err
		}
		written, returned = written+rows, append(returned, d.First...)
	}
	return written, returned, nil
}

// later runs a statement whose result is not needed. On PostgreSQL it may wait for the commit, which fails when it
// fails.
func (tx *Tx) later(ctx context.Context, query string, args ...any) error {
	if tx.dialect != Postgres {
		return tx.do(ctx, query, args...)
	}
	text := tx.texts.as(textKey{into: query}, func() string { return tx.ext.Rebind(query) })
	_, err := tx.ext.ExecContext(ctx, text, &pipe.Statement{Params: pipe.BinaryParams(args), Later: true})
	return err
}

// laterIn is later for a statement that ends with "id IN", and the ids that it is for.
func (tx *Tx) laterIn(ctx context.Context, query string, first []any, ids []string) error {
	text := tx.texts.as(textKey{into: query}, func() string {
		return tx.ext.Rebind(strings.TrimSuffix(query, "IN") + `= ANY (?) AND id >= ? AND id <= ?`)
	})
	list := pipe.NewArrays("t", len(ids))
	for _, id := range ids {
		list.Add([]any{id})
	}
	params := append(pipe.BinaryParams(first), list.Params()...)
	params = append(params, []byte(slices.Min(ids)), []byte(slices.Max(ids)))
	return tx.planned(ctx, text, params)
}

// planned runs a statement that finds rows by their ids, under a plan that is made once. The bounds of the ids tell the
// partitions.
func (tx *Tx) planned(ctx context.Context, text string, params [][]byte) error {
	if err := tx.planOnce(ctx); err != nil {
		return err
	}
	_, err := tx.ext.ExecContext(ctx, text, &pipe.Statement{Params: params, Later: true})
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
	_, err := tx.ext.ExecContext(ctx, settings, &pipe.Statement{Later: true})
	return err
}
