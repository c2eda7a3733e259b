package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Where pruning by the day is, as its cursor tells: looking at the days that end behind an id, removing what is known of
// the senders of a day that is gone, or at single events.
const (
	atDays   = "days "
	atGone   = "gone "
	atEvents = "evt_"
)

// keepAtMost bounds the events of a day that stay while the rest goes in one step.
const keepAtMost = 1000

// oldDay is a partition of each table with the same bounds in time.
type oldDay struct {
	event, delivery, attempt partition
	needed                   []string // events that have to stay
}

// pruneDays is PruneEvents by whole days. It looks at one day behind the cursor at a time: first the rows that days after it
// have of its events go, a few a step; then the day goes, and what must stay of it is put into the default partition; then
// its senders are forgotten. The cursor is that of single events when there are no more days.
func (tx *Tx) pruneDays(ctx context.Context, before Time, cursor string, limit int) (Pruned, error) {
	if gone, ok := strings.CutPrefix(cursor, atGone); ok {
		return tx.forgetSenders(ctx, gone, limit)
	}
	day, err := tx.nextDay(ctx, before, strings.TrimPrefix(cursor, atDays))
	if err != nil {
		return Pruned{}, fmt.Errorf("look for old days: %w", err)
	}
	if day == nil {
		return Pruned{Cursor: atEvents}, nil
	}
	passed := Pruned{Cursor: atDays + day.event.To}
	if err := tx.findNeeded(ctx, day, before); err != nil || len(day.needed) > keepAtMost {
		return passed, err
	}
	p := Pruned{Cursor: atDays + strings.TrimPrefix(cursor, atDays)}
	if p.Rows, err = tx.pruneStragglers(ctx, day, limit); err != nil || p.Rows > 0 {
		return p, err
	}
	dropped, err := tx.dropDay(ctx, day)
	if err != nil || !dropped {
		return passed, err
	}
	return Pruned{Cursor: atGone + day.event.From + " " + day.event.To}, nil
}

// nextDay finds the oldest day behind an id of events that every table has a partition of and that ended before a moment.
func (tx *Tx) nextDay(ctx context.Context, before Time, behind string) (*oldDay, error) {
	var parts [len(byDay)]map[string]partition
	var events []partition
	for i, t := range byDay {
		all, err := tx.partitions(ctx, t.table)
		if err != nil {
			return nil, err
		}
		parts[i] = make(map[string]partition, len(all))
		for _, p := range all {
			parts[i][p.span()] = p
		}
		if i == 0 {
			events = all
		}
	}
	for _, e := range events {
		d, foundDelivery := parts[1][e.span()]
		a, foundAttempt := parts[2][e.span()]
		if foundDelivery && foundAttempt && e.To > behind && e.To <= IDAt("evt", before.Time) {
			return &oldDay{event: e, delivery: d, attempt: a}, nil
		}
	}
	return nil, nil
}

// span identifies the partitions of different tables that cover the same days.
func (p partition) span() string {
	_, from, _ := strings.Cut(p.From, "_")
	_, to, _ := strings.Cut(p.To, "_")
	return from + " " + to
}

// rowsBound bounds the pruning of single events: not those of a day that has begun to be old, for it will go whole.
func (tx *Tx) rowsBound(ctx context.Context, before Time) (string, error) {
	bound := IDAt("evt", before.Time)
	if tx.dialect != Postgres {
		return bound, nil
	}
	parts, err := tx.partitions(ctx, "event")
	for _, p := range parts {
		if p.From != "" && p.From <= bound && bound < p.To {
			return p.From, err
		}
	}
	return bound, err
}

// findNeeded finds the events of a day that have to stay, or one more than may.
func (tx *Tx) findNeeded(ctx context.Context, day *oldDay, before Time) error {
	err := tx.list(ctx, &day.needed, `SELECT DISTINCT event_id FROM delivery WHERE event_id >= ? AND event_id < ?
		AND (status NOT IN `+closedStates+` OR updated_at >= ?) LIMIT ?`, day.event.From, day.event.To, before, keepAtMost+1)
	if err != nil {
		return fmt.Errorf("find events that are still needed: %w", err)
	}
	return nil
}

