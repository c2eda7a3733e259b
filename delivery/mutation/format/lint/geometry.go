package lint

import (
	"errors"
	"fmt"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// geometries read the geometry of states in each system that is known: files do not say which one their dataset has.
type geometries struct {
	readers []*area.Reader
	// located has what was seen of each object type. Some types never have geometry, so a state without counts only where
	// others of its type have one.
	located map[string]*typeSeen
}

// typeSeen counts the new states of an object type with geometry and without, and keeps the first without.
type typeSeen struct {
	with, without int64
	first         Finding
}

// mostTypes bounds the object types that are followed.
const mostTypes = 10_000

func newGeometries() geometries {
	return geometries{
		readers: []*area.Reader{area.NewReader(area.Fields{CRS: area.RD}), area.NewReader(area.Fields{CRS: area.WGS84})},
		located: map[string]*typeSeen{},
	}
}

// check describes what is wrong with the geometry of a state, and on which line; empty when a system can read it. A filter takes such a
// state for one that lies in every area (MUT-42). Without any geometry nowhere is true, and unknown names the GML that is not known.
func (g geometries) check(s *format.State) (what string, line int, nowhere bool, unknown string) {
	for _, reader := range g.readers {
		shape, _, err := reader.Read(s)
		if err == nil {
			return "", 0, shape.Empty(), reader.Unknown()
		}
		if wrong, ok := errors.AsType[*area.GeometryError](err); ok && what == "" {
			what, line = "the geometry cannot be read: element "+wrong.Element+": "+wrong.What, wrong.Line
		}
	}
	return what, line, false, ""
}

// geometry looks where a state lies. That it lies nowhere counts of a WORDT only: its WAS was one before.
func (l *Linter) geometry(g *format.Group, m *format.Mutation, s *format.State) {
	what, line, nowhere, unknown := l.shapes.check(s)
	switch {
	case what != "":
		l.here(Geometry, Warning, line, g.Index, s.ID, what)
	case s != m.Wordt:
	case nowhere && unknown != "":
		l.here(NoGeometry, Warning, s.Line, g.Index, s.ID, "the state has no geometry that is known (gml:"+unknown+" is not), so that it lies in no area")
	default:
		l.located(m.Type(), nowhere, Finding{
			Rule: NoGeometry, Severity: Warning, File: l.files[len(l.files)-1], Line: s.Line, Group: g.Index, ID: s.ID, order: len(l.files) - 1,
		})
	}
}

// located counts a state of an object type with or without geometry.
func (l *Linter) located(object string, nowhere bool, at Finding) {
	seen, known := l.shapes.located[object]
	switch {
	case !known && len(l.shapes.located) >= mostTypes:
		return
	case !known:
		seen = &typeSeen{}
		l.shapes.located[object] = seen
	}
	if !nowhere {
		seen.with++
		return
	}
	if seen.without++; seen.without == 1 {
		seen.first = at
	}
}

// nowhere gives a finding for each object type of which some states have geometry and others none.
func (l *Linter) nowhere() {
	for object, seen := range l.shapes.located {
		if seen.with == 0 || seen.without == 0 {
			continue
		}
		f := seen.first
		f.What = fmt.Sprintf("the state has no geometry, so that it lies in no area; it is the first of %d of object type %s, of which %d have one", seen.without, object, seen.with)
		l.add(f)
	}
}
