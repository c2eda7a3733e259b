package partners

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// AreaInput bounds a subscription to a dataset; the zero AreaInput is everything (MUT-40).
type AreaInput struct {
	Name string   // may be empty
	Text string   // polygon or multipolygon as WKT (with or without SRID=…;) or GeoJSON, for a dataset with areas of geometry
	CRS  int64    // EPSG code of WKT that does not say; 0 is that of the dataset
	Keys []string // for a dataset with areas of keys
}

// Empty reports whether it bounds nothing.
func (in AreaInput) Empty() bool {
	return strings.TrimSpace(in.Text) == "" && len(tidyKeys(in.Keys)) == 0
}

// tidyKeys are the keys sorted, each once.
func tidyKeys(keys []string) []string {
	var tidy []string
	for _, key := range keys {
		if key = strings.TrimSpace(key); key != "" {
			tidy = append(tidy, key)
		}
	}
	slices.Sort(tidy)
	return slices.Compact(tidy)
}

// readArea makes the area of input for a dataset; nil when it bounds nothing. Fields: areaName, area, areaCrs, keys.
func readArea(c registry.Config, d store.Dataset, in AreaInput) (*store.MutationArea, registry.Problems) {
	wrong := registry.Problems{}
	in.Name, in.Text, in.Keys = strings.TrimSpace(in.Name), strings.TrimSpace(in.Text), tidyKeys(in.Keys)
	wrong.Add("areaName", registry.CheckLine(in.Name, 0, 120))
	wrong.AddIf(in.Text != "" && d.AreaKind != store.AreaGeometry,
		"area", i18n.M("partners.dataset.no-polygon", d.ID))
	wrong.AddIf(len(in.Keys) > 0 && d.AreaKind != store.AreaKeys,
		"keys", i18n.M("partners.dataset.no-keys", d.ID))
	area := &store.MutationArea{DatasetID: d.ID, Name: in.Name, Kind: d.AreaKind, Keys: in.Keys}
	if in.Text != "" {
		readBoundary(c, d, in, area, wrong)
	}
	checkKeys(in.Keys, wrong)
	if in.Empty() || len(wrong) > 0 {
		return nil, wrong
	}
	return area, wrong
}

// readBoundary takes the boundary over as it is used: in the coordinates of the dataset (MUT-41).
func readBoundary(c registry.Config, d store.Dataset, in AreaInput, area *store.MutationArea, wrong registry.Problems) {
	crs := in.CRS
	if crs == 0 {
		crs = d.CRS
	}
	switch {
	case crs != registry.CRSRijksdriehoek && crs != registry.CRSWGS84:
		wrong.Add("areaCrs", "partners.dataset.crs-bad")
		return
	case len(in.Text) > mostAreaText:
		wrong.Add("area", "partners.dataset.area-long")
		return
	case c.ReadArea == nil:
		wrong.Add("area", "partners.dataset.area-unused")
		return
	}
	wkt, err := c.ReadArea(in.Text, int(crs), int(d.CRS))
	if err != nil {
		wrong.Add("area", i18n.Raw(registry.AsSentence(err.Error())))
		return
	}
	area.Given, area.GivenCRS, area.WKT = in.Text, crs, wkt
}

func checkKeys(keys []string, wrong registry.Problems) {
	if len(keys) > mostKeys {
		wrong.Add("keys", i18n.M("partners.dataset.most-keys", mostKeys))
		return
	}
	for _, key := range keys {
		wrong.Add("keys", registry.CheckLine(key, 1, mostKeyRunes))
	}
}

// pickObjectTypes writes the object types that were asked for as the dataset does; all of them is none.
func pickObjectTypes(d store.Dataset, asked []string) (store.Strings, i18n.Message) {
	var picked []string
	for _, name := range registry.Filled(asked) {
		known, ok := registry.DatasetObjectType(d, name)
		if !ok {
			return nil, i18n.M("partners.dataset.object-type-unknown", d.ID, name, strings.Join(d.ObjectTypes, ", "))
		}
		if !slices.Contains(picked, known) {
			picked = append(picked, known)
		}
	}
	if len(picked) == len(d.ObjectTypes) {
		return nil, ""
	}
	slices.Sort(picked)
	return picked, ""
}

// insertArea keeps an area, and gives its id; none is the empty one.
func insertArea(ctx context.Context, tx *store.Tx, actor registry.Actor, partnerID string, area *store.MutationArea) (string, error) {
	if area == nil {
		return "", nil
	}
	area.PartnerID, area.CreatedBy = partnerID, actor.Name
	if err := tx.InsertMutationArea(ctx, area); err != nil {
		return "", fmt.Errorf("add area: %w", err)
	}
	return area.ID, nil
}

// Bounds of an area.
const (
	mostKeys     = 10_000
	mostKeyRunes = 200
	mostAreaText = 8 << 20
)
