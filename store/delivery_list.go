package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// SearchBound bounds the deliveries, the newest first, that a list reads to find those that meet a condition no index serves, such
// as an event type. What is older is found by going on from [DeliveryList.Older].
const SearchBound = 20_000

// troubleIndexed is the condition of the indexes of what needs attention. SQLite uses them only for its very words. It looks at the
// condition for each delivery that is written: a list of four states would cost it three times as much as two comparisons.
const troubleIndexed = `status <> 'pending' AND status <> 'delivered'`

// inTrouble is troubleIndexed for one state.
func inTrouble(status string) bool { return status != DeliveryPending && status != DeliveryDelivered }

// DeliveryList is one page of a list of deliveries, newest first.
type DeliveryList struct {
	Rows []Delivery
	// Total counts what the filter selects, up to [ListBound] + 1, which stands for more than ListBound.
	Total int
	// Older is set when the search stopped at [SearchBound] or [PartBound]: older deliveries may match too. A filter with this BeforeID goes on there.
	Older string
	part  string // the event before which those of its deliveries are
}

// Deliveries lists a page of deliveries, newest first, with their total count up to [ListBound]. See [Queries.DeliveryList].
func (q *Queries) Deliveries(ctx context.Context, f DeliveryFilter) ([]Delivery, int, error) {
	l, err := q.DeliveryList(ctx, f)
	return l.Rows, l.Total, err
}

// NewestDeliveries lists the newest deliveries that a filter of partner, statuses and reasons selects, without counting the rest.
func (q *Queries) NewestDeliveries(ctx context.Context, f DeliveryFilter, most int) ([]Delivery, error) {
	p, err := q.deliveryPlan(ctx, f)
	if err != nil || p.none {
		return nil, err
	}
	if p.selective || len(p.rest.conditions) > 0 {
		f.Page = Page{Number: 1, Size: most}
		rows, _, err := q.Deliveries(ctx, f)
		return rows, err
	}
	ids, err := q.pageOfBranches(ctx, p.branches, ListBound+1, most, 0)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return q.deliveriesByID(ctx, ids)
}

// DeliveryList reads one page of deliveries. It reads no more of the table than the bounds say, however many deliveries there are.
func (q *Queries) DeliveryList(ctx context.Context, f DeliveryFilter) (l DeliveryList, err error) {
	p, err := q.deliveryPlan(ctx, f)
	if err != nil || p.none {
		return l, err
	}
	limit, offset := f.limits()
	var ids []string
	switch {
	case p.selective:
		all := f.selected(q, p.part)
		l.Older = p.part.from
		_, l.part = f.before()
		if l.Total, err = q.countUpTo(ctx, ListBound+1, `delivery`, all); err == nil {
			err = q.list(ctx, &ids, fmt.Sprintf(`SELECT id FROM delivery%s ORDER BY id DESC LIMIT %d OFFSET %d`, all.sql(), limit, offset), all.args...)
		}
	case len(p.rest.conditions) > 0:
		if ids, l.Older, err = q.searchDeliveries(ctx, p); err == nil {
			l.Total = len(ids)
			ids = ids[min(offset, len(ids)):min(offset+limit, len(ids))]
		}
	default:
		if l.Total, err = q.countBranches(ctx, p.branches, ListBound); err == nil && (l.Total > offset || l.Total > ListBound) {
			ids, err = q.pageOfBranches(ctx, p.branches, l.Total, limit, offset)
		}
	}
	if err != nil || len(ids) == 0 {
		return l, err
	}
	l.Rows, err = q.deliveriesByID(ctx, ids)
	return l, err
}

// deliveriesByID reads deliveries, newest first.
func (q *Queries) deliveriesByID(ctx context.Context, ids []string) ([]Delivery, error) {
	w := whereIn(`id`, ids)
	rows, err := listOf[Delivery](ctx, q, `SELECT * FROM delivery`+w.sql(), w.args...)
	sorted.By(rows, func(a, b Delivery) int { return strings.Compare(b.ID, a.ID) })
	return rows, err
}

// deliveryPlan splits a filter into branches and a rest: the branches are parts that an index gives newest first, the rest are conditions that must be
// looked at row by row.
type deliveryPlan struct {
	none      bool // it selects nothing
	selective bool // it names deliveries, an event or a subject: an index finds the few it selects
	part      eventPart
	branches  []deliveryBranch
	rest      where
}

// deliveryBranch is a part of a list, in the order of an index. One that goes by partner has no index of its own: it is read partner by
// partner.
type deliveryBranch struct {
	where
	order     string // the id as the index has it
	within    where  // the conditions on the id alone
	byPartner bool
}

