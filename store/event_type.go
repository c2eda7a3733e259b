package store

import "context"

// EventType is a CloudEvents type as a message of one AsyncAPI contract version defines it.
type EventType struct {
	ID                string `db:"id"`
	Name              string `db:"name"`
	ContractID        string `db:"contract_id"`
	ContractVersionID string `db:"contract_version_id"`
	ContractVersion   string `db:"contract_version"`
	SortKey           string `db:"sort_key"`
	MessageName       string `db:"message_name"`
	Title             string `db:"title"`
	Summary           string `db:"summary"`
	Description       string `db:"description"`
	ContentType       string `db:"content_type"`
	DataSchema        string `db:"data_schema"` // JSON Schema of the data, or empty
	DataRequired      bool   `db:"data_required"`
	Example           string `db:"example"` // JSON, or empty
	Status            string `db:"status"`  // that of the contract version
	Visibility        string `db:"visibility"`
	CreatedAt         Time   `db:"created_at"`
}

// ReplaceEventTypes sets the event types a contract version defines.
func (tx *Tx) ReplaceEventTypes(ctx context.Context, versionID string, types []EventType) error {
	if _, err := tx.exec(ctx, `DELETE FROM event_type WHERE contract_version_id = ?`, versionID); err != nil {
		return err
	}
	for i := range types {
		t := &types[i]
		t.ID, t.CreatedAt, t.ContractVersionID = tx.NewID("ety"), tx.Now, versionID
		if err := tx.insert(ctx, "event_type", t); err != nil {
			return err
		}
	}
	return nil
}

// SetEventTypeStatus follows the state of a contract version.
func (tx *Tx) SetEventTypeStatus(ctx context.Context, versionID, status string) error {
	_, err := tx.exec(ctx, `UPDATE event_type SET status = ? WHERE contract_version_id = ?`, status, versionID)
	return err
}

// EventTypes is the catalogue as a reader may see it, all of it for a nil Sight: every event type once, as its highest
// published (else deprecated) version says, by name.
func (q *Queries) EventTypes(ctx context.Context, sight *Sight) ([]EventType, error) {
	w := where{}
	w.add(`status IN ('published', 'deprecated')`)
	sight.eventTypes(&w)
	var rows []EventType
	err := q.list(ctx, &rows, `SELECT * FROM event_type`+w.sql()+`
		ORDER BY name, CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC`, w.args...)
	return firstOfName(rows), err
}

// EventType finds an event type as its highest published (else deprecated) version says.
func (q *Queries) EventType(ctx context.Context, name string) (EventType, error) {
	var t EventType
	return t, q.get(ctx, &t, `SELECT * FROM event_type WHERE name = ? AND status IN ('published', 'deprecated')
		ORDER BY CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC LIMIT 1`, name)
}

// EventTypeVersions lists the versions in which event types can be used, by name: published ones first, newest first.
func (q *Queries) EventTypeVersions(ctx context.Context, names ...string) ([]EventType, error) {
	if len(names) == 0 {
		return nil, nil
	}
	w := where{}
	w.in(`name`, names)
	w.add(`status IN ('published', 'deprecated')`)
	var rows []EventType
	return rows, q.list(ctx, &rows, `SELECT * FROM event_type`+w.sql()+`
		ORDER BY name, CASE status WHEN 'published' THEN 0 ELSE 1 END, sort_key DESC`, w.args...)
}

// EventTypesOf lists the event types a contract version defines, by name.
func (q *Queries) EventTypesOf(ctx context.Context, versionID string) ([]EventType, error) {
	var rows []EventType
	return rows, q.list(ctx, &rows, `SELECT * FROM event_type WHERE contract_version_id = ? ORDER BY name`, versionID)
}

func firstOfName(rows []EventType) []EventType {
	kept := rows[:0]
	for _, r := range rows {
		if len(kept) == 0 || kept[len(kept)-1].Name != r.Name {
			kept = append(kept, r)
		}
	}
	return kept
}
