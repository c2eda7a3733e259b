package datasets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Datasets are the registers whose changes are delivered as mutation files. An administrator makes them; partners ask
// for a subscription with Subscriptions.RequestDataset.
type Datasets struct {
	cfg           registry.Config
	subscriptions Subscribed
}

// Subscribed decides on subscriptions to a dataset that ends.
type Subscribed interface {
	// DropChange drops what is asked for anew of a subscription, and reports whether it did.
	DropChange(ctx context.Context, tx *store.Tx, sub store.Subscription) (bool, error)
	// EndAll ends the open subscriptions that a filter selects.
	EndAll(ctx context.Context, tx *store.Tx, f store.SubscriptionFilter, reason string) error
}

// NewDatasets makes the service.
func NewDatasets(cfg registry.Config, subscriptions Subscribed) *Datasets {
	return &Datasets{cfg, subscriptions}
}

// Get finds a dataset. All partners see which there are.
func (d *Datasets) Get(ctx context.Context, id string) (store.Dataset, error) {
	row, err := d.cfg.DB.Dataset(ctx, id)
	return row, registry.Found("dataset", err)
}

// List lists datasets with their total count.
func (d *Datasets) List(ctx context.Context, f store.DatasetFilter) ([]store.Dataset, int, error) {
	rows, total, err := d.cfg.DB.Datasets(ctx, f)
	return rows, total, registry.Wrap("list datasets", err)
}

// Create adds a dataset. Fields: id, title, description, rootPrefix, rootSpace, rootLocal, namespaces, objectTypes, crs,
// areaKind, geometryElements, keyElements, perFile, deltaSchedule, snapshotSchedule.
func (d *Datasets) Create(ctx context.Context, actor registry.Actor, in DatasetInput) (store.Dataset, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Dataset{}, err
	}
	in = in.clean()
	if err := in.check().Err(); err != nil {
		return store.Dataset{}, err
	}
	row := store.Dataset{ID: in.ID, Status: store.DatasetActive, Lineage: uuid.NewString(), CreatedBy: actor.Name}
	err := d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		in.fill(&row)
		err := tx.InsertDataset(ctx, &row)
		if errors.Is(err, store.ErrConflict) {
			return registry.Invalid(registry.Problems{"id": "datasets.id-taken"})
		}
		if err != nil {
			return fmt.Errorf("add dataset: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionDatasetCreated, datasetObject(row), datasetDetails(row))
	})
	return row, err
}

// Update changes a dataset; its id stays. What was published keeps its meaning: object types stay, and what decides what
// is in an area stays while anybody is bounded by one. Fields: as Create.
func (d *Datasets) Update(ctx context.Context, actor registry.Actor, id string, edit func(*DatasetInput)) (store.Dataset, error) {
	var row store.Dataset
	err := d.change(ctx, actor, id, func(tx *store.Tx, now *store.Dataset) error {
		before := *now
		in := InputOfDataset(before)
		edit(&in)
		in.ID = id
		in = in.clean()
		wrong := in.check()
		areas, err := countAreas(ctx, tx, id)
		if err != nil {
			return err
		}
		in.checkKept(before, areas, wrong)
		if err := wrong.Err(); err != nil {
			return err
		}
		in.fill(now)
		if err := tx.UpdateDataset(ctx, now); err != nil {
			return fmt.Errorf("change dataset: %w", err)
		}
		row = *now
		return registry.Record(ctx, tx, actor, registry.ActionDatasetChanged, datasetObject(row), datasetDetails(row))
	})
	return row, err
}

// countAreas counts the open subscriptions to a dataset that are bounded by an area.
func countAreas(ctx context.Context, tx *store.Tx, id string) (int, error) {
	n := 0
	followers, err := openFollowers(ctx, &tx.Queries, store.SubscriptionFilter{DatasetID: id})
	for _, f := range followers {
		if f.Follower.AreaID != "" {
			n++
		}
	}
	return n, err
}

// End ends a dataset for good: nothing is published in it any more, and its last changes are cut. Who may read it goes on
// until what was cut is over, and is told why (see [Datasets.EndFollowing]); who waits for approval is turned down.
func (d *Datasets) End(ctx context.Context, actor registry.Actor, id, reason string) error {
	reason = strings.TrimSpace(reason)
	return d.change(ctx, actor, id, func(tx *store.Tx, row *store.Dataset) error {
		if err := registry.CheckReason(reason, true); err != nil {
			return err
		}
		if err := tx.EndDataset(ctx, id, reason); err != nil {
			return fmt.Errorf("end dataset: %w", err)
		}
		if err := tx.AskDelta(ctx, id); err != nil {
			return fmt.Errorf("ask last delta: %w", err)
		}
		if err := d.endRequests(ctx, tx, *row, reason); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionDatasetEnded, datasetObject(*row), registry.Details{"reason": reason})
	})
}