func (q *Queries) deliveryPlan(ctx context.Context, f DeliveryFilter) (p deliveryPlan, err error) {
	if len(f.IDs) > 0 || f.EventID != "" || f.CEID != "" || f.Subject != "" || f.ReplayOf != "" || f.ofIssue() {
		_, before := f.before()
		p.selective = true
		p.part, err = q.part(ctx, f.CEID, f.Subject, before, f.Until)
		return p, err
	}
	partner := f.PartnerID
	if partner == "" {
		partner, err = q.ownerOf(ctx, f)
		if errors.Is(err, ErrNotFound) {
			p.none, err = true, nil
		}
		if err != nil || p.none {
			return p, err
		}
	}
	p.rest.text(`endpoint_id = ?`, f.EndpointID)
	p.rest.text(`subscription_id = ?`, f.SubscriptionID)
	p.rest.text(`cause <> '' AND cause = ?`, f.Cause)
	p.rest.text(`event_type = ?`, f.EventType)
	p.rest.instant(`updated_at >= ?`, f.From)
	p.rest.instant(`updated_at < ?`, f.Until)
	if len(f.NotReasons) > 0 {
		if f.Reasons, err = q.otherReasons(ctx, f, partner); err != nil {
			return p, err
		}
		if p.none = len(f.Reasons) == 0; p.none {
			return p, nil
		}
	}
	statuses := slices.Compact(slices.Sorted(slices.Values(f.Statuses)))
	if len(statuses) == 0 && (partner != "" || f.Reason != "" || len(f.Reasons) > 0) {
		statuses = deliveryStates
	}
	order := q.indexedID()
	within := f.within(order)
	if len(statuses) == 0 {
		p.branches = []deliveryBranch{{where: f.within(`id`), order: `id`}}
		return p, nil
	}
	for _, status := range statuses {
		p.addBranches(f, partner, status, deliveryBranch{within: within, order: order})
	}
	if f.Stopped {
		if err := q.addStoppedBranches(ctx, &p, f.Reason, partner, deliveryBranch{within: within, order: order}); err != nil {
			return p, err
		}
	}
	p.none = len(p.branches) == 0
	return p, nil
}

// otherReasons lists the kinds of error that a filter with NotReasons selects: an index leads from each to the next.
func (q *Queries) otherReasons(ctx context.Context, f DeliveryFilter, partner string) ([]string, error) {
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = deliveryStates
	}
	found, err := q.DeliveryReasons(ctx, partner, slices.DeleteFunc(slices.Clone(statuses), func(s string) bool { return !inTrouble(s) })...)
	return slices.DeleteFunc(found, func(reason string) bool {
		return slices.Contains(f.NotReasons, reason) || len(f.Reasons) > 0 && !slices.Contains(f.Reasons, reason)
	}), err
}

// selected are the conditions of a filter that an index finds, for a part of the events.
func (f DeliveryFilter) selected(q *Queries, p eventPart) where {
	w := f.conditions(q, p)
	if f.Subject != "" {
		events, args := p.ofSubject(f.Subject)
		w.add(`event_id IN (`+events+`)`, args...)
	}
	return w
}

// ofIssue reports whether the filter selects what is in trouble for one cause at one endpoint, which has an index.
func (f DeliveryFilter) ofIssue() bool {
	return f.EndpointID != "" && f.Cause != "" && !f.Stopped && len(f.Statuses) > 0 &&
		!slices.ContainsFunc(f.Statuses, func(s string) bool { return !inTrouble(s) })
}

// mostStopped bounds the partners with stopped endpoints that are read by branches of their own.
const mostStopped = 50

// addStoppedBranches adds what is open at stopped endpoints, of the partners that have such: an index finds the open deliveries of one.
func (q *Queries) addStoppedBranches(ctx context.Context, p *deliveryPlan, reason, partner string, within deliveryBranch) error {
	have := where{}
	have.in(`status`, []string{EndpointPaused, EndpointSuspended})
	have.text(`partner_id = ?`, partner)
	var partners []string
	if err := q.list(ctx, &partners, `SELECT DISTINCT partner_id FROM endpoint`+have.sql()+` ORDER BY partner_id`, have.args...); err != nil {
		return err
	}
	if len(partners) > mostStopped {
		partners = []string{""}
	}
	for _, partner := range partners {
		for _, status := range []string{DeliveryPending, DeliveryRetrying} {
			w := where{}
			w.text(`partner_id = ?`, partner)
			w.add(`status = ?`, status)
			w.text(`reason = ?`, reason)
			w.add(atStopped)
			within.where, within.byPartner = w.with(within.within), partner == ""
			p.branches = append(p.branches, within)
		}
	}
	return nil
}