// notNeeded is a condition on events that they need not stay.
func (d *oldDay) notNeeded(column string) where {
	w := whereOf(column+` >= ? AND `+column+` < ?`, d.event.From, d.event.To)
	if len(d.needed) > 0 {
		n := where{}
		n.in(column, d.needed)
		w.add(`NOT (`+n.conditions[0]+`)`, n.args...)
	}
	return w
}

// pruneStragglers removes rows of other partitions that belong to what goes: deliveries of its events that were made later,
// and attempts at its deliveries.
func (tx *Tx) pruneStragglers(ctx context.Context, day *oldDay, limit int) (int64, error) {
	w := day.notNeeded(`event_id`)
	w.add(`(id >= ? OR id < ?) AND status IN `+closedStates, day.delivery.To, day.delivery.From)
	late, err := listOf[string](ctx, &tx.Queries, `SELECT id FROM delivery`+w.sql()+` LIMIT ?`+tx.skipLocked("delivery"), append(w.args, limit)...)
	if err != nil {
		return 0, fmt.Errorf("find late deliveries: %w", err)
	}
	if len(late) > 0 {
		if err := tx.rememberDay(ctx, day); err != nil {
			return 0, err
		}
		return tx.deleteDeliveries(ctx, late, limit)
	}
	w = day.notNeeded(`d.event_id`)
	w.add(`a.delivery_id >= ? AND a.delivery_id < ? AND (a.id >= ? OR a.id < ?)`, day.delivery.From, day.delivery.To, day.attempt.To, day.attempt.From)
	var tries []string
	err = tx.list(ctx, &tries, `SELECT a.id FROM attempt a JOIN delivery d ON d.id = a.delivery_id`+w.sql()+` LIMIT ?`, append(w.args, limit)...)
	if err != nil {
		return 0, fmt.Errorf("find late attempts: %w", err)
	}
	return tx.deleteSome(ctx, "attempt", "id", tries, "", limit)
}

// rememberDay notes who got the objects of the events of a day that go.
func (tx *Tx) rememberDay(ctx context.Context, day *oldDay) error {
	w := day.notNeeded(`o.owner_id`)
	w.add(`d.delivered_at IS NOT NULL`)
	return tx.rememberWhere(ctx, w)
}

// dropDay removes a day, and reports whether it did: not when somebody uses the tables for long, or has begun to need more of it.
func (tx *Tx) dropDay(ctx context.Context, day *oldDay) (bool, error) {
	if _, err := tx.exec(ctx, `SAVEPOINT day`); err != nil {
		return false, fmt.Errorf("mark: %w", err)
	}
	dropped, err := tx.dropIfFree(ctx, day)
	if errors.Is(err, ErrBusy) {
		dropped, err = false, nil
	}
	if err != nil {
		return false, fmt.Errorf("drop %s: %w", day.event.Name, err)
	}
	if !dropped {
		_, err = tx.exec(ctx, `ROLLBACK TO SAVEPOINT day`)
	}
	return dropped, err
}

func (tx *Tx) dropIfFree(ctx context.Context, day *oldDay) (bool, error) {
	for _, query := range []string{
		`SET LOCAL lock_timeout = '` + partitionWait + `'`,
		// Group commits take event before delivery, and outcomes attempt before delivery: none waits for us in a circle.
		`LOCK TABLE event, attempt, delivery IN ACCESS EXCLUSIVE MODE`,
	} {
		if _, err := tx.tx.ExecContext(ctx, query); err != nil {
			return false, busy(err)
		}
	}
	changed, err := tx.newlyNeeded(ctx, day)
	if err != nil || changed {
		return false, err
	}
	if err := tx.rememberDay(ctx, day); err != nil {
		return false, err
	}
	for i, p := range []partition{day.event, day.delivery, day.attempt} {
		if _, err := tx.tx.ExecContext(ctx, `ALTER TABLE `+byDay[i].table+` DETACH PARTITION `+p.Name); err != nil {
			return false, err
		}
	}
	if err := tx.carryOver(ctx, day); err != nil {
		return false, fmt.Errorf("carry over what stays: %w", err)
	}
	if _, err := tx.tx.ExecContext(ctx, `DROP TABLE `+day.event.Name+`, `+day.delivery.Name+`, `+day.attempt.Name); err != nil {
		return false, err
	}
	_, err = tx.tx.ExecContext(ctx, `SET LOCAL lock_timeout = DEFAULT`)
	return true, err
}

