package mutationcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// maxAreaBytes bounds the file of an area.
const maxAreaBytes = 64 << 20

// areaFile reads the area of --area, and what tells it from another.
func (f *FollowAreaFlags) areaFile() (replica.Area, string, error) {
	file, err := os.Open(f.Area)
	if err != nil {
		return nil, "", fmt.Errorf("open area: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxAreaBytes+1))
	if err == nil && len(raw) > maxAreaBytes {
		err = fmt.Errorf("it has more than %d bytes", maxAreaBytes)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read area: %w", err)
	}
	filter, err := f.filter(string(raw))
	if err != nil {
		return nil, "", fmt.Errorf("read area: %w", err)
	}
	elements := fmt.Sprint(f.GeometryElement, f.KeyElement, f.Unlocated)
	return areaFilter{filter}, filter.Canonical() + " " + elements, nil
}

// areaAsked is the area of a copy for which the source was asked for a polygon. What leaves it is not heard of again, and what
// enters comes as a change of something unknown, so that the copy must know it (MUT-44, MUT-45). The source decides about what
// has no geometry.
func (f *FollowAreaFlags) areaAsked(polygon string) (replica.Area, string, error) {
	told := *f
	told.Unlocated = true
	filter, err := told.filter(polygon)
	if err != nil {
		return nil, "", fmt.Errorf("read --geofilter: %w", err)
	}
	return areaFilter{filter}, filter.Canonical(), nil
}

// areaOf reads the area that a manifest tells. By what objects lie in it the manifest may tell too; flags come first.
func (f *FollowAreaFlags) areaOf(text string, by *archive.Located) (replica.Area, error) {
	told := *f
	if by != nil {
		told.CRS = cmp.Or(by.CRS, f.CRS)
		if len(f.GeometryElement) == 0 {
			told.GeometryElement = by.GeometryElements
		}
		if len(f.KeyElement) == 0 {
			told.KeyElement = by.KeyElements
		}
	}
	filter, err := told.filter(text)
	if err != nil {
		return nil, err
	}
	return areaFilter{filter}, nil
}

// filter makes a filter of polygons, or of a JSON array of keys.
func (f *FollowAreaFlags) filter(text string) (*area.Filter, error) {
	fields := area.Fields{CRS: area.CRS(f.CRS), Geometry: f.GeometryElement, Keys: f.KeyElement, Unlocated: f.Unlocated}
	bounds, err := area.Split(text, area.Options{Dataset: fields.CRS})
	if err != nil {
		return nil, err
	}
	return area.NewFilter(area.Config{Fields: fields, Areas: bounds})
}

// areaFilter is an area as a follower asks for it. What cannot be located counts as inside, as it does at the source, so
// that nothing is lost.
type areaFilter struct{ *area.Filter }

// Inside implements replica.Area.
func (a areaFilter) Inside(s *format.State) (bool, error) {
	in, err := a.Holds(s)
	if errors.Is(err, area.ErrGeometry) {
		return in, nil
	}
	return in, err
}
