package datasets

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// Failed notes that a delta or a snapshot of a dataset could not be made, and tells the administrators the first time since
// one could: it is tried again by itself, and no other mail is sent until it worked once. kind is store.TroubleDelta or
// store.TroubleSnapshot.
func (d *Datasets) Failed(ctx context.Context, datasetID, kind, failure string) error {
	return d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Dataset(ctx, datasetID)
		if err != nil {
			return registry.Found("dataset", err)
		}
		trouble, err := tx.FailMutation(ctx, datasetID, kind, failure)
		if err != nil {
			return fmt.Errorf("note failure: %w", err)
		}
		if trouble.Times > 1 {
			return nil
		}
		return d.cfg.MailAdministrators(ctx, tx, mailDatasetFails(d.cfg, row, trouble))
	})
}

// Worked notes that a delta or a snapshot of a dataset was made; what was noted of failures goes.
func (d *Datasets) Worked(ctx context.Context, datasetID, kind string) error {
	return d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.MendMutation(ctx, datasetID, kind)
		return err
	})
}

func mailDatasetFails(c registry.Config, row store.Dataset, t store.MutationTrouble) registry.Message {
	return c.Letter("A "+t.Kind+" of dataset "+row.Title+" failed", "/admin/datasets/"+row.ID,
		"A "+t.Kind+" of dataset "+row.Title+" could not be made: "+t.Error,
		"It is tried again by itself, and nothing that was published is lost. Until it works, followers get nothing newer. The page of the dataset tells how often it failed; no other mail is sent before it worked once.")
}
