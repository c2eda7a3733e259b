package partners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// DatasetRequest holds the request of a partner for a dataset.
type DatasetRequest struct {
	Dataset     string
	EndpointID  string // of kind files
	Name        string // may be empty
	Purpose     string // what the partner needs the data for
	ObjectTypes []string
	Area        AreaInput // zero: everything
}

// RequestDataset asks for a subscription to a dataset. It starts when an administrator approves it, like any other. A
// partner has one open subscription to a dataset at an endpoint. Fields: dataset, endpoint, name, purpose, objectTypes,
// and those of the area: areaName, area, areaCrs, keys.
func (s *Subscriptions) RequestDataset(ctx context.Context, actor registry.Actor, in DatasetRequest) (store.Subscription, error) {
	in.Name, in.Purpose, in.Dataset = strings.TrimSpace(in.Name), strings.TrimSpace(in.Purpose), strings.TrimSpace(in.Dataset)
	var sub store.Subscription
	err := s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		dataset, err := askedDataset(ctx, tx, in.Dataset)
		if err != nil {
			return err
		}
		types, area, wrong := readSelection(s.cfg, dataset, in.ObjectTypes, in.Area)
		wrong.Add("name", registry.CheckLine(in.Name, 0, 120))
		wrong.Add("purpose", registry.CheckProse(in.Purpose, 3, 2000))
		wrong.AddIf(in.EndpointID == "", "endpoint", "partners.dataset.choose-endpoint")
		if err := wrong.Err(); err != nil {
			return err
		}
		endpoint, partner, err := endpointFor(ctx, tx, actor, in.EndpointID)
		if err != nil {
			return err
		}
		if err := s.checkFilesEndpoint(ctx, tx, endpoint, dataset); err != nil {
			return err
		}
		sub = store.Subscription{
			PartnerID: partner.ID, EndpointID: endpoint.ID, DatasetID: dataset.ID, Name: in.Name, Purpose: in.Purpose, Status: store.SubscriptionRequested,
		}
		return s.insertDataset(ctx, tx, actor, &sub, partner, endpoint, types, area)
	})
	return sub, err
}

func askedDataset(ctx context.Context, tx *store.Tx, id string) (store.Dataset, error) {
	row, err := tx.Dataset(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, fmt.Errorf("find dataset: %w", err)
	}
	if err != nil || row.Status != store.DatasetActive {
		return row, registry.Invalid(registry.Problems{"dataset": "partners.dataset.choose"})
	}
	return row, nil
}

func readSelection(c registry.Config, d store.Dataset, asked []string, in AreaInput) (store.Strings, *store.MutationArea, registry.Problems) {
	area, wrong := readArea(c, d, in)
	types, text := pickObjectTypes(d, asked)
	wrong.Add("objectTypes", text)
	return types, area, wrong
}

func (s *Subscriptions) checkFilesEndpoint(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, dataset store.Dataset) error {
	if endpoint.Kind != store.EndpointFiles {
		return registry.Invalid(registry.Problems{"endpoint": i18n.M("partners.dataset.endpoint-kind", endpoint.Name, endpoint.Kind)})
	}
	_, others, err := tx.Subscriptions(ctx, store.SubscriptionFilter{EndpointID: endpoint.ID, DatasetID: dataset.ID, Open: true})
	if err != nil {
		return fmt.Errorf("list subscriptions: %w", err)
	}
	if others > 0 {
		return registry.Invalid(registry.Problems{"dataset": i18n.M("partners.dataset.twice", endpoint.Name, dataset.ID)})
	}
	return nil
}

func (s *Subscriptions) insertDataset(
	ctx context.Context, tx *store.Tx, actor registry.Actor, sub *store.Subscription, partner store.Partner, endpoint store.Endpoint, types store.Strings, area *store.MutationArea,
) error {
	areaID, err := insertArea(ctx, tx, actor, partner.ID, area)
	if err != nil {
		return err
	}
	if err := tx.InsertSubscription(ctx, sub); err != nil {
		return fmt.Errorf("add subscription: %w", err)
	}
	follower := store.MutationFollower{SubscriptionID: sub.ID, DatasetID: sub.DatasetID, AreaID: areaID, ObjectTypes: types}
	if err := tx.InsertMutationFollower(ctx, &follower); err != nil {
		return fmt.Errorf("add follower: %w", err)
	}
	what := followerDetails(*sub, partner, endpoint, follower)
	if err := registry.Record(ctx, tx, actor, registry.ActionSubscriptionRequested, subscriptionObject(*sub), what); err != nil {
		return err
	}
	return s.cfg.MailAllowed(ctx, tx, registry.DecideApprovals, mailSubscriptionWaits(s.cfg, *sub, partner, endpoint))
}

