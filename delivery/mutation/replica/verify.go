package replica

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"schakel/delivery/mutation/format"
)

// verify compares a WAS with the state it refers to (MUT-17).
func (p *plan) verify(it *item, e *entry) error {
	if p.o.Verify == VerifyOff || p.replay {
		return nil
	}
	p.counts.Verified++
	same, found, err := p.compare(it.Was, e)
	if err != nil || same {
		return err
	}
	p.counts.Wrong++
	p.mismatch(it, it.Was, found)
	if p.o.Verify != VerifyStop {
		return nil
	}
	m := p.mismatches[len(p.mismatches)-1]
	return fault(ErrMismatch, "%s of %s %s; expected %s, found %s", p.name(it.was), m.ObjectType, short(m.ObjectID), m.Expected, m.Found)
}

// compare reports whether a state has the same fields as one of the copy, and what the copy has.
func (p *plan) compare(s *format.State, e *entry) (same bool, found string, err error) {
	if e.row != 0 && e.body == "" {
		full, err := p.body(e.row)
		if err != nil {
			return false, "", err
		}
		e.body, e.ns = full.body, full.ns
	}
	body, ns, err := p.o.stored(s)
	if err != nil {
		return false, "", err
	}
	if body == e.body && ns == e.ns {
		return true, e.body, nil
	}
	if len(p.o.Fields) > 0 {
		return false, e.body, nil
	}
	has, err := format.ParseState(e.id, []byte(e.body), readNamespaces(e.ns)...)
	if err != nil {
		return false, e.body, nil // somebody has been in the copy
	}
	a, err := s.Digest()
	if err != nil {
		return false, e.body, err
	}
	b, err := has.Digest()
	return err == nil && a == b, e.body, nil
}

// readNamespaces is the reverse of namespaceKey.
func readNamespaces(key string) (out []format.Namespace) {
	for part := range strings.SplitSeq(strings.TrimSuffix(key, "\x1e"), "\x1e") {
		if prefix, uri, ok := strings.Cut(part, "\x1f"); ok {
			out = append(out, format.Namespace{Prefix: prefix, URI: uri})
		}
	}
	return out
}

// namespacesJSON gives namespaces for the view: a JSON object of prefixes.
func namespacesJSON(key string) string {
	out := map[string]string{}
	for _, n := range readNamespaces(key) {
		out[n.Prefix] = n.URI
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// namespacesMarkup writes them as the attributes that the view puts on the root of the XML.
func namespacesMarkup(key string) string {
	return string(format.Declarations(readNamespaces(key)))
}

func (p *plan) mismatch(it *item, expected *format.State, found string) {
	if len(p.mismatches) >= mostMismatches {
		return
	}
	want, _, err := p.o.stored(expected)
	if err != nil {
		want = string(expected.XML)
	}
	a, b := difference(want, found)
	p.mismatches = append(p.mismatches, Mismatch{ID: expected.ID, ObjectType: it.Type(), ObjectID: it.ObjectID, Expected: a, Found: b})
}

// difference shows two texts from a little before where they part.
func difference(a, b string) (string, string) {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	from = max(0, from-60)
	return short(a[from:]), short(b[min(from, len(b)):])
}

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
		if err := r.exec(query, r.copy.Name, ref); err != nil {
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
	return t.exec(`DELETE FROM follow_doubt WHERE copy = ?`, c.Name)
}