// newlyNeeded reports whether, since it was found out what has to stay of a day, a person sent some of it again. It asks only
// what small indexes can answer, because everybody waits for it.
func (tx *Tx) newlyNeeded(ctx context.Context, day *oldDay) (bool, error) {
	w := day.notNeeded(`event_id`)
	args := append(append(append([]any{}, w.args...), w.args...), w.args...)
	args = append(args, day.delivery.To)
	return getOne[bool](ctx, &tx.Queries, `SELECT EXISTS (SELECT 1 FROM delivery`+w.sql()+` AND status IN ('pending', 'retrying'))
		OR EXISTS (SELECT 1 FROM delivery`+w.sql()+` AND status IN ('held', 'dead'))
		OR EXISTS (SELECT 1 FROM delivery`+w.sql()+` AND id >= ?)`, args...)
}

// carryOver puts what must stay of a detached day into the default partition: the events that are needed with their
// deliveries, what came that day of events of other days that are there still, and the attempts at all these.
func (tx *Tx) carryOver(ctx context.Context, day *oldDay) error {
	none := day.needed
	if len(none) == 0 {
		none = []string{""}
	}
	w := whereIn(`d.event_id`, none)
	stays := `(` + w.conditions[0] + ` OR d.event_id < ? OR d.event_id >= ?) AND EXISTS (SELECT 1 FROM event e WHERE e.id = d.event_id)`
	args := append(append([]any{}, w.args...), day.event.From, day.event.To)
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO event SELECT * FROM ` + day.event.Name + ` WHERE id IN (` + marks(len(none)) + `)`, w.args},
		{`INSERT INTO delivery SELECT d.* FROM ` + day.delivery.Name + ` d WHERE ` + stays, args},
		{`INSERT INTO attempt SELECT a.* FROM ` + day.delivery.Name + ` d JOIN ` + day.attempt.Name + ` a ON a.delivery_id = d.id WHERE ` + stays, args},
		{`INSERT INTO attempt SELECT a.* FROM ` + day.attempt.Name + ` a WHERE (a.delivery_id < ? OR a.delivery_id >= ?)
			AND EXISTS (SELECT 1 FROM delivery d WHERE d.id = a.delivery_id)`, []any{day.delivery.From, day.delivery.To}},
	} {
		if _, err := tx.exec(ctx, step.query, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// forgetSenders removes what is known of the senders of the events between two ids that are gone.
func (tx *Tx) forgetSenders(ctx context.Context, span string, limit int) (Pruned, error) {
	from, to, _ := strings.Cut(span, " ")
	n, err := tx.exec(ctx, `DELETE FROM event_identity WHERE event_id IN (SELECT i.event_id FROM event_identity i WHERE i.event_id >= ? AND i.event_id < ?
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = i.event_id) LIMIT ?)`, from, to, limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("forget senders: %w", err)
	}
	if n < int64(limit) {
		return Pruned{Rows: n, Cursor: atDays + to}, nil
	}
	return Pruned{Rows: n, Cursor: atGone + span}, nil
}

// PartitionSpan returns how many days a partition should hold when events are kept for a time, 0 being for ever: so many that a
// query that has to look into all of them looks into about forty.
func PartitionSpan(keep time.Duration) time.Duration {
	const many = 40
	if keep <= 0 {
		keep = 10 * 365 * aDay
	}
	return max(1, (keep+many*aDay-1)/(many*aDay)) * aDay
}
