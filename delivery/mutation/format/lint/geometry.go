package lint

import (
	"errors"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// geometries read the geometry of states in each system that is known: files do not say which one their dataset has.
type geometries []*area.Reader

func newGeometries() geometries {
	return geometries{area.NewReader(area.Fields{CRS: area.RD}), area.NewReader(area.Fields{CRS: area.WGS84})}
}

// check tells what is wrong with the geometry of a state, and on which line; empty when a system can read it. A filter takes such a
// state for one that lies in every area (MUT-42).
func (g geometries) check(s *format.State) (what string, line int) {
	for _, reader := range g {
		_, _, err := reader.Read(s)
		if err == nil {
			return "", 0
		}
		if wrong, ok := errors.AsType[*area.GeometryError](err); ok && what == "" {
			what, line = "the geometry cannot be read: element "+wrong.Element+": "+wrong.What, wrong.Line
		}
	}
	return what, line
}
