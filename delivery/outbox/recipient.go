package outbox

import (
	"context"
	"errors"
	"fmt"

	"schakel/store"
)

// refuseUnwanted refuses the submissions that need a recipient and have none, in the transaction in which they would be written:
// a subscription that ends at this moment either gets the event or makes it be refused. An event that this client sent before is
// not refused, for it has its deliveries.
func refuseUnwanted(ctx context.Context, tx *store.Tx, index *index, group []*pending, rows [][]store.Event) error {
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
