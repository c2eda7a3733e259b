package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Event is a CloudEvent as accepted. Attributes and Data are the bytes as they came.
type Event struct {
	ID         string `db:"id"`
	PartnerID  string `db:"partner_id"` // whom it was received from; the own organisation's partner for its own
	ClientID   string `db:"client_id"`
	CEID       string `db:"ce_id"`
	CESource   string `db:"ce_source"`
	CEType     string `db:"ce_type"`
	CESubject  string `db:"ce_subject"`
	Attributes []byte `db:"attributes"` // compact JSON object of the context attributes
	DataKind   int64  `db:"data_kind"`  // delivery/event.DataKind
	Data       []byte `db:"data"`
	Test       bool   `db:"test"`
	// ContractVersions lists the versions of its contract that it fits, with spaces between; empty when that is not known.
	ContractVersions string   `db:"contract_versions"`
	AcceptedAt       Time     `db:"accepted_at"`
	Audience         Audience `db:"audience"`    // whom it is for; the rows of claims leave it out
	Correlation      string   `db:"correlation"` // its attribute correlationid (CE-24); the rows of claims leave it out
	// DataKeys names the key that the stored data is encrypted with, see [DB.EncryptData]. Data is in the clear all the same.
	DataKeys string `db:"data_key"`
	// Unread is why Data is not there: ErrErased or ErrUnreadable; nil when it is, or was not asked for.
	Unread error  `db:"-"`
	stored []byte `db:"-"` // Data as it is written, when DataKeys names a key
}

const eventColumns = `id, partner_id, client_id, ce_id, ce_source, ce_type, ce_subject, attributes, data_kind, data, test, contract_versions, accepted_at, data_key`

// eventSummary lists the columns of an event without its data.
const eventSummary = `id, partner_id, client_id, ce_id, ce_source, ce_type, ce_subject, attributes, data_kind, test, contract_versions, accepted_at, audience, correlation, data_key`

// InsertEvents adds events, whose ids are given and new, and tells which were new. One that its client sent before
// (same source and id) is left as it is: it is the same event (guarantee G4).
func (tx *Tx) InsertEvents(ctx context.Context, events []Event) (fresh map[string]bool, err error) {
	// In the order of the unique index, so that two nodes that insert the same events cannot wait for each other.
	rows := make([]*Event, len(events))
	for i := range events {
		rows[i] = &events[i]
	}
	slices.SortStableFunc(rows, byIdentity)
	rows = slices.CompactFunc(rows, func(a, b *Event) bool { return byIdentity(a, b) == 0 }) // the first, also where putEvents writes it after others
	defer func() { tx.counting("").Accepted += int64(len(fresh)) }()
	if tx.dialect == Postgres {
		return tx.insertByIdentity(ctx, rows)
	}
	written, err := tx.putEvents(ctx, rows, ` ON CONFLICT (ce_id, ce_source, client_id) DO NOTHING`)
	if err != nil {
		return nil, err
	}
	return tx.freshEvents(ctx, rows, written, `SELECT id FROM event`, `id`)
}

// putEvents inserts events and returns how many were written. Those that have an audience or a correlation are few: their columns cost
// the others nothing.
func (tx *Tx) putEvents(ctx context.Context, rows []*Event, suffix string) (int64, error) {
	if err := tx.sealEvents(ctx, rows); err != nil {
		return 0, err
	}
	rows, apart := setApart(rows)
	written, err := tx.putMany(ctx, bulk{into: `event (` + eventColumns + `)`, suffix: suffix, width: 14, kinds: "tttttttxixbtit", blind: suffix == ""},
		len(rows), func(args []any, i int) []any { return rows[i].appendTo(args) })
	if err != nil || len(apart) == 0 {
		return written, err
	}
	more, err := tx.putMany(ctx, bulk{into: `event (` + eventColumns + `, audience, correlation)`, suffix: suffix, width: 16, kinds: "tttttttxixbtittt", blind: suffix == ""},
		len(apart), func(args []any, i int) []any {
			return append(apart[i].appendTo(args), string(apart[i].Audience), apart[i].Correlation)
		})
	return written + more, err
}