// AreaChange holds the new selection of a subscription to a dataset.
type AreaChange struct {
	Area        AreaInput
	ObjectTypes []string
}

// ChangeArea changes what of its dataset a subscription gets (MUT-49). An area never changes: this makes another one, with a
// lineage of its own, so the copy begins anew from a snapshot and what was fetched before is forgotten. A partner's change waits
// for approval, as who decided on the old area did not see the new one; until then an approved subscription reads what it read
// before. Asking for that again takes the change back. A change by an administrator counts at once. Fields: as RequestDataset.
func (s *Subscriptions) ChangeArea(ctx context.Context, actor registry.Actor, id string, in AreaChange) (store.Subscription, error) {
	var sub store.Subscription
	err := s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		var partner store.Partner
		var endpoint store.Endpoint
		var err error
		if err = lockDatasetOf(ctx, tx, id); err != nil {
			return err
		}
		if sub, partner, endpoint, err = lockSubscription(ctx, tx, actor, id); err != nil {
			return err
		}
		if err := changeableArea(sub); err != nil {
			return err
		}
		dataset, err := tx.Dataset(ctx, sub.DatasetID)
		if err != nil {
			return registry.Found("dataset", err)
		}
		if dataset.Status == store.DatasetEnded {
			return registry.Conflict("partners.dataset.ended-stays", dataset.Title)
		}
		types, area, wrong := readSelection(s.cfg, dataset, in.ObjectTypes, in.Area)
		if err := wrong.Err(); err != nil {
			return err
		}
		follower, err := tx.MutationFollower(ctx, sub.ID)
		if err != nil {
			return registry.Found("follower", err)
		}
		same, err := sameSelection(ctx, tx, follower, types, area)
		if err != nil || same {
			return err
		}
		if follower.Reads {
			if same, err = sameSelection(ctx, tx, follower.Reading(), types, area); err != nil {
				return err
			}
			if same {
				return s.withdrawArea(ctx, tx, actor, &sub, partner, endpoint)
			}
		}
		return s.replaceArea(ctx, tx, actor, &sub, partner, endpoint, types, area)
	})
	return sub, err
}

// lockDatasetOf locks the dataset of a subscription, if it has one. That comes before the subscription, as when the dataset
// ends: else two transactions would wait for each other.
func lockDatasetOf(ctx context.Context, tx *store.Tx, id string) error {
	sub, err := tx.Subscription(ctx, id)
	if err != nil {
		return registry.Found("subscription", err)
	}
	if sub.DatasetID == "" {
		return nil
	}
	return registry.Found("dataset", tx.Lock(ctx, "dataset", sub.DatasetID))
}

func changeableArea(sub store.Subscription) error {
	if sub.DatasetID == "" {
		return registry.Conflict("partners.subscription.no-area")
	}
	if !slices.Contains([]string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused}, sub.Status) {
		return registry.Conflict("partners.subscription.area-fixed", subscriptionState(sub.Status))
	}
	return nil
}

// sameSelection reports whether a follower gets exactly this already: then its lineage goes on.
func sameSelection(ctx context.Context, tx *store.Tx, now store.MutationFollower, types store.Strings, area *store.MutationArea) (bool, error) {
	if !slices.Equal(now.ObjectTypes, types) || (now.AreaID == "") != (area == nil) {
		return false, nil
	}
	if area == nil {
		return true, nil
	}
	old, err := tx.MutationArea(ctx, now.AreaID)
	if err != nil {
		return false, registry.Found("area", err)
	}
	return old.WKT == area.WKT && slices.Equal(old.Keys, area.Keys), nil
}

