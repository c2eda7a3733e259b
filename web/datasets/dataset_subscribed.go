package web

import (
	"context"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// subscribedDataset describes the dataset of a subscription; nil for one to event types. Its links start with base.
func (p *portal) subscribedDataset(ctx context.Context, g partners.Grant, base string) (*view.SubscribedDataset, error) {
	if g.Dataset == nil {
		return nil, nil
	}
	set := g.Dataset.Dataset
	last, err := lastDelta(ctx, p.DB, set.ID)
	if err != nil {
		return nil, err
	}
	v := &view.SubscribedDataset{Dataset: ui.Named{Name: set.Title, Href: base + "/datasets/" + set.ID}, Types: g.Dataset.Follower.ObjectTypes}
	f := registry.DatasetFollower{Subscription: g.Subscription, Partner: g.Partner, Follower: g.Dataset.Follower, Area: g.Dataset.Area}
	if v.Copy, err = p.followerRow(ctx, set, last, f, base); err != nil || f.Area == nil {
		return v, err
	}
	v.Area = v.Copy.Area
	if f.Area.Kind == store.AreaKeys {
		v.Keys = f.Area.Keys[:min(shownKeys, len(f.Area.Keys))]
		return v, nil
	}
	v.Map = datasetMap(set, "map", v.Area.Name, []mapArea{{label: v.Area.Name, wkt: f.Area.WKT}})
	return v, nil
}

// followingText explains the state of a subscription to a dataset to its reader; empty for one to event types.
func followingText(g partners.Grant) string {
	s := g.Subscription
	switch {
	case s.DatasetID == "":
		return ""
	case g.Dataset != nil && g.Dataset.Follower.Reads && s.Status == store.SubscriptionRequested:
		return "The administrator has to decide on your change. The answer appears here; until then you can fetch what you got before."
	}
	return map[string]string{
		store.SubscriptionRequested: "The administrator has to decide on this request. The answer appears here; until then nothing can be fetched.",
		store.SubscriptionApproved:  "You can fetch snapshots and deltas of this dataset, as far as this subscription goes.",
		store.SubscriptionPaused:    "You paused this subscription: nothing can be fetched by it. Deltas are kept for 31 days.",
		store.SubscriptionSuspended: "The administrator suspended this subscription: nothing can be fetched by it until it is resumed. Deltas are kept for 31 days.",
		store.SubscriptionRejected:  "The administrator rejected this request. You can ask again in another way.",
		store.SubscriptionEnded:     "This subscription has ended. Ask for a new one to follow the dataset again.",
	}[s.Status]
}