func (e *Event) appendTo(args []any) []any {
	data := e.Data
	if e.DataKeys != "" {
		data = e.stored
	}
	return append(args, e.ID, e.PartnerID, e.ClientID, e.CEID, e.CESource, e.CEType, e.CESubject, e.Attributes, e.DataKind, data, e.Test, e.ContractVersions, e.AcceptedAt, e.DataKeys)
}

// setApart takes the events out that have an audience or a correlation.
func setApart(rows []*Event) (all, apart []*Event) {
	special := func(e *Event) bool { return e.Audience != "" || e.Correlation != "" }
	if !slices.ContainsFunc(rows, special) {
		return rows, nil
	}
	for _, e := range rows {
		if special(e) {
			apart = append(apart, e)
		} else {
			all = append(all, e)
		}
	}
	return all, apart
}

// insertByIdentity is InsertEvents where events are kept by the day: a table beside them holds the senders.
func byIdentity(a, b *Event) int {
	return cmp.Or(strings.Compare(a.CEID, b.CEID), strings.Compare(a.CESource, b.CESource), strings.Compare(a.ClientID, b.ClientID))
}

func (tx *Tx) insertByIdentity(ctx context.Context, rows []*Event) (map[string]bool, error) {
	written, err := tx.putMany(ctx, bulk{
		into: `event_identity (ce_id, ce_source, client_id, event_id)`, suffix: ` ON CONFLICT (ce_id, ce_source, client_id) DO NOTHING`, width: 4, kinds: "tttt",
	}, len(rows), func(args []any, i int) []any {
		return append(args, rows[i].CEID, rows[i].CESource, rows[i].ClientID, rows[i].ID)
	})
	if err != nil {
		return nil, err
	}
	fresh, err := tx.freshEvents(ctx, rows, written, `SELECT event_id FROM event_identity`, `event_id`)
	if err != nil {
		return nil, err
	}
	if len(fresh) < len(rows) {
		rows = slices.DeleteFunc(rows, func(e *Event) bool { return !fresh[e.ID] })
	}
	_, err = tx.putEvents(ctx, rows, ``)
	return fresh, err
}

// freshEvents returns which events were written under their own ids: all when as many were, or else what the query finds.
func (tx *Tx) freshEvents(ctx context.Context, rows []*Event, written int64, query, column string) (map[string]bool, error) {
	fresh := make(map[string]bool, len(rows))
	ids := make([]string, len(rows))
	for i, e := range rows {
		fresh[e.ID], ids[i] = true, e.ID
	}
	if int(written) == len(rows) {
		return fresh, nil
	}
	w := whereIn(column, ids)
	found, err := listOf[string](ctx, &tx.Queries, query+w.sql(), w.args...)
	clear(fresh)
	for _, id := range found {
		fresh[id] = true
	}
	return fresh, err
}

// EventIDByIdentity finds the event a client sent as (source, id).
func (q *Queries) EventIDByIdentity(ctx context.Context, clientID, source, id string) (string, error) {
	return getOne[string](ctx, q, q.identities()+` WHERE ce_id = ? AND ce_source = ? AND client_id = ?`, id, source, clientID)
}

// identities begins a query for the ids of events by what their producers call them.
func (q *Queries) identities() string {
	if q.dialect == Postgres {
		return `SELECT event_id FROM event_identity`
	}
	return `SELECT id FROM event`
}

// Event finds an event by our id.
func (q *Queries) Event(ctx context.Context, id string) (Event, error) {
	e, err := getOne[Event](ctx, q, `SELECT * FROM event WHERE id = ?`, id)
	if err == nil {
		err = q.openEvent(ctx, &e)
	}
	return e, err
}

// EventFilter selects events; empty members select all.
type EventFilter struct {
	ID, PartnerID, ClientID, Type string
	CEID                          string // as in [DeliveryFilter]
	Subject                       string
	From, Until                   Time
	Before                        string // an event: those older than it
	Page
}

// EventList is one page of a list of events, newest first.
type EventList struct {
	Rows []Event
	// Total counts what the filter selects, up to [ListBound] + 1, which stands for more than ListBound.
	Total int
	// Older is set when the list stopped at [PartBound]. A filter with this Before goes on there.
	Older string
}

