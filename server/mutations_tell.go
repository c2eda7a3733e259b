package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/delivery/outbox"
	"schakel/store"
)

// The events that tell followers of a dataset.
const (
	typeDeliveryAvailable = "nl.schakel.mutations.delivery-available.v1"
	typeLineageChanged    = "nl.schakel.mutations.lineage-changed.v1"
)

const (
	tellMost       = 50                  // deltas of a dataset in one turn
	lineageSetting = "mutations.lineage" // with the id of a dataset: the lineage last told
)

// mutationTeller informs the followers of a dataset of new deltas, and of a replaced history, as events like any other. What is
// told is marked afterwards, and the id of an event is that of what it tells: telling it twice, after a crash or by several
// nodes, is one event (guarantee G4).
type mutationTeller struct {
	db     *store.DB
	accept func(context.Context, outbox.Submission) (outbox.Receipt, error)
	base   string
	told   map[string]string // lineage by dataset, as far as this node knows
}

// turn announces what was not announced yet.
func (m *mutationTeller) turn(ctx context.Context) error {
	sets, _, err := m.db.Datasets(ctx, store.DatasetFilter{})
	if err != nil {
		return fmt.Errorf("list datasets: %w", err)
	}
	for _, set := range sets {
		if failure := errors.Join(m.lineage(ctx, set), m.deltas(ctx, set), m.parts(ctx, set)); failure != nil {
			err = errors.Join(err, fmt.Errorf("announce deliveries of %s: %w", set.ID, failure))
		}
	}
	return err
}

// readers finds who follows a dataset, when it is needed.
func (m *mutationTeller) readers(ctx context.Context, set store.Dataset) ([]store.MutationReader, error) {
	readers, err := m.db.MutationReaders(ctx, set.ID)
	if err != nil {
		return nil, fmt.Errorf("list followers: %w", err)
	}
	return readers, nil
}

// deltas announces deltas to followers of the whole dataset.
func (m *mutationTeller) deltas(ctx context.Context, set store.Dataset) error {
	rows, err := m.db.MutationDeltasToTell(ctx, set.ID, tellMost)
	if err != nil || len(rows) == 0 {
		return err
	}
	readers, err := m.readers(ctx, set)
	if err != nil {
		return err
	}
	var whole []string
	for _, r := range readers {
		if r.Everything() {
			whole = append(whole, r.PartnerID)
		}
	}
	for _, d := range rows {
		if d.GoneAt.IsZero() {
			if err := m.delta(ctx, set, d, d.ID, d.ID, d.CreatedAt, store.OnlyFor(whole...), ""); err != nil {
				return err
			}
		}
		if err := m.db.Write(ctx, func(tx *store.Tx) error { return tx.TellMutationDelta(ctx, d.ID) }); err != nil {
			return fmt.Errorf("note what was told: %w", err)
		}
	}
	return nil
}

// parts announces deltas to followers of a part of the dataset, each when its part is ready.
func (m *mutationTeller) parts(ctx context.Context, set store.Dataset) error {
	rows, err := m.db.MutationDownloadsToTell(ctx, set.ID, tellMost)
	if err != nil || len(rows) == 0 {
		return err
	}
	readers, err := m.readers(ctx, set)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for _, r := range readers {
		open[r.SubscriptionID] = true
	}
	for _, row := range rows {
		if open[row.SubscriptionID] && row.GoneAt.IsZero() {
			d, err := m.db.MutationDelta(ctx, row.DeltaID)
			if err != nil {
				return fmt.Errorf("find delta: %w", err)
			}
			name := export.NameOf(d.ID, row.Mark)
			if err := m.delta(ctx, set, d, name, d.ID+"-"+row.SubscriptionID, row.FinishedAt, store.OnlyFor(row.PartnerID), row.SubscriptionID); err != nil {
				return err
			}
		}
		if err := m.db.Write(ctx, func(tx *store.Tx) error { return tx.TellMutationDownload(ctx, row.ID) }); err != nil {
			return fmt.Errorf("note what was told: %w", err)
		}
	}
	return nil
}

// delta hands in the event of a delta, or of the part of it that a subscription gets, under the name that its readers know it by.
func (m *mutationTeller) delta(ctx context.Context, set store.Dataset, d store.MutationDelta, name, id string, at store.Time, to store.Audience, subscription string) error {
	content := m.at(set, "deltas", name, "content")
	if subscription != "" {
		content += "?" + url.Values{"subscriptionId": {subscription}}.Encode()
	}
	return m.tell(ctx, to, map[string]any{
		"id": id, "type": typeDeliveryAvailable, "subject": set.ID, "time": at.UTC().Format(time.RFC3339Nano),
		"sequence": fmt.Sprintf("%020d", d.Number), "partitionkey": set.ID,
		"dataref": content,
	})
}

// lineageChanged is the data of the event that tells of a replaced history.
type lineageChanged struct {
	Dataset string `json:"dataset"`
	Lineage string `json:"lineage"`
	Reason  string `json:"reason"`
	URL     string `json:"url"`
}

// lineage informs all followers when a history was replaced (MUT-38). The first lineage of a dataset is no change.
func (m *mutationTeller) lineage(ctx context.Context, set store.Dataset) error {
	if m.told[set.ID] == set.Lineage {
		return nil
	}
	name := lineageSetting + "." + set.ID
	before, err := m.db.Setting(ctx, name)
	if err != nil {
		return fmt.Errorf("read which lineage was told: %w", err)
	}
	if before != set.Lineage && set.LineageReason != "" {
		if err := m.tellLineage(ctx, set); err != nil {
			return err
		}
	}
	if before != set.Lineage {
		err := m.db.Write(ctx, func(tx *store.Tx) error { return tx.SwapSetting(ctx, name, before, set.Lineage) })
		if err != nil && !errors.Is(err, store.ErrConflict) { // another node was faster
			return fmt.Errorf("note which lineage was told: %w", err)
		}
	}
	m.told[set.ID] = set.Lineage
	return nil
}

func (m *mutationTeller) tellLineage(ctx context.Context, set store.Dataset) error {
	readers, err := m.readers(ctx, set)
	if err != nil {
		return err
	}
	var all []string
	for _, r := range readers {
		all = append(all, r.PartnerID)
	}
	newest := m.at(set, "snapshots", "latest")
	return m.tell(ctx, store.OnlyFor(all...), map[string]any{
		"id": set.Lineage, "type": typeLineageChanged, "subject": set.ID, "time": set.LineageAt.UTC().Format(time.RFC3339Nano),
		"partitionkey": set.ID, "datacontenttype": "application/json",
		"data": lineageChanged{set.ID, set.Lineage, set.LineageReason, newest},
	})
}

func (m *mutationTeller) tell(ctx context.Context, to store.Audience, members map[string]any) error {
	s, err := ownEvent(ctx, m.db, m.base, to, members)
	if err == nil {
		_, err = m.accept(ctx, s)
	}
	return err
}

// at is an address of the API of datasets.
func (m *mutationTeller) at(set store.Dataset, parts ...string) string {
	path := m.base + "/mutations/v1/datasets/" + url.PathEscape(set.ID)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}
