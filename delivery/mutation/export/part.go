package export

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store"
)

// part selects object types of a dataset, in areas that must all hold. The zero part selects everything.
type part struct {
	types  []string // none: all
	areas  []*area.Area
	unread error // why an area of it cannot be read: nothing is in it then
}

type areaSource interface {
	MutationArea(ctx context.Context, id string) (store.MutationArea, error)
}

// errTypesGone reports that a dataset has no object type any more that is wanted: none of them is not all of them.
var errTypesGone = errors.New("the dataset has none of its object types any more")

// partOf reads what a subscription, or a download, wants.
func partOf(ctx context.Context, from areaSource, set store.Dataset, areaID, geofilter string, types []string) (part, error) {
	wants := part{types: someTypes(set, types)}
	if len(types) > 0 && len(wants.types) == 0 && !format.HasType(types, set.ObjectTypes[0]) {
		return wants, errTypesGone
	}
	if areaID != "" {
		row, err := from.MutationArea(ctx, areaID)
		if err != nil {
			return wants, fmt.Errorf("find area %s: %w", areaID, err)
		}
		read, err := readArea(set, row)
		if err != nil {
			return wants, fmt.Errorf("read area %s: %w", areaID, err)
		}
		wants.areas = append(wants.areas, read)
	}
	if geofilter != "" {
		read, err := readGeofilter(set, geofilter)
		if err != nil {
			return wants, err
		}
		wants.areas = append(wants.areas, read)
	}
	return wants, nil
}

func readArea(set store.Dataset, row store.MutationArea) (*area.Area, error) {
	if row.Kind == store.AreaKeys {
		return area.NewKeys(row.Keys)
	}
	return area.Parse(row.WKT, area.Options{Dataset: area.CRS(set.CRS)})
}

// readGeofilter reads what a request bounds a download by besides. Errors are ErrGeofilter.
func readGeofilter(set store.Dataset, text string) (*area.Area, error) {
	if set.AreaKind != store.AreaGeometry {
		return nil, fmt.Errorf("%w: the dataset has no geometry to bound it by", ErrGeofilter)
	}
	read, err := area.Parse(text, area.Options{Dataset: area.CRS(set.CRS)})
	if err != nil {
		return nil, errors.Join(ErrGeofilter, err)
	}
	return read, nil
}

// unreadable tells of an error of partOf whether it is about what is wanted: trying again is of no use.
func unreadable(err error) bool {
	return errors.Is(err, area.ErrArea) || errors.Is(err, store.ErrNotFound) || errors.Is(err, errTypesGone)
}

// all reports whether the part is the whole dataset.
func (p part) all() bool { return len(p.types) == 0 && len(p.areas) == 0 && p.unread == nil }

// lineage gives the lineage of this part of a dataset (MUT-38, MUT-49).
func (p part) lineage(whole string) (string, error) {
	if p.unread != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, p.unread)
	}
	base, err := uuid.Parse(whole)
	if err != nil {
		return "", fmt.Errorf("read lineage: %w", err)
	}
	return area.Lineage(base, p.areas, p.types).String(), nil
}

// text gives the area for the files and the manifest.
func (p part) text() string { return area.Join(p.areas) }

// located tells by what objects lie in the areas; nil without any.
func (p part) located(set store.Dataset) *archive.Located {
	if len(p.areas) == 0 {
		return nil
	}
	return &archive.Located{CRS: int(set.CRS), GeometryElements: set.GeometryElements, KeyElements: set.KeyElements}
}

// filter makes what lets this part of a dataset through.
func (p part) filter(set store.Dataset) (*area.Filter, error) {
	return area.NewFilter(area.Config{
		Areas: p.areas, ObjectTypes: p.types,
		Fields: area.Fields{CRS: area.CRS(set.CRS), Geometry: set.GeometryElements, Keys: set.KeyElements},
	})
}

