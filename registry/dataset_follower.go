package registry

import (
	"context"
	"errors"
	"slices"
	"strings"

	"schakel/store"
)

// DatasetFollower is an open subscription to a dataset, with what it gets and how far its copy is.
type DatasetFollower struct {
	Subscription store.Subscription
	Partner      store.Partner
	Follower     store.MutationFollower
	Area         *store.MutationArea // nil: everything; what is asked for, while that waits for approval
}

// FollowerOf reads what a subscription to a dataset gets.
func FollowerOf(ctx context.Context, q *store.Queries, sub store.Subscription) (DatasetFollower, error) {
	f := DatasetFollower{Subscription: sub}
	var err error
	if f.Follower, err = q.MutationFollower(ctx, sub.ID); err != nil {
		return f, Found("follower", err)
	}
	if f.Partner, err = q.Partner(ctx, sub.PartnerID); err != nil {
		return f, Found("partner", err)
	}
	if f.Follower.AreaID == "" {
		return f, nil
	}
	area, err := q.MutationArea(ctx, f.Follower.AreaID)
	if errors.Is(err, store.ErrNotFound) { // this follower gets nothing; those who list it still see it and the others
		area, err = store.MutationArea{ID: f.Follower.AreaID, DatasetID: sub.DatasetID, PartnerID: sub.PartnerID, Name: f.Follower.AreaID}, nil
	}
	f.Area = &area
	return f, Found("area", err)
}

// DatasetObjectType is an object type as the dataset writes it; case does not count (MUT-63).
func DatasetObjectType(d store.Dataset, name string) (string, bool) {
	i := slices.IndexFunc(d.ObjectTypes, func(known string) bool { return strings.EqualFold(known, name) })
	if i < 0 {
		return "", false
	}
	return d.ObjectTypes[i], true
}

// Codes of the coordinate systems that a dataset may have (EPSG).
const (
	CRSNone          = 0
	CRSRijksdriehoek = 28992
	CRSWGS84         = 4326
)
