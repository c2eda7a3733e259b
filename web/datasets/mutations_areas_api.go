package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/area"
	"schakel/store"
	"schakel/web/api"
)

// GeoJSONType names the media type of GeoJSON (RFC 7946).
const GeoJSONType = "application/geo+json"

// AreaAnswer describes the area of a subscription, as it is used (MUT-41).
type AreaAnswer struct {
	ID      string          `json:"id"`
	Name    string          `json:"name,omitempty"`
	Kind    string          `json:"kind"`
	CRS     int64           `json:"crs,omitempty"`
	WKT     string          `json:"wkt,omitempty"`
	Keys    []string        `json:"keys,omitempty"`
	GeoJSON json.RawMessage `json:"geojson,omitempty"`
}

// showArea answers the exact boundary that the filter uses: as JSON, as a GeoJSON feature in WGS 84, or as WKT in the
// coordinates of the dataset, the same bytes each time. Another partner's is 404.
func (m *handlers) showArea(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	row, err := m.Registry.Datasets.Area(ctx, who.Scope(), c.Param("datasetId"), c.Param("areaId"))
	if err != nil {
		return err
	}
	dataset, err := m.Registry.Datasets.Get(ctx, row.DatasetID)
	if err != nil {
		return err
	}
	answer, err := newAreaAnswer(dataset, row)
	if err != nil {
		return err
	}
	media, content, err := answer.as(strings.Join(c.Request().Header.Values("Accept"), ","))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Vary", "Accept")
	c.Response().Header().Set("Cache-Control", "private, max-age=86400, immutable")
	sum := sha256.Sum256(content)
	if notModified(c, `"sha256:`+hex.EncodeToString(sum[:])+`"`) {
		return nil
	}
	return c.Blob(http.StatusOK, media, content)
}

func newAreaAnswer(d store.Dataset, row store.MutationArea) (AreaAnswer, error) {
	a := AreaAnswer{ID: row.ID, Name: row.Name, Kind: row.Kind, WKT: row.WKT, Keys: row.Keys}
	if row.Kind != store.AreaGeometry {
		return a, nil
	}
	a.CRS = d.CRS
	read, err := area.Parse(row.WKT, area.Options{Dataset: area.CRS(d.CRS)})
	if err != nil {
		return a, fmt.Errorf("read area: %w", err)
	}
	a.GeoJSON = read.GeoJSON()
	return a, nil
}

// as writes the area as Accept asks; keys have no form but JSON.
func (a AreaAnswer) as(accept string) (media string, content []byte, err error) {
	switch areaForm(accept) {
	case GeoJSONType:
		if a.GeoJSON != nil {
			return GeoJSONType, a.GeoJSON, nil
		}
	case "text/plain":
		if a.WKT != "" {
			return "text/plain; charset=utf-8", []byte(a.WKT), nil
		}
	}
	content, err = json.Marshal(a)
	return "application/json", content, err
}

// areaForm is the form that Accept likes best, the first of those it likes as well; many clients name a text behind JSON.
func areaForm(accept string) (form string) {
	best := 0.0
	for item := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			weight = q
		}
		switch media {
		case GeoJSONType, "application/json", "text/plain":
		case "text/*":
			media = "text/plain"
		case "application/*", "*/*":
			media = "application/json"
		default:
			continue
		}
		if weight > best {
			best, form = weight, media
		}
	}
	return form
}
