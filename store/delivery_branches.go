package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry/sorted"
)

// ofThisSubject finds events by their subject in the words of the index event_subject, and ofThisCorrelation by their correlationid;
// [subjectArgs] gives the arguments of either.
const (
	ofThisSubject     = `ce_subject <> '' AND substr(ce_subject, 1, 100) = ? AND ce_subject = ?`
	ofThisCorrelation = `correlation <> '' AND substr(correlation, 1, 100) = ? AND correlation = ?`
)

func subjectArgs(subject string) []any {
	runes := []rune(subject)
	return []any{string(runes[:min(len(runes), 100)]), subject}
}

// KindOfID returns the prefix of an id that this Schakel gave, such as "dlv"; "" of any other text.
func KindOfID(text string) string {
	kind, rest, _ := strings.Cut(text, "_")
	if len(kind) != 3 || len(rest) != 26 {
		return ""
	}
	return kind
}

// Find narrows the filter to what an id names: a delivery or an event of ours, or whatever else [Queries.eventsNamed] knows.
func (f *DeliveryFilter) Find(id string) {
	switch KindOfID(id) {
	case "dlv":
		f.IDs = []string{id}
	case "evt":
		f.EventID = id
	default:
		f.CEID = id
	}
}

// eventsNamed selects the ids of events by what others call them: the id that the producer gave, the attribute correlationid, or an id of
// an AMQP message that the event came or went as or that answers such a message, as an AppRec does. Of the correlated ones it selects a part.
func (q *Queries) eventsNamed(name string, p eventPart) (query string, args []any) {
	correlated := where{}
	correlated.add(ofThisCorrelation, subjectArgs(name)...)
	p.bound(&correlated, `id`)
	args = append([]any{name}, correlated.args...)
	return q.identities() + ` WHERE ce_id = ? UNION ALL SELECT id FROM event` + correlated.sql() + `
		UNION ALL SELECT event_id FROM amqp_message WHERE event_id <> '' AND id IN (` + amqpNamed + `)
		UNION ALL SELECT event_id FROM amqp_message WHERE event_id <> '' AND id IN (SELECT reference_id FROM amqp_message WHERE reference_id <> '' AND id IN (` + amqpNamed + `))`,
		slices.Concat(args, amqpNamedArgs(name), amqpNamedArgs(name))
}

// PartBound bounds the events of one subject or correlationid that a list shows at once, with their deliveries, the newest first. What is older is
// found by going on from [DeliveryList.Older] or [EventList.Older].
const PartBound = 2_000

// eventPart is the part of a list whose events have ids from one on, and before another; "" bounds nothing.
type eventPart struct{ from, before string }

// part finds the part of the events with a correlationid, or else a subject, that a list of what happened until then shows; it has a from when there
// are older ones.
func (q *Queries) part(ctx context.Context, name, subject, before string, until Time) (eventPart, error) {
	p, w := eventPart{before: before}, where{}
	if before == "" && !until.IsZero() { // nothing happens to an event before it is accepted, which its id tells
		p.before = IDAt("evt", until.Add(time.Millisecond))
	}
	switch {
	case name != "":
		w.add(ofThisCorrelation, subjectArgs(name)...)
	case subject != "":
		w.add(ofThisSubject, subjectArgs(subject)...)
	default:
		return eventPart{before: before}, nil
	}
	p.bound(&w, `id`)
	oldest, err := listOf[string](ctx, q, fmt.Sprintf(`SELECT id FROM event%s ORDER BY id DESC LIMIT 2 OFFSET %d`, w.sql(), PartBound-1), w.args...)
	if len(oldest) == 2 {
		p.from = oldest[0]
	}
	return p, err
}

// bound adds the conditions on the id of the event.
func (p eventPart) bound(w *where, id string) {
	w.text(id+` >= ?`, p.from)
	w.text(id+` < ?`, p.before)
}

// ofSubject selects the ids of the events with a subject.
func (p eventPart) ofSubject(subject string) (query string, args []any) {
	w := where{}
	w.add(ofThisSubject, subjectArgs(subject)...)
	p.bound(&w, `id`)
	return `SELECT id FROM event` + w.sql(), w.args
}

// before splits BeforeID, from where a list goes on, into a delivery and an event, at which it stopped for [PartBound]: "dlv_…", "evt_…" or both,
// "evt_…,dlv_…", within a part that has more than [ListBound] deliveries.
func (f DeliveryFilter) before() (delivery, event string) {
	if !strings.HasPrefix(f.BeforeID, "evt_") {
		return f.BeforeID, ""
	}
	event, delivery, _ = strings.Cut(f.BeforeID, ",")
	return delivery, event
}

// Next is the BeforeID with which the list goes on behind its last row.
func (l DeliveryList) Next() string {
	last := l.Rows[len(l.Rows)-1].ID
	if l.part != "" {
		return l.part + "," + last
	}
	return last
}

// CountListed counts what a filter selects as [Queries.DeliveryList] does: up to [ListBound] + 1.
func (q *Queries) CountListed(ctx context.Context, f DeliveryFilter) (int, error) {
	return q.CountListedTo(ctx, f, ListBound)
}

// CountListedTo is CountListed that stops earlier, at most + 1.
func (q *Queries) CountListedTo(ctx context.Context, f DeliveryFilter, most int) (int, error) {
	p, err := q.deliveryPlan(ctx, f)
	switch {
	case err != nil || p.none:
		return 0, err
	case p.selective:
		return q.countUpTo(ctx, most+1, `delivery`, f.selected(q, p.part))
	case len(p.rest.conditions) > 0:
		ids, _, err := q.searchDeliveries(ctx, p)
		return min(len(ids), most+1), err
	}
	return q.countBranches(ctx, p.branches, most)
}

