package replica

import (
	"database/sql"
	"strings"
	"time"

	"schakel/delivery/mutation/format"
)

// rows reads and writes the states of one table of a copy.
type rows struct {
	*transaction
	copy  *Copy
	table string
	byID  bool
}

// chunk counts the values or rows of one statement; what is left over goes by ones.
const chunk = 64

// find loads the states that are found by some refs. With bodies, what is stored of them comes along.
func (r *rows) find(refs []string, bodies bool) ([]*entry, error) {
	column, body := "ref", `'', 0`
	if r.byID {
		column = "id"
	}
	if bodies {
		body = "body, ns"
	}
	query := `SELECT n, id, ` + column + `, ` + body + ` FROM ` + r.table + ` WHERE ` + column
	var out []*entry
	scan := func(rows *sql.Rows) error {
		e := &entry{}
		var ns int64
		err := rows.Scan(&e.row, &e.id, &e.ref, &e.body, &ns)
		if err == nil && bodies {
			e.ns = r.copy.namespaceOf(ns)
		}
		out = append(out, e)
		return err
	}
	if r.db.postgres {
		return out, r.each(query+` = ANY(?)`, []any{refs}, scan)
	}
	for len(refs) > 0 {
		n := min(chunk, len(refs))
		if err := r.each(query+` IN (?`+strings.Repeat(",?", chunk-1)+`)`, padded(refs[:n]), scan); err != nil {
			return out, err
		}
		refs = refs[n:]
	}
	return out, nil
}

// padded fills a list up with its last value, so that one statement serves for all lengths.
func padded[T any](list []T) []any {
	args := make([]any, chunk)
	for i := range args {
		args[i] = list[min(i, len(list)-1)]
	}
	return args
}

// body loads what is stored of one state.
func (r *rows) body(row int64) (*entry, error) {
	e := &entry{row: row}
	var ns int64
	_, err := r.get(`SELECT id, body, ns FROM `+r.table+` WHERE n = ?`, []any{row}, &e.id, &e.body, &ns)
	e.ns = r.copy.namespaceOf(ns)
	return e, err
}

func (r *rows) delete(list []int64) error {
	if r.db.postgres {
		if len(list) == 0 {
			return nil
		}
		return r.exec(`DELETE FROM `+r.table+` WHERE n = ANY(?)`, list)
	}
	for len(list) > 0 {
		n := min(chunk, len(list))
		if err := r.exec(`DELETE FROM `+r.table+` WHERE n IN (?`+strings.Repeat(",?", chunk-1)+`)`, padded(list[:n])...); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

const rowColumns = ` (id, ref, object_type, object_id, body, ns) `

func (r *rows) insert(list []*entry) error {
	numbers := make([]int64, len(list))
	for i, e := range list {
		var err error
		if numbers[i], err = r.namespace(e); err != nil {
			return err
		}
	}
	if r.db.postgres {
		return r.insertArrays(list, numbers)
	}
	one := `(?,?,?,?,?,?)`
	many := `INSERT INTO ` + r.table + rowColumns + `VALUES ` + one + strings.Repeat(","+one, chunk-1)
	single := `INSERT INTO ` + r.table + rowColumns + `VALUES ` + one
	args := make([]any, 0, 6*chunk)
	for i, e := range list {
		args = append(args, e.id, r.ref(e), e.objectType, e.objectID, e.body, numbers[i])
		query := many
		if rest := len(list) - i; len(args) < 6*chunk && rest > len(list)%chunk {
			continue
		} else if len(args) < 6*chunk {
			query = single
		}
		if err := r.exec(query, args...); err != nil {
			return err
		}
		args = args[:0]
	}
	return nil
}

// ref gives the value of the column ref: nothing when states are found by their ids.
func (r *rows) ref(e *entry) any {
	if r.byID {
		return nil
	}
	return e.ref
}

// insertArrays hands PostgreSQL all rows in one statement, a column a parameter.
func (r *rows) insertArrays(list []*entry, numbers []int64) error {
	if len(list) == 0 {
		return nil
	}
	columns := make([][]string, 5)
	for _, e := range list {
		for i, v := range []string{e.id, e.ref, e.objectType, e.objectID, e.body} {
			columns[i] = append(columns[i], v)
		}
	}
	ref := `ref`
	if r.byID {
		ref = `NULL`
	}
	return r.exec(`INSERT INTO `+r.table+rowColumns+`SELECT id, `+ref+`, object_type, object_id, body, ns FROM
		unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[]) AS u(id, ref, object_type, object_id, body, ns)`,
		columns[0], columns[1], columns[2], columns[3], columns[4], numbers)
}

// tombstones tells which of some objects left the area before and have not come back.
func (r *rows) tombstones(keys []objectKey) (map[objectKey]bool, error) {
	out := map[objectKey]bool{}
	query := r.db.rebind(`SELECT 1 FROM follow_tombstone WHERE copy = ? AND object_type = ? AND object_id = ? AND back_at = 0`)
	for _, k := range keys {
		var one int
		found, err := r.get(query, []any{r.copy.Name, k.objectType, k.objectID}, &one)
		if err != nil {
			return nil, err
		}
		if found {
			out[k] = true
		}
	}
	return out, nil
}

// remember writes which objects left, and which came back.
func (r *rows) remember(left map[objectKey]bool, policy Reenter, now time.Time) error {
	for k, out := range left {
		args := []any{r.copy.Name, k.objectType, k.objectID}
		var err error
		switch {
		case out:
			err = r.exec(`INSERT INTO follow_tombstone (copy, object_type, object_id, left_at, back_at) VALUES (?,?,?,?,0)
				ON CONFLICT (copy, object_type, object_id) DO UPDATE SET left_at = excluded.left_at, back_at = 0`, append(args, now.UnixMicro())...)
		case policy == ReenterAccept:
			err = r.exec(`DELETE FROM follow_tombstone WHERE copy = ? AND object_type = ? AND object_id = ?`, args...)
		default:
			err = r.exec(`UPDATE follow_tombstone SET back_at = ? WHERE copy = ? AND object_type = ? AND object_id = ?`, append([]any{now.UnixMicro()}, args...)...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

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
	err := r.exec(`INSERT INTO follow_namespaces (copy, id, key, declarations, markup) VALUES (?,?,?,?,?)`,
		r.copy.Name, number, e.ns, namespacesJSON(e.ns), namespacesMarkup(e.ns))
	d.byKey[e.ns], d.byNumber[number] = number, e.ns
	return number, err
}
