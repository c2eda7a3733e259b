package datasets

import (
	"context"

	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
)

// SubscribedDataset describes the dataset of a subscription; nil for one to event types. Its links start with base.
func (p *Pages) SubscribedDataset(ctx context.Context, g partners.Grant, base string) (*view.SubscribedDataset, error) {
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
	v.Map = datasetMap(ctx, set, "map", v.Area.Name, []mapArea{{label: v.Area.Name, wkt: f.Area.WKT}})
	return v, nil
}
