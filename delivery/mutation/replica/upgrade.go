package replica

import "database/sql"

// columns came into the tables after the first copies were made.
func columns() []struct{ table, name string } {
	return []struct{ table, name string }{
		{"follow_delivery", "delivery_id"}, // of a delivery that is known by its bytes, whose id is a hash of them
		{"follow_delivery", "head"},        // SHA-256 of its first bytes; empty: it is known by its id
		{"follow_namespaces", "markup"},    // the declarations as attributes
	}
}

// upgrade adds the columns that are missing, and makes the views of copies show the XML of each state as a document of its own.
func (f *Follower) upgrade(t *transaction) error {
	marked := false
	for _, c := range columns() {
		missing, err := t.lacks(c.table, c.name)
		if err != nil {
			return err
		}
		if !missing {
			continue
		}
		if _, err := t.exec(`ALTER TABLE ` + c.table + ` ADD COLUMN ` + c.name + ` TEXT NOT NULL DEFAULT ''`); err != nil {
			return err
		}
		marked = marked || c.name == "markup"
	}
	if !marked {
		return nil
	}
	return t.markUp()
}

func (t *transaction) lacks(table, column string) (bool, error) {
	query := `SELECT 1 FROM pragma_table_info(?) WHERE name = ?`
	if t.db.postgres {
		query = `SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(?) AND attname = ? AND NOT attisdropped`
	}
	var one int
	found, err := t.get(query, []any{table, column}, &one)
	return !found, err
}

// markUp writes the declarations of copies that were made before they were stored as attributes, and rebuilds their views.
func (t *transaction) markUp() error {
	type space struct {
		copy, key string
		id        int64
	}
	var spaces []space
	err := t.each(`SELECT copy, id, key FROM follow_namespaces`, nil, func(rows *sql.Rows) error {
		var s space
		err := rows.Scan(&s.copy, &s.id, &s.key)
		spaces = append(spaces, s)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range spaces {
		if _, err := t.exec(`UPDATE follow_namespaces SET markup = ? WHERE copy = ? AND id = ?`, namespacesMarkup(s.key), s.copy, s.id); err != nil {
			return err
		}
	}
	var copies []*Copy
	err = t.each(`SELECT `+copyColumns+` FROM follow_copy WHERE generation > 0`, nil, func(rows *sql.Rows) error {
		c, err := scanCopy(rows.Scan)
		copies = append(copies, c)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range copies {
		if err := c.showTable(t, c.Generation, true); err != nil {
			return err
		}
	}
	return nil
}