// ownerOf finds whose deliveries the filter is about when it names an endpoint or a subscription: they are found by their partner.
func (q *Queries) ownerOf(ctx context.Context, f DeliveryFilter) (partner string, err error) {
	switch {
	case f.SubscriptionID != "":
		err = q.get(ctx, &partner, `SELECT partner_id FROM subscription WHERE id = ?`, f.SubscriptionID)
	case f.EndpointID != "":
		err = q.get(ctx, &partner, `SELECT partner_id FROM endpoint WHERE id = ?`, f.EndpointID)
	}
	return partner, err
}

// indexedID is the id as the indexes of lists have it. On PostgreSQL they order it by bytes and the primary key does not, so that the
// planner cannot take the one for the other.
func (q *Queries) indexedID() string {
	if q.dialect == Postgres {
		return `id COLLATE "C"`
	}
	return `id`
}

// within returns the conditions on the id, which every index ends with. The id by itself tells PostgreSQL which days to read.
func (f DeliveryFilter) within(indexed string) where {
	w := where{}
	both := func(operator, id string) {
		w.text(`id `+operator+` ?`, id)
		if indexed != `id` {
			w.text(indexed+` `+operator+` ?`, id)
		}
	}
	both(`>`, max(f.AfterID, f.madeAfter()))
	before, _ := f.before()
	both(`<`, before)
	if !f.Until.IsZero() { // nothing changes before it is made, which its id tells
		both(`<`, idAfter(f.Until))
	}
	return w
}

// addBranches adds the parts of one state; within bounds them.
func (p *deliveryPlan) addBranches(f DeliveryFilter, partner, status string, within deliveryBranch) {
	trouble := inTrouble(status)
	reasons := f.Reasons
	if f.Reason != "" {
		reasons = []string{f.Reason}
		if len(f.Reasons) > 0 && !slices.Contains(f.Reasons, f.Reason) {
			return
		}
	}
	if len(reasons) > 0 && !trouble {
		return // what is new or arrived has no kind of error
	}
	branch := func(reason string) {
		w := where{}
		if partner != "" {
			w.add(`partner_id = ?`, partner)
		}
		w.add(`status = ?`, status)
		if reason != "" {
			w.add(`reason = ?`, reason)
		}
		if trouble && (partner == "" || reason != "") {
			w.add(troubleIndexed)
		}
		within.where, within.byPartner = w.with(within.within), partner == "" && !trouble
		p.branches = append(p.branches, within)
	}
	if len(reasons) == 0 {
		branch("")
	}
	for _, reason := range slices.Compact(slices.Sorted(slices.Values(reasons))) {
		branch(reason)
	}
}

// ListBound bounds the count of long lists, of deliveries and events: counting a million rows for every page would
// make it slow. A total above it, which is ListBound + 1, says that there is more.
const ListBound = 10_000

// longPageOf is pageOf for a list that may hold millions: its total goes no further than ListBound + 1.
func longPageOf[T any](ctx context.Context, q *Queries, columns, from string, w where, order string, p Page) ([]T, int, error) {
	total, err := q.countUpTo(ctx, ListBound+1, from, w)
	if err != nil {
		return nil, 0, err
	}
	rows, err := onPage[T](ctx, q, columns, from, w, order, p)
	return rows, total, err
}

func (q *Queries) countUpTo(ctx context.Context, most int, from string, w where) (int, error) {
	return getOne[int](ctx, q, fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM %s%s LIMIT %d) counted`, from, w.sql(), most), w.args...)
}

// DeliveryGroup counts the deliveries of one type for one subscription.
type DeliveryGroup struct {
	PartnerID      string `db:"partner_id"`
	EndpointID     string `db:"endpoint_id"`
	SubscriptionID string `db:"subscription_id"`
	EventType      string `db:"event_type"`
	Count          int    `db:"n"`
	SentForGood    int    `db:"sent_for_good"` // of Count: a resend leaves them out, as [Queries.SentForGood] finds them
}

// GroupDeliveries counts what a filter selects by endpoint, subscription and event type, the largest groups first. It counts no
// further than [ListBound] + 1 deliveries in all.
func (q *Queries) GroupDeliveries(ctx context.Context, f DeliveryFilter) ([]DeliveryGroup, error) {
	w := f.where(q)
	return listOf[DeliveryGroup](ctx, q, fmt.Sprintf(`SELECT partner_id, endpoint_id, subscription_id, event_type, COUNT(*) AS n, SUM(sent) AS sent_for_good
		FROM (SELECT partner_id, endpoint_id, subscription_id, event_type, CASE WHEN %s THEN 1 ELSE 0 END AS sent FROM delivery%s LIMIT %d) selected`,
		sentForGood, w.sql(), ListBound+1)+`
		GROUP BY partner_id, endpoint_id, subscription_id, event_type ORDER BY COUNT(*) DESC, endpoint_id, subscription_id, event_type`, w.args...)
}