// countBranches counts the deliveries of branches, up to most + 1.
func (q *Queries) countBranches(ctx context.Context, branches []deliveryBranch, most int) (int, error) {
	parts, args := make([]string, len(branches)), []any(nil)
	for i, a := range branches {
		from := `delivery` + a.sql() + ` ORDER BY ` + a.order + ` DESC` // names the index to read
		if a.byPartner {
			from = q.countedPartners(a, most+1)
		}
		parts[i] = fmt.Sprintf(`SELECT 1 FROM (SELECT 1 FROM %s LIMIT %d) a%d`, from, most+1, i)
		args = append(args, a.args...)
	}
	return getOne[int](ctx, q, fmt.Sprintf(`SELECT COUNT(*) FROM (%s LIMIT %d) counted`, strings.Join(parts, ` UNION ALL `), most+1), args...)
}

// fewBranches bounds the branches that are merged in their order. More are collected and sorted when there is little in them: to plan a
// statement of many branches over the partitions of every day takes longer than to sort ten thousand ids.
const fewBranches = 6

// pageOfBranches reads the ids of one page of the deliveries of branches, which hold total of them.
func (q *Queries) pageOfBranches(ctx context.Context, branches []deliveryBranch, total, limit, offset int) (ids []string, err error) {
	most := limit + offset
	if len(branches) > fewBranches && total <= ListBound {
		most = ListBound
	}
	parts, args := make([]string, len(branches)), []any(nil)
	for i, a := range branches {
		from := `delivery` + a.sql()
		if a.byPartner {
			from = q.eachPartner(a, most)
		}
		parts[i] = fmt.Sprintf(`SELECT id FROM (SELECT id FROM %s ORDER BY %s DESC LIMIT %d) a%d`, from, a.order, most, i)
		args = append(args, a.args...)
	}
	return ids, q.list(ctx, &ids, fmt.Sprintf(`SELECT id FROM (%s) merged ORDER BY %s DESC LIMIT %d OFFSET %d`,
		strings.Join(parts, ` UNION ALL `), branches[0].order, limit, offset), args...)
}

// countedPartners is eachPartner for a count, which on SQLite needs no row but those of the index.
func (q *Queries) countedPartners(a deliveryBranch, most int) string {
	if q.dialect == Postgres {
		return q.eachPartner(a, most)
	}
	return `(SELECT id AS owner FROM partner) p CROSS JOIN delivery` + a.sql() + ` AND partner_id = p.owner`
}

// eachPartner reads the ids of a branch partner by partner, up to most of each: an index finds those of one partner.
func (q *Queries) eachPartner(a deliveryBranch, most int) string {
	one := fmt.Sprintf(`SELECT id FROM delivery%s AND partner_id = p.id ORDER BY %s DESC LIMIT %d`, a.sql(), a.order, most)
	if q.dialect == Postgres {
		return `(SELECT d.id FROM partner p CROSS JOIN LATERAL (` + one + `) d) each_partner`
	}
	return `(SELECT d.id FROM partner p CROSS JOIN delivery d WHERE d.id IN (` + one + `)) each_partner`
}

// searchDeliveries reads the newest deliveries of branches, SearchBound in all, and returns the ids of up to ListBound + 1 that meet the rest
// of the conditions, newest first. It sets older when there are more to read: those before that id.
func (q *Queries) searchDeliveries(ctx context.Context, p deliveryPlan) (ids []string, older string, err error) {
	most := SearchBound / len(p.branches)
	for _, a := range p.branches {
		read, rest := a, p.rest
		if a.byPartner { // look at what is new of all states rather than at so many of each partner
			read, rest = deliveryBranch{where: a.within, order: `id`}, p.rest.with(a.where)
		}
		newest := fmt.Sprintf(`delivery%s ORDER BY %s DESC LIMIT %d`, read.sql(), read.order, most)
		var found, last []string
		err = q.list(ctx, &found, fmt.Sprintf(`SELECT id FROM (SELECT id, event_id, endpoint_id, subscription_id, event_type, status, cause, updated_at FROM %s) searched%s LIMIT %d`,
			newest, rest.sql(), ListBound+1), append(slices.Clone(read.args), rest.args...)...)
		if err == nil {
			err = q.list(ctx, &last, fmt.Sprintf(`SELECT id FROM %s OFFSET %d`, newest, most-1), read.args...)
		}
		if err != nil {
			return nil, "", err
		}
		ids = append(ids, found...)
		if len(last) > 0 {
			older = max(older, last[0])
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id < older })
	sorted.By(ids, func(a, b string) int { return strings.Compare(b, a) })
	if len(ids) > ListBound {
		return ids[:ListBound+1], "", nil
	}
	return ids, older, nil
}

// deliveryStates lists all states, in the order of a delivery's life.
var deliveryStates = []string{DeliveryPending, DeliveryRetrying, DeliveryDelivered, DeliveryHeld, DeliveryDead, DeliveryDiscarded}

// CountDeliveriesBy counts the deliveries of a partner (of all when partnerID is empty) by status, each up to [ListBound] + 1, as the
// list of that status is counted.
func (q *Queries) CountDeliveriesBy(ctx context.Context, partnerID string) (map[string]int, error) {
	counts := make(map[string]int, len(deliveryStates))
	for _, status := range deliveryStates {
		n, err := q.CountListed(ctx, DeliveryFilter{PartnerID: partnerID, Statuses: []string{status}})
		if err != nil {
			return nil, fmt.Errorf("count %s deliveries: %w", status, err)
		}
		if n > 0 {
			counts[status] = n
		}
	}
	return counts, nil
}