// EventList lists a page of events without their data.
func (q *Queries) EventList(ctx context.Context, f EventFilter) (l EventList, err error) {
	p, err := q.part(ctx, f.CEID, f.Subject, f.Before, f.Until)
	if err != nil {
		return l, err
	}
	w := where{}
	w.text(`id = ?`, f.ID)
	if f.Subject != "" {
		w.add(ofThisSubject, subjectArgs(f.Subject)...)
	}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`client_id = ?`, f.ClientID)
	w.text(`ce_type = ?`, f.Type)
	if f.CEID != "" {
		events, args := q.eventsNamed(f.CEID, p)
		w.add(`id IN (`+events+`)`, args...)
	}
	p.bound(&w, `id`)
	w.instant(`accepted_at >= ?`, f.From)
	w.instant(`accepted_at < ?`, f.Until)
	l.Rows, l.Total, err = longPageOf[Event](ctx, q, eventSummary, `event`, w, `id DESC`, f.Page)
	l.Older = p.from
	return l, err
}

// Events lists a page of events without their data, with their total count up to [ListBound]. See [Queries.EventList].
func (q *Queries) Events(ctx context.Context, f EventFilter) ([]Event, int, error) {
	l, err := q.EventList(ctx, f)
	return l.Rows, l.Total, err
}

// EventName names an event in lists: by the id that its producer gave it, and its subject.
type EventName struct{ ID, Subject string }

// EventNames gives the names of events by our id. One that is not stored any more is missing.
func (q *Queries) EventNames(ctx context.Context, ids []string) (map[string]EventName, error) {
	names := make(map[string]EventName, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	w := whereIn(`id`, ids)
	rows, err := listOf[Event](ctx, q, `SELECT id, ce_id, ce_subject FROM event`+w.sql(), w.args...)
	for _, e := range rows {
		names[e.ID] = EventName{e.CEID, e.CESubject}
	}
	return names, err
}

// EventOrigin selects events of some types from one sender; an empty PartnerID is any sender.
type EventOrigin struct {
	PartnerID string
	Types     []string
	Since     Time   // those accepted before do not count
	For       string // the partner that must be among those an event is for; empty is any event
}

// recentEvents bounds how far back RecentEvents looks, so that a rare type costs no more than a common one.
const recentEvents = 10_000

// RecentEvents lists the newest events of any of the origins, without their data and without test events, newest first and
// at most limit. Only the newest ten thousand events are looked at.
func (q *Queries) RecentEvents(ctx context.Context, origins []EventOrigin, limit int) ([]Event, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	var either []string
	var args []any
	for _, o := range origins {
		if len(o.Types) == 0 {
			continue
		}
		w := where{}
		w.text(`partner_id = ?`, o.PartnerID)
		w.in(`ce_type`, o.Types)
		w.instant(`accepted_at >= ?`, o.Since)
		w.audience(o.For)
		either = append(either, "("+strings.Join(w.conditions, " AND ")+")")
		args = append(args, w.args...)
	}
	if len(either) == 0 {
		return nil, nil
	}
	return listOf[Event](ctx, q, fmt.Sprintf(`SELECT %s FROM (SELECT %s FROM event ORDER BY id DESC LIMIT %d) recent
		WHERE NOT test AND (%s) ORDER BY id DESC LIMIT %d`, eventSummary, eventSummary, recentEvents, strings.Join(either, " OR "), limit), args...)
}

// EventsBack lists the events of some types among the newest limit ones accepted since a moment, newest first, without their data and
// without test events. Back holds the acceptance of the oldest event read; zero when nothing since that moment was left out.
func (q *Queries) EventsBack(ctx context.Context, types []string, since Time, limit int) (events []Event, back Time, err error) {
	first := IDAt("evt", since.Time) // the primary key finds where to end
	edge, err := listOf[Time](ctx, q, fmt.Sprintf(`SELECT accepted_at FROM event WHERE id >= ? ORDER BY id DESC LIMIT 1 OFFSET %d`, limit-1), first)
	if err != nil || len(types) == 0 {
		return nil, Time{}, err
	}
	if len(edge) > 0 {
		back = edge[0]
	}
	w := where{}
	w.add(`NOT test`)
	w.in(`ce_type`, types)
	events, err = listOf[Event](ctx, q, fmt.Sprintf(`SELECT %s FROM (SELECT %s FROM event WHERE id >= ? ORDER BY id DESC LIMIT %d) newest`,
		eventSummary, eventSummary, limit)+w.sql()+` ORDER BY id DESC`, append([]any{first}, w.args...)...)
	return events, back, err
}
