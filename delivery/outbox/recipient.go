package outbox

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// rejectUnwanted rejects the submissions that need a recipient and have none, in the transaction in which they would be
// written: a subscription that ends at this moment either gets the event or has it rejected. It accepts an event that this
// client sent before, for that has its deliveries.
func rejectUnwanted(ctx context.Context, tx *store.Tx, index *index, group []*pending, rows [][]store.Event) error {
	for i, p := range group {
		if !p.NeedRecipient || !p.isNew() {
			continue
		}
		for n := range rows[i] {
			if len(index.match(&p.Events[n], &rows[i][n], p.FromOwn)) > 0 {
				continue
			}
			_, err := tx.EventIDByIdentity(ctx, p.ClientID, rows[i][n].CESource, rows[i][n].CEID)
			if errors.Is(err, store.ErrNotFound) {
				p.err = ErrNoRecipient
				break
			}
			if err != nil {
				return fmt.Errorf("find event sent before: %w", err)
			}
		}
	}
	return nil
}
