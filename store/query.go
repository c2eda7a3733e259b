package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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

// whereOf makes a list of one condition.
func whereOf(condition string, args ...any) (w where) {
	w.add(condition, args...)
	return w
}

// whereIn makes a list of column IN (values), which is empty when there are none.
func whereIn(column string, values []string) (w where) {
	w.in(column, values)
	return w
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

// pageOf returns one page and how many rows the filter selects in all.
func pageOf[T any](ctx context.Context, q *Queries, columns, from string, w where, order string, p Page) ([]T, int, error) {
	total, err := q.count(ctx, from, w)
	if err != nil {
		return nil, 0, err
	}
	rows, err := onPage[T](ctx, q, columns, from, w, order, p)
	return rows, total, err
}

// onPage returns the rows of one page.
func onPage[T any](ctx context.Context, q *Queries, columns, from string, w where, order string, p Page) ([]T, error) {
	limit, offset := p.limits()
	query := fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d`, columns, from, w.sql(), order, limit, offset)
	return listOf[T](ctx, q, query, w.args...)
}

func (q *Queries) count(ctx context.Context, from string, w where) (int, error) {
	return getOne[int](ctx, q, `SELECT COUNT(*) FROM `+from+w.sql(), w.args...)
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

// Time is an instant kept as UTC microseconds since 1970; the zero Time is NULL.
type Time struct{ time.Time }

// At makes a Time of t, cut to the microsecond the database keeps.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Microsecond)}
}

// Scan reads a BIGINT of microseconds or NULL.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case int64:
		t.Time = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("time column: cannot read %T", src)
	}
	return nil
}

// Value writes microseconds, or NULL for the zero Time.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UnixMicro(), nil
}

// Strings is a list of texts kept as a JSON array.
type Strings []string

// Scan reads a JSON array of strings.
func (s *Strings) Scan(src any) error {
	*s = nil
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), (*[]string)(s))
	case []byte:
		return json.Unmarshal(v, (*[]string)(s))
	}
	return fmt.Errorf("list column: cannot read %T", src)
}

// Value writes a JSON array; an empty list is [].
func (s Strings) Value() (driver.Value, error) {
	if len(s) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]string(s))
	return string(b), err
}

// Contains reports whether the list holds v.
func (s Strings) Contains(v string) bool {
	return slices.Contains(s, v)
}

// Audience is which partners an event is for, besides the own organisation, which knows every event, and of a business message the
// health party that it is addressed to. The zero Audience is whoever is subscribed. It is settled when the event is accepted, and stays.
type Audience string

// audienceHerID stands before the HER-id of the health party, which comes before the ids of partners.
const audienceHerID = "her:"

// audienceEdge stands around each id, so that an id is found whole.
const audienceEdge = ","

// OnlyFor is the audience of the own organisation and these partners, given by id; of the own organisation alone when
// there are none.
func OnlyFor(partnerIDs ...string) Audience {
	only := audienceEdge
	for _, id := range partnerIDs {
		only += id + audienceEdge
	}
	return Audience(only)
}

// AddressedTo is the audience of a business message to the health party with a HER-id: of the subscriptions that deliver to health
// parties it reaches those of that party alone (AMQP-109). Who else is subscribed stays.
func (a Audience) AddressedTo(herID int64) Audience {
	_, partners := a.parts()
	return Audience(audienceHerID+strconv.FormatInt(herID, 10)) + partners
}

// HerID is that of the health party that the event is addressed to; 0 for none.
func (a Audience) HerID() int64 {
	herID, _ := a.parts()
	return herID
}

func (a Audience) parts() (herID int64, partners Audience) {
	text, ok := strings.CutPrefix(string(a), audienceHerID)
	if !ok {
		return 0, a
	}
	number, rest, more := strings.Cut(text, audienceEdge)
	herID, _ = strconv.ParseInt(number, 10, 64)
	if more {
		return herID, Audience(audienceEdge + rest)
	}
	return herID, ""
}

// Everyone reports whether an event is for whichever partner is subscribed.
func (a Audience) Everyone() bool { return !strings.Contains(string(a), audienceEdge) }

// Has reports whether an event is for a partner; own is that of the own organisation.
func (a Audience) Has(partnerID string, own bool) bool {
	return own || a.Everyone() || strings.Contains(string(a), audienceEdge+partnerID+audienceEdge)
}

// Reaches reports whether an event goes to an endpoint of the health party with a HER-id; 0 is an endpoint of another kind. One of which
// the receiver is not known does, and is refused when it is sent.
func (a Audience) Reaches(herID int64) bool {
	to := a.HerID()
	return herID == 0 || to == 0 || to == herID
}

// Partners lists the ids of the partners it names.
func (a Audience) Partners() []string {
	_, a = a.parts()
	inner := strings.Trim(string(a), audienceEdge)
	if inner == "" {
		return nil
	}
	return strings.Split(inner, audienceEdge)
}

// audience keeps the events that a partner may know of; any when no partner is given.
func (w *where) audience(partnerID string) {
	if partnerID != "" {
		// without an edge it names no partner
		w.add(`(audience NOT LIKE '%,%' OR LOWER(audience) LIKE ? ESCAPE '\')`, like(audienceEdge+partnerID+audienceEdge))
	}
}

// FindEndpoints finds endpoints whose name and address hold all words, of one partner or of all for "", newest first; ended ones are left out.
func (q *Queries) FindEndpoints(ctx context.Context, partnerID string, words []string, limit int) ([]Endpoint, error) {
	w := whereOf(`status <> 'ended'`)
	return findIn[Endpoint](ctx, q, `endpoint`, `LOWER(name || ' ' || url)`, partnerID, w, words, limit)
}

// FindClients finds clients whose name holds all words, of one partner or of all for "", newest first.
func (q *Queries) FindClients(ctx context.Context, partnerID string, words []string, limit int) ([]Client, error) {
	return findIn[Client](ctx, q, `client`, `LOWER(name)`, partnerID, where{}, words, limit)
}

func findIn[T any](ctx context.Context, q *Queries, table, text, partnerID string, w where, words []string, limit int) ([]T, error) {
	w.text(`partner_id = ?`, partnerID)
	for _, word := range words {
		w.add(text+` LIKE ? ESCAPE '\'`, like(word))
	}
	return listOf[T](ctx, q, fmt.Sprintf(`SELECT * FROM %s%s ORDER BY id DESC LIMIT %d`, table, w.sql(), limit), w.args...)
}

// columns lists the columns of the table that a row is of: the `db` tags of its own fields.
func columns(row any) []string {
	t := reflect.TypeOf(row)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if known, ok := columnsOf.Load(t); ok {
		return known.([]string)
	}
	cols := []string{}
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("db"); tag != "" && tag != "-" {
			cols = append(cols, tag)
		}
	}
	columnsOf.Store(t, cols)
	return cols
}

var columnsOf sync.Map // []string by reflect.Type

// prefixed lists the columns of a row's table under the name that a query gives the table.
func prefixed(table string, row any) string {
	return table + "." + strings.Join(columns(row), ", "+table+".")
}

// named puts the columns that a row has in place of the asterisk with which a query selects or returns all. On PostgreSQL nodes of this
// version and of the next work side by side during an upgrade, so a table may have columns that this program does not know; and a
// prepared statement with an asterisk fails once on each connection after columns were added.
func named(query string, dest any) string {
	if rest, found := strings.CutPrefix(query, "SELECT * FROM "); found {
		return "SELECT " + strings.Join(columns(dest), ", ") + " FROM " + rest
	}
	if rest, found := strings.CutSuffix(query, "RETURNING *"); found {
		return rest + "RETURNING " + strings.Join(columns(dest), ", ")
	}
	if rest, found := strings.CutPrefix(query, "SELECT "); found {
		if table, rest, found := strings.Cut(rest, ".* FROM "); found && !strings.Contains(table, " ") {
			return "SELECT " + prefixed(table, dest) + " FROM " + rest
		}
	}
	return query
}