func (s *Subscriptions) replaceArea(
	ctx context.Context, tx *store.Tx, actor registry.Actor, sub *store.Subscription, partner store.Partner, endpoint store.Endpoint, types store.Strings, area *store.MutationArea,
) error {
	areaID, err := insertArea(ctx, tx, actor, partner.ID, area)
	if err != nil {
		return err
	}
	follower := store.MutationFollower{SubscriptionID: sub.ID, DatasetID: sub.DatasetID, AreaID: areaID, ObjectTypes: types}
	change := tx.SetMutationFollower
	waits := !actor.Administrator && sub.Status != store.SubscriptionRequested
	if before, err := tx.MutationFollower(ctx, sub.ID); err != nil {
		return registry.Found("follower", err)
	} else if before.Reads || waits && sub.Status == store.SubscriptionApproved {
		change = tx.AskMutationFollower
	}
	if err := change(ctx, sub.ID, areaID, types); err != nil {
		return fmt.Errorf("change follower: %w", err)
	}
	if waits {
		sub.Status, sub.StatusReason = store.SubscriptionRequested, "partners.reason.area-changed"
		if err := tx.UpdateSubscription(ctx, sub); err != nil {
			return fmt.Errorf("change subscription: %w", err)
		}
	}
	if err := registry.Record(ctx, tx, actor, registry.ActionSubscriptionArea, subscriptionObject(*sub), followerDetails(*sub, partner, endpoint, follower)); err != nil || !waits {
		return err
	}
	return s.cfg.MailAllowed(ctx, tx, registry.DecideApprovals, mailSubscriptionWaits(s.cfg, *sub, partner, endpoint))
}

func followerDetails(s store.Subscription, p store.Partner, e store.Endpoint, f store.MutationFollower) registry.Details {
	d := subscriptionDetails(s, p, e, "")
	maps.Copy(d, registry.Details{"area": f.AreaID, "objectTypes": []string(f.ObjectTypes)})
	return d
}

// A change of what a subscription to a dataset gets waits for approval while the subscription goes on reading what it read
// (MUT-49). The decision is the one on a request: approving it puts the change in force, rejecting it drops the change alone.

// withdrawArea takes back a change that waits: the subscription goes on with what it reads, approved as it was.
func (s *Subscriptions) withdrawArea(
	ctx context.Context, tx *store.Tx, actor registry.Actor, sub *store.Subscription, partner store.Partner, endpoint store.Endpoint,
) error {
	if err := tx.KeepMutationFollower(ctx, sub.ID); err != nil {
		return fmt.Errorf("keep what a follower reads: %w", err)
	}
	follower, err := tx.MutationFollower(ctx, sub.ID)
	if err != nil {
		return registry.Found("follower", err)
	}
	sub.Status, sub.StatusReason = store.SubscriptionApproved, ""
	if err := tx.UpdateSubscription(ctx, sub); err != nil {
		return fmt.Errorf("change subscription: %w", err)
	}
	return registry.Record(ctx, tx, actor, registry.ActionSubscriptionArea, subscriptionObject(*sub), followerDetails(*sub, partner, endpoint, follower))
}

// DropChange drops what is asked for anew of a subscription to a dataset, and reports whether it did.
func (s *Subscriptions) DropChange(ctx context.Context, tx *store.Tx, sub store.Subscription) (bool, error) {
	return decideChange(ctx, tx, sub, "reject")
}

// decideChange puts a change that waits in force, or drops it when it is rejected; rejected reports the latter. It does nothing
// for other subscriptions and verbs.
func decideChange(ctx context.Context, tx *store.Tx, sub store.Subscription, verb string) (rejected bool, err error) {
	if sub.DatasetID == "" || verb != "approve" && verb != "reject" {
		return false, nil
	}
	follower, err := tx.MutationFollower(ctx, sub.ID)
	if err != nil {
		return false, registry.Found("follower", err)
	}
	switch {
	case !follower.Reads:
	case verb == "approve":
		err = tx.SetMutationFollower(ctx, sub.ID, follower.AreaID, follower.ObjectTypes)
	default:
		rejected, err = true, tx.KeepMutationFollower(ctx, sub.ID)
	}
	return rejected, registry.Wrap("decide on what a follower gets", err)
}
