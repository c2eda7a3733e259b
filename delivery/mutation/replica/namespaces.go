package replica

import (
	"database/sql"

	"schakel/delivery/mutation/format"
)

// mostNamespaces bounds the different sets of declarations that are stored apart from the XML; a state with another one
// gets its declarations on its own XML.
const mostNamespaces = 4096

// dictionary numbers the sets of namespaces around states, which are few and long. Number 0 is the empty set.
type dictionary struct {
	byKey    map[string]int64
	byNumber map[int64]string
	loaded   bool
}

// loadNamespaces reads the dictionary of a copy, also after a transaction that failed.
func (c *Copy) loadNamespaces(t *transaction) error {
	if c.spaces.loaded {
		return nil
	}
	c.spaces = dictionary{byKey: map[string]int64{"": 0}, byNumber: map[int64]string{0: ""}, loaded: true}
	return t.each(`SELECT id, key FROM follow_namespaces WHERE copy = ?`, []any{c.Name}, func(rows *sql.Rows) error {
		var id int64
		var key string
		err := rows.Scan(&id, &key)
		c.spaces.byKey[key], c.spaces.byNumber[id] = id, key
		return err
	})
}

func (c *Copy) namespaceOf(number int64) string { return c.spaces.byNumber[number] }

// namespace gives the number of the namespaces around a state, which is a new one at times.
func (r *rows) namespace(e *entry) (int64, error) {
	d := &r.copy.spaces
	if number, known := d.byKey[e.ns]; known {
		return number, nil
	}
	if len(d.byKey) > mostNamespaces {
		s := format.State{XML: []byte(e.body), Namespaces: readNamespaces(e.ns)}
		e.body, e.ns = string(s.Standalone()), ""
		return 0, nil
	}
	number := int64(len(d.byKey))
	_, err := r.exec(`INSERT INTO follow_namespaces (copy, id, key, declarations, markup) VALUES (?,?,?,?,?)`,
		r.copy.Name, number, e.ns, namespacesJSON(e.ns), namespacesMarkup(e.ns))
	d.byKey[e.ns], d.byNumber[number] = number, e.ns
	return number, err
}
