package ledger

import (
	"errors"
	"fmt"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store"
)

// geometryReader reads the geometry of states of a dataset whose subscribers can bound it by polygons; nil for another one.
func geometryReader(d store.Dataset) *area.Reader {
	if d.AreaKind != store.AreaGeometry {
		return nil
	}
	return area.NewReader(area.Fields{CRS: area.CRS(d.CRS), Geometry: d.GeometryElements})
}

// geometry refuses a new state whose geometry cannot be read. Whether such a state lies in an area cannot be told, so that
// it would go to every subscriber, whatever part of the dataset it was allowed (MUT-42). What is in already, from before this
// was looked at, is compared with what is sent again and not judged.
func (p *preparer) geometry(s *format.State) *Problem {
	if p.shapes == nil || p.count <= p.skip {
		return nil
	}
	_, _, err := p.shapes.Read(s)
	wrong, ok := errors.AsType[*area.GeometryError](err)
	if !ok {
		return nil
	}
	return &Problem{
		Code: CodeGeometry, ID: s.ID, Detail: fmt.Sprintf("the geometry of the state cannot be read: element %s: %s", wrong.Element, wrong.What),
		Remedy: "Mend the geometry: whether the object lies in the area of a subscriber depends on it.",
	}
}