// AskDelta asks for a delta of what is not in one yet; it is cut within seconds.
func (d *Datasets) AskDelta(ctx context.Context, actor registry.Actor, id string) error {
	return d.change(ctx, actor, id, func(tx *store.Tx, row *store.Dataset) error {
		if err := tx.AskDelta(ctx, id); err != nil {
			return fmt.Errorf("ask delta: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionDatasetDelta, datasetObject(*row), nil)
	})
}

// AskSnapshot asks for a new initial state; it is begun within seconds.
func (d *Datasets) AskSnapshot(ctx context.Context, actor registry.Actor, id string) error {
	return d.change(ctx, actor, id, func(tx *store.Tx, row *store.Dataset) error {
		if err := tx.AskSnapshot(ctx, id); err != nil {
			return fmt.Errorf("ask snapshot: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionDatasetSnapshot, datasetObject(*row), nil)
	})
}

// ResetLineage starts a new lineage (MUT-38): what was delivered is not to be built on any more, so every copy begins anew from
// the next snapshot, which is asked for at once. What is in the dataset stays. Field: reason, which is told to all who follow it.
func (d *Datasets) ResetLineage(ctx context.Context, actor registry.Actor, id, reason string) (store.Dataset, error) {
	reason = strings.TrimSpace(reason)
	var row store.Dataset
	err := d.change(ctx, actor, id, func(tx *store.Tx, now *store.Dataset) error {
		if err := registry.CheckReason(reason, true); err != nil {
			return err
		}
		before := now.Lineage
		lineage := uuid.NewString()
		if err := tx.SetDatasetLineage(ctx, id, lineage, reason, false); err != nil {
			return fmt.Errorf("start new lineage: %w", err)
		}
		if err := tx.AskSnapshot(ctx, id); err != nil {
			return fmt.Errorf("ask snapshot: %w", err)
		}
		var err error
		if row, err = tx.Dataset(ctx, id); err != nil {
			return registry.Found("dataset", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionDatasetLineage, datasetObject(row), registry.Details{"reason": reason, "lineage": lineage, "lineageBefore": before})
	})
	return row, err
}

// CancelPublication stops what is being published. What is in stays in, whole groups of it.
func (d *Datasets) CancelPublication(ctx context.Context, actor registry.Actor, id, publicationID string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.Dataset(ctx, id)
		if err != nil {
			return registry.Found("dataset", err)
		}
		p, err := tx.Publication(ctx, publicationID)
		if err != nil || p.DatasetID != id {
			return registry.Found("publication", errors.Join(err, store.ErrNotFound))
		}
		err = tx.CancelPublication(ctx, publicationID)
		if errors.Is(err, store.ErrNotFound) {
			return registry.Conflict("datasets.publication-over")
		}
		if err != nil {
			return fmt.Errorf("stop publication: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionPublicationCancelled, datasetObject(row), registry.Details{"publication": p.ID, "name": p.Name, "groups": p.Groups})
	})
}

// change reads an active dataset and keeps others from changing it meanwhile.
func (d *Datasets) change(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.Dataset) error) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return d.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.LockDataset(ctx, id)
		if err != nil {
			return registry.Found("dataset", err)
		}
		if row.Status == store.DatasetEnded {
			return registry.Conflict("datasets.has-ended", row.Title)
		}
		return fn(tx, &row)
	})
}

// Next returns the next scheduled times of a delta and a snapshot; zero is on demand, or never again.
func (d *Datasets) Next(row store.Dataset) (delta, snapshot time.Time) {
	if row.Status == store.DatasetEnded {
		return delta, snapshot
	}
	now := d.cfg.Now().UTC()
	if plan, err := registry.ParseSchedule(row.DeltaSchedule, leastDeltaPause); err == nil {
		delta = plan.Next(now)
	}
	if plan, err := registry.ParseSchedule(row.SnapshotSchedule, leastSnapshotPause); err == nil {
		snapshot = plan.Next(now)
	}
	return delta, snapshot
}

func datasetObject(d store.Dataset) registry.Object {
	return registry.ObjectOf("dataset", d.ID, d.Title, "")
}

func datasetDetails(d store.Dataset) registry.Details {
	return registry.Details{
		"objectTypes": []string(d.ObjectTypes), "crs": d.CRS, "areaKind": d.AreaKind, "perFile": d.PerFile,
		"geometryElements": []string(d.GeometryElements), "keyElements": []string(d.KeyElements),
		"deltaSchedule": d.DeltaSchedule, "snapshotSchedule": d.SnapshotSchedule,
	}
}

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
	path := "/admin/datasets/" + row.ID
	if t.Kind == store.TroubleSnapshot {
		return c.Letter(i18n.M("datasets.mail.failed-snapshot", row.Title), path,
			i18n.M("datasets.mail.failed-snapshot-why", row.Title, i18n.Message(t.Error)), "datasets.mail.failed-next")
	}
	return c.Letter(i18n.M("datasets.mail.failed-delta", row.Title), path,
		i18n.M("datasets.mail.failed-delta-why", row.Title, i18n.Message(t.Error)), "datasets.mail.failed-next")
}
