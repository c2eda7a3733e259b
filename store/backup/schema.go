package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"schakel/store"
)

// Column is a column as a backup describes it.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // text, integer, boolean, bytes or real
}

// Table is a table in a backup.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	Rows    int64    `json:"rows"`
	Digest  string   `json:"digest"` // of its rows, in whatever order
}

func (t *Table) columnNames() []string {
	all := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		all[i] = c.Name
	}
	return all
}

func (t *Table) columnList() string { return strings.Join(t.columnNames(), ", ") }

// schemaAt lists the tables a version of the schema has, each after those it refers to. The migrations alone decide
// which: what else stands in a shared PostgreSQL is not ours.
func schemaAt(ctx context.Context, version int64) ([]Table, error) {
	db, err := store.OpenSchema(ctx, version)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var names []string
	if err := sqlx.SelectContext(ctx, reader(db), &names, `SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' ORDER BY name`); err != nil {
		return nil, err
	}
	refers := make(map[string][]string)
	tables := make([]Table, len(names))
	for i, name := range names {
		if tables[i], err = describe(ctx, db, name); err != nil {
			return nil, fmt.Errorf("describe table %s: %w", name, err)
		}
		var to []string
		if err := sqlx.SelectContext(ctx, reader(db), &to, `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, name); err != nil {
			return nil, err
		}
		refers[name] = to
	}
	return inOrder(tables, refers)
}

// describe reads the columns of a table of SQLite.
func describe(ctx context.Context, db *store.DB, table string) (Table, error) {
	var rows []struct {
		Name string `db:"name"`
		Type string `db:"type"`
	}
	t := Table{Name: table}
	if err := sqlx.SelectContext(ctx, reader(db), &rows, `SELECT name, type FROM pragma_table_info(?) ORDER BY cid`, table); err != nil {
		return t, err
	}
	for _, r := range rows {
		kind, ok := kindOf(r.Type)
		if !ok {
			return t, fmt.Errorf("column %s has the type %q, which a backup does not know", r.Name, r.Type)
		}
		t.Columns = append(t.Columns, Column{Name: r.Name, Kind: kind})
	}
	return t, nil
}

func kindOf(declared string) (string, bool) {
	first, _, _ := strings.Cut(declared, " ")
	switch first {
	case "TEXT":
		return kindText, true
	case "BIGINT", "INTEGER":
		return kindInteger, true
	case "BOOLEAN":
		return kindBoolean, true
	case "BLOB":
		return kindBytes, true
	case "REAL":
		return kindReal, true
	}
	return "", false
}

// inOrder puts each table after those it refers to, so that rows can be loaded in this order.
func inOrder(tables []Table, refers map[string][]string) ([]Table, error) {
	placed := make(map[string]bool)
	var out []Table
	for len(out) < len(tables) {
		before := len(out)
		for _, t := range tables {
			waits := slices.ContainsFunc(refers[t.Name], func(to string) bool { return to != t.Name && !placed[to] })
			if !placed[t.Name] && !waits {
				placed[t.Name] = true
				out = append(out, t)
			}
		}
		if len(out) == before {
			return nil, errors.New("tables refer to each other in a circle")
		}
	}
	return out, nil
}
