package store

import (
	"context"
	"fmt"
	"slices"
)

// exportRows bounds the rows that are in memory at a time while a list is exported.
const exportRows = 250

// EachDelivery hands all deliveries that a filter selects to fn, newest first, some at a time. What changes meanwhile is there once, as
// it is when it is read, or not at all when it came or went.
func (q *Queries) EachDelivery(ctx context.Context, f DeliveryFilter, fn func([]Delivery) error) error {
	for {
		ids, next, err := q.someDeliveries(ctx, f)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(ids, exportRows) {
			rows, err := q.deliveriesByID(ctx, chunk)
			if err == nil {
				err = fn(rows)
			}
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		f.BeforeID = next
	}
}

// someDeliveries reads the ids of the first deliveries of a filter, up to ListBound; those before next follow, unless it is empty.
func (q *Queries) someDeliveries(ctx context.Context, f DeliveryFilter) (ids []string, next string, err error) {
	p, err := q.deliveryPlan(ctx, f)
	switch {
	case err != nil || p.none:
		return nil, "", err
	case p.selective:
		w := f.where(q)
		if f.Subject != "" {
			w.add(`event_id IN (SELECT id FROM event WHERE `+ofThisSubject+`)`, subjectArgs(f.Subject)...)
		}
		err = q.list(ctx, &ids, fmt.Sprintf(`SELECT id FROM delivery%s ORDER BY id DESC LIMIT %d`, w.sql(), ListBound), w.args...)
	case len(p.rest.conditions) > 0:
		ids, next, err = q.searchDeliveries(ctx, p)
	default:
		ids, err = q.pageOfBranches(ctx, p.branches, ListBound+1, ListBound, 0)
	}
	if len(ids) >= ListBound {
		ids = ids[:ListBound]
		next = ids[ListBound-1]
	}
	return ids, next, err
}

// EventHeads finds what producers call events, by our ids: the id, source and subject.
func (q *Queries) EventHeads(ctx context.Context, ids []string) (map[string]Event, error) {
	heads := make(map[string]Event, len(ids))
	if len(ids) == 0 {
		return heads, nil
	}
	w := whereIn(`id`, ids)
	rows, err := listOf[Event](ctx, q, `SELECT id, ce_id, ce_source, ce_subject FROM event`+w.sql(), w.args...)
	for _, e := range rows {
		heads[e.ID] = e
	}
	return heads, err
}

// EachIssue hands all issues that a filter selects to fn, newest first, some at a time.
func (q *Queries) EachIssue(ctx context.Context, f IssueFilter, fn func([]Issue) error) error {
	return eachRow(ctx, q, `issue`, f.where(q, eventPart{}), func(i Issue) string { return i.ID }, fn)
}

// EachAudit hands all entries that a filter selects to fn, newest first, some at a time.
func (q *Queries) EachAudit(ctx context.Context, f AuditFilter, fn func([]Audit) error) error {
	return eachRow(ctx, q, `audit`, f.where(), func(a Audit) string { return a.ID }, fn)
}

// EachAMQPMessage hands all messages that a filter selects to fn, newest first, some at a time.
func (q *Queries) EachAMQPMessage(ctx context.Context, f AMQPFilter, fn func([]AMQPMessage) error) error {
	return eachRow(ctx, q, `amqp_message`, f.where(), func(m AMQPMessage) string { return m.ID }, fn)
}

// eachRow goes on behind the last id that it read, so that rows that come meanwhile shift nothing.
func eachRow[T any](ctx context.Context, q *Queries, table string, w where, id func(T) string, fn func([]T) error) error {
	for behind := (where{}); ; {
		part := w.with(behind)
		rows, err := listOf[T](ctx, q, fmt.Sprintf(`SELECT * FROM %s%s ORDER BY id DESC LIMIT %d`, table, part.sql(), exportRows), part.args...)
		if err == nil && len(rows) > 0 {
			err = fn(rows)
		}
		if err != nil || len(rows) < exportRows {
			return err
		}
		behind = whereOf(`id < ?`, id(rows[len(rows)-1]))
	}
}
