package replica

import (
	"database/sql"
	"fmt"
	"strings"
)

// doubts are the states of a copy that came in place of one that it did not have, while deltas were done over an initial
// delivery that may have a part of them. When it does, each is followed by a state that was there already, or by its end. What
// is still in doubt behind the last of those deltas came of something that the copy never had: the initial delivery is older
// than the deltas that are left, and some between are missing (MUT-35).
type doubts struct {
	known   map[string]bool // those in the database, of the states that the groups refer to
	changed map[string]bool
}

func (d *doubts) has(ref string) bool {
	if d == nil {
		return false
	}
	now, changed := d.changed[ref]
	return now || !changed && d.known[ref]
}

func (d *doubts) set(ref string, doubt bool) {
	if d != nil && d.has(ref) != doubt {
		d.changed[ref] = doubt
	}
}

// loadDoubts gives nil when there can be none: only ids tell for sure which state follows which.
func (r *rows) loadDoubts(refs []string, replay bool) (map[string]bool, error) {
	if !replay || !r.byID {
		return nil, nil
	}
	out := map[string]bool{}
	scan := func(rows *sql.Rows) error {
		var ref string
		err := rows.Scan(&ref)
		out[ref] = true
		return err
	}
	query := `SELECT ref FROM follow_doubt WHERE copy = ? AND ref `
	if r.db.postgres {
		return out, r.each(query+`= ANY(?)`, []any{r.copy.Name, refs}, scan)
	}
	for len(refs) > 0 {
		n := min(chunk, len(refs))
		args := append([]any{r.copy.Name}, padded(refs[:n])...)
		if err := r.each(query+`IN (?`+strings.Repeat(",?", chunk-1)+`)`, args, scan); err != nil {
			return out, err
		}
		refs = refs[n:]
	}
	return out, nil
}

func (r *rows) saveDoubts(d *doubts) error {
	if d == nil {
		return nil
	}
	for ref, doubt := range d.changed {
		query := `DELETE FROM follow_doubt WHERE copy = ? AND ref = ?`
		if doubt {
			query = `INSERT INTO follow_doubt (copy, ref) VALUES (?,?) ON CONFLICT DO NOTHING`
		}
		if _, err := r.exec(query, r.copy.Name, ref); err != nil {
			return err
		}
	}
	return nil
}

// settleDoubts looks, behind the last delta that the initial delivery may have a part of, whether anything is in doubt.
func (c *Copy) settleDoubts(t *transaction, until string) error {
	var n int64
	if _, err := t.get(`SELECT COUNT(*) FROM follow_doubt WHERE copy = ?`, []any{c.Name}, &n); err != nil || n == 0 {
		return err
	}
	c.Reinitialise = fmt.Sprintf("up to delta %s %d changes are of states that the copy never had: it was made of an initial delivery that is too old", short(until), n)
	_, err := t.exec(`DELETE FROM follow_doubt WHERE copy = ?`, c.Name)
	return err
}
