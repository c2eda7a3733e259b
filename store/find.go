package store

import (
	"context"
	"fmt"
)

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
