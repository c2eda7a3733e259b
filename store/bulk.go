package store

import (
	"context"
	"strings"
)

// bulk is an INSERT of many rows; width is its number of columns, suffix what follows the rows.
type bulk struct {
	into, suffix string
	width        int
}

// bulkArgs bounds the parameters of one statement: SQLite takes 32,766, PostgreSQL 65,535.
const bulkArgs = 1600

// insertMany inserts n rows, many in a statement: values appends the columns of row i. With a suffix that returns
// one text column, each returned value is given to returned.
func (tx *Tx) insertMany(ctx context.Context, b bulk, n int, values func(args []any, i int) []any, returned func(string)) error {
	row := "(" + marks(b.width) + ")"
	step := bulkArgs / b.width
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		args := make([]any, 0, (to-from)*b.width)
		for i := from; i < to; i++ {
			args = values(args, i)
		}
		query := `INSERT INTO ` + b.into + ` VALUES ` + strings.TrimSuffix(strings.Repeat(row+", ", to-from), ", ") + b.suffix
		if returned == nil {
			if _, err := tx.exec(ctx, query, args...); err != nil {
				return err
			}
			continue
		}
		var got []string
		if err := tx.list(ctx, &got, query, args...); err != nil {
			return conflict(err)
		}
		for _, id := range got {
			returned(id)
		}
	}
	return nil
}
