package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Page is a part of a list: the Number-th (from 1) of Size rows. A zero Size asks for all, up to 1000.
type Page struct{ Number, Size int }

func (p Page) limits() (limit, offset int) {
	if p.Size <= 0 {
		return 1000, 0
	}
	return p.Size, max(0, p.Number-1) * p.Size
}

// where collects the conditions of a filtered list.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

// text adds the condition unless value is empty.
func (w *where) text(condition, value string) {
	if value != "" {
		w.add(condition, value)
	}
}

// instant adds the condition unless t is unset.
func (w *where) instant(condition string, t Time) {
	if !t.IsZero() {
		w.add(condition, t)
	}
}

// in adds column IN (values) unless there are none.
func (w *where) in(column string, values []string) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	w.add(column+` IN (`+marks(len(values))+`)`, args...)
}

// with joins the conditions of both.
func (w where) with(other where) where {
	return where{slices.Concat(w.conditions, other.conditions), slices.Concat(w.args, other.args)}
}

func (w where) sql() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// and continues a condition with all of w.
func (w where) and() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " AND " + strings.Join(w.conditions, " AND ")
}

// page fills rows with one page and returns how many rows the filter selects in all.
func (q *Queries) page(ctx context.Context, rows any, columns, from string, w where, order string, p Page) (int, error) {
	total, err := q.count(ctx, from, w)
	if err != nil {
		return 0, err
	}
	limit, offset := p.limits()
	query := fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d`, columns, from, w.sql(), order, limit, offset)
	return total, q.list(ctx, rows, query, w.args...)
}

func (q *Queries) count(ctx context.Context, from string, w where) (int, error) {
	var n int
	return n, q.get(ctx, &n, `SELECT COUNT(*) FROM `+from+w.sql(), w.args...)
}

// countBy runs a query of (name, n) rows.
func (q *Queries) countBy(ctx context.Context, query string, args ...any) (map[string]int, error) {
	var rows []struct {
		Name string `db:"name"`
		N    int    `db:"n"`
	}
	if err := q.list(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	counts := make(map[string]int, len(rows))
	for _, r := range rows {
		counts[r.Name] = r.N
	}
	return counts, nil
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// like makes a lower-case pattern that finds text anywhere, with its own wildcards taken literally.
func like(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(text)) + "%"
}
