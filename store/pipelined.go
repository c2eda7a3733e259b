package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"schakel/store/pipe"
)

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
		_, err := tx.exec(ctx, query, args...)
		return err
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
