package store

import (
	"context"
	"strings"
	"sync"
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