// someTypes gives object types in the order and spelling of the dataset; none when they are all of them.
func someTypes(set store.Dataset, wanted []string) []string {
	var some []string
	for _, t := range set.ObjectTypes {
		if format.HasType(wanted, t) {
			some = append(some, t)
		}
	}
	if len(some) == len(set.ObjectTypes) {
		return nil
	}
	return some
}

// askedTypes checks the object types of a request, which can only be some of those a subscription has.
func askedTypes(set store.Dataset, subscribed, asked []string) ([]string, error) {
	offered := subscribed
	if len(offered) == 0 {
		offered = set.ObjectTypes
	}
	for _, t := range asked {
		if !format.HasType(offered, t) {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrObjectType, t, strings.Join(offered, ", "))
		}
	}
	if len(asked) == 0 {
		asked = subscribed
	}
	return someTypes(set, asked), nil
}

// lineages holds the lineages of parts of a dataset, by the key of the part.
type lineages map[string]string

func partKey(f store.MutationFollower) string {
	return f.AreaID + " " + strings.Join(f.ObjectTypes, " ")
}

// lineages works out the lineages of what followers want, ahead of the transaction that asks for it: reading large areas takes
// seconds, in which nobody else could write. What cannot be read is left to that.
func (e *Exporter) lineages(ctx context.Context, set store.Dataset, whole string) (lineages, error) {
	readers, err := e.cfg.DB.MutationReaders(ctx, set.ID)
	if err != nil {
		return nil, fmt.Errorf("list followers: %w", err)
	}
	known := make(lineages)
	for _, r := range readers {
		key := partKey(r.MutationFollower)
		if known[key] != "" || r.Everything() {
			continue
		}
		if lineage, err := lineageOf(ctx, e.cfg.DB, set, whole, r.MutationFollower); err == nil {
			known[key] = lineage
		}
	}
	return known, nil
}

// lineageOf is the lineage of what a follower wants; whole when that is all of a dataset.
func lineageOf(ctx context.Context, from areaSource, set store.Dataset, whole string, f store.MutationFollower) (string, error) {
	wants, err := partOf(ctx, from, set, f.AreaID, "", f.ObjectTypes)
	if err != nil || wants.all() {
		return whole, err
	}
	return wants.lineage(whole)
}

// wantParts asks for the parts of a new delta that followers want, in the transaction that keeps it.
func (e *Exporter) wantParts(ctx context.Context, tx *store.Tx, set store.Dataset, d store.MutationDelta, known lineages) error {
	readers, err := tx.MutationReaders(ctx, set.ID)
	if err != nil {
		return err
	}
	for _, r := range readers {
		if r.Everything() {
			continue
		}
		row := store.MutationDownload{DeltaID: d.ID, SubscriptionID: r.SubscriptionID, PartnerID: r.PartnerID}
		if err := e.want(ctx, tx, set, d.Lineage, r.MutationFollower, known, &row); err != nil {
			return err
		}
	}
	return nil
}

// want asks for the part of a delta or snapshot that a follower wants. Nothing is asked when that is all of it. What is known of
// lineages is not worked out again.
func (e *Exporter) want(ctx context.Context, tx *store.Tx, set store.Dataset, whole string, f store.MutationFollower, known lineages, row *store.MutationDownload) (err error) {
	row.DatasetID, row.AreaID, row.ObjectTypes, row.Lineage = set.ID, f.AreaID, f.ObjectTypes, known[partKey(f)]
	if row.Lineage == "" {
		row.Lineage, err = lineageOf(ctx, tx, set, whole, f)
	}
	switch {
	case err != nil && !unreadable(err):
		return err
	case err != nil: // an area that can be read no more must not keep others from their delta
		row.Status, row.Error, row.Lineage, row.FinishedAt = store.MutationFailed, err.Error(), whole, tx.Now
	case row.Lineage == whole:
		return nil
	default:
		row.Mark = namesOf(row.Lineage, whole).mark
	}
	if row.ID, err = newID(); err != nil {
		return err
	}
	return tx.InsertMutationDownload(ctx, row)
}
