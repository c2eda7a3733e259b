package historytest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"schakel/delivery/mutation/format"
)

// ReadCopy reads a copy as its users see it, from its view: a line for each version, as [History.Copy] gives it.
func ReadCopy(ctx context.Context, db *sql.DB, view string) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT object_type, object_id, xml, namespaces FROM "`+view+`"`)
	if err != nil {
		return nil, fmt.Errorf("read copy: %w", err)
	}
	defer rows.Close()
	lines := []string{}
	for rows.Next() {
		var kind, id, xml, around string
		if err := rows.Scan(&kind, &id, &xml, &around); err != nil {
			return nil, fmt.Errorf("read copy: %w", err)
		}
		s, err := parse(xml, around)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Line(kind, id, s))
	}
	slices.Sort(lines)
	return lines, rows.Err()
}

func parse(xml, around string) (*format.State, error) {
	var declared map[string]string
	if err := json.Unmarshal([]byte(around), &declared); err != nil {
		return nil, fmt.Errorf("read namespaces: %w", err)
	}
	var list []format.Namespace
	for prefix, uri := range declared {
		list = append(list, format.Namespace{Prefix: prefix, URI: uri})
	}
	return format.ParseState("", []byte(xml), list...)
}

// Difference shows the first line in which two copies differ, or is empty.
func Difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d versions, want %d; at %d: %s, want %s", len(got), len(want), i, g, w)
		}
	}
	return ""
}
