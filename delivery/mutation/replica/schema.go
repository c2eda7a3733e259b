package replica

import (
	"database/sql"
	"fmt"
	"strings"
)

// tables creates the tables that all copies of a database share. Times are UTC microseconds.
const tables = `
CREATE TABLE IF NOT EXISTS follow_copy (
	name TEXT PRIMARY KEY, dataset TEXT NOT NULL, source TEXT NOT NULL, settings TEXT NOT NULL, lineage TEXT NOT NULL,
	delta_id TEXT NOT NULL, delta_number BIGINT NOT NULL, generation BIGINT NOT NULL, under_way TEXT NOT NULL,
	overlap_until TEXT NOT NULL, reinitialise TEXT NOT NULL, version BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS follow_delivery (
	copy TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, groups BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (copy, id)
);
CREATE TABLE IF NOT EXISTS follow_namespaces (
	copy TEXT NOT NULL, id BIGINT NOT NULL, key TEXT NOT NULL, declarations TEXT NOT NULL, PRIMARY KEY (copy, id)
);
CREATE TABLE IF NOT EXISTS follow_doubt (copy TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (copy, ref));
CREATE TABLE IF NOT EXISTS follow_tombstone (
	copy TEXT NOT NULL, object_type TEXT NOT NULL, object_id TEXT NOT NULL, left_at BIGINT NOT NULL, back_at BIGINT NOT NULL,
	PRIMARY KEY (copy, object_type, object_id)
)`

// Table names of a copy are made of its name, which CheckName holds to letters that need no care.
func (c *Copy) table(generation int64) string {
	return fmt.Sprintf(`"%s_state_%d"`, c.Name, generation)
}

// CheckName holds names of copies to what is a name of a table everywhere.
func CheckName(name string) error {
	bad := name == "" || len(name) > 40 || strings.HasPrefix(name, "follow_") || strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "pg_")
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '_')
		bad = bad || !letter
	}
	if bad {
		return fmt.Errorf("%.60q cannot be the name of a copy: small letters, digits and _, a letter first, at most 40, and not follow_, sqlite_ or pg_ first", name)
	}
	return nil
}

// nameOf makes a name for a copy from that of a dataset.
func nameOf(dataset string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(dataset) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "_")
	return name[:min(len(name), 40)]
}

// createTable makes the table of a generation. Its index comes when it is filled: sorting once is cheaper.
func (c *Copy) createTable(t *transaction, generation int64) error {
	number := "INTEGER PRIMARY KEY"
	if t.db.postgres {
		number = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	}
	return t.exec(`CREATE TABLE ` + c.table(generation) + ` (n ` + number + `, id TEXT NOT NULL, ref TEXT,
		object_type TEXT NOT NULL, object_id TEXT NOT NULL, body TEXT NOT NULL, ns BIGINT NOT NULL)`)
}

// createIndex makes the index that finds states. An id finds one state; other keys may find several.
func (c *Copy) createIndex(t *transaction, generation int64, m Match) error {
	table := c.table(generation)
	name := strings.TrimSuffix(table, `"`)
	query := `CREATE INDEX ` + name + `_ref" ON ` + table + ` (ref)`
	if m.byID() {
		var twice string
		found, err := t.get(`SELECT id FROM `+table+` GROUP BY id HAVING COUNT(*) > 1 LIMIT 1`, nil, &twice)
		if found {
			err = fault(ErrTwice, "the initial delivery has several states with id %s", short(twice))
		}
		if err != nil {
			return err
		}
		query = `CREATE UNIQUE INDEX ` + name + `_id" ON ` + table + ` (id)`
	}
	if err := t.exec(query); err != nil {
		return err
	}
	return t.exec(`CREATE INDEX ` + name + `_object" ON ` + table + ` (object_id)`) // what users of the copy ask by
}

// showTable makes the view of the copy show a generation; nothing in it tells an id of a state (MUT-18). Where it can be, a
// view with the same columns is replaced, so that views of others on it stay.
func (c *Copy) showTable(t *transaction, generation int64, same bool) error {
	create := `CREATE VIEW `
	if same && t.db.postgres {
		create = `CREATE OR REPLACE VIEW `
	} else if err := t.exec(`DROP VIEW IF EXISTS "` + c.Name + `"`); err != nil {
		return err
	}
	shown := standalone(t.db.postgres) + ` AS xml, COALESCE(d.declarations, '{}') AS namespaces`
	if len(c.Settings.Fields) > 0 {
		shown = c.fieldColumns(t.db.postgres)
	}
	return t.exec(create + `"` + c.Name + `" AS SELECT s.object_type, s.object_id, ` + shown + ` FROM ` + c.table(generation) +
		` s LEFT JOIN follow_namespaces d ON d.id = s.ns AND d.copy = '` + c.Name + `'`)
}

// standalone is the XML of a state as a document of its own: the namespaces that were declared around it are put on its root, behind
// the name of that.
func standalone(postgres bool) string {
	if postgres {
		return `CASE WHEN d.markup <> '' THEN overlay(s.body PLACING d.markup FROM length(substring(s.body FROM '^<[^[:space:]/>]+')) + 1 FOR 0) ELSE s.body END`
	}
	end := `instr(s.body, '>')`
	for _, c := range []string{`'/'`, `' '`, `char(9)`, `char(10)`, `char(13)`} {
		end += `, COALESCE(NULLIF(instr(s.body, ` + c + `), 0), length(s.body))`
	}
	end = `min(` + end + `)`
	return `CASE WHEN d.markup <> '' THEN substr(s.body, 1, ` + end + ` - 1) || d.markup || substr(s.body, ` + end + `) ELSE s.body END`
}

func (c *Copy) fieldColumns(postgres bool) string {
	columns := make([]string, len(c.Settings.Fields))
	for i, name := range c.Settings.Fields {
		text := strings.ReplaceAll(name, `'`, `''`)
		value := `json_extract(s.body, '$."` + text + `"')`
		if postgres {
			value = `s.body::jsonb ->> '` + text + `'`
		}
		columns[i] = value + ` AS "` + name + `"`
	}
	return strings.Join(columns, ", ")
}

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
		if err := t.exec(`ALTER TABLE ` + c.table + ` ADD COLUMN ` + c.name + ` TEXT NOT NULL DEFAULT ''`); err != nil {
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
		if err := t.exec(`UPDATE follow_namespaces SET markup = ? WHERE copy = ? AND id = ?`, namespacesMarkup(s.key), s.copy, s.id); err != nil {
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
