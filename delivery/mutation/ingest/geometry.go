package ingest

import (
	"errors"
	"fmt"
	"strings"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store"
)

// locator finds the place of states, in a dataset whose followers choose an area; nil in another one.
type locator struct {
	kind     string
	elements string // of the keys or the geometry, to show
	reader   *area.Reader
}

func newLocator(d store.Dataset) *locator {
	switch d.AreaKind {
	case store.AreaGeometry:
		fields := area.Fields{CRS: area.CRS(d.CRS), Geometry: d.GeometryElements}
		return &locator{kind: d.AreaKind, elements: strings.Join(d.GeometryElements, " or "), reader: area.NewReader(fields)}
	case store.AreaKeys:
		return &locator{kind: d.AreaKind, elements: strings.Join(d.KeyElements, " or "), reader: area.NewReader(area.Fields{Keys: d.KeyElements})}
	}
	return nil
}

// locate refuses a new state whose geometry cannot be read. Such a state can lie in any area or none, so that
// it would go to every subscriber, whatever part of the dataset it was allowed (MUT-42). A state may have no geometry, or no
// key, at all; as it goes to no subscriber with an area then, nowhere says why. What is in already, from before this was
// looked at, is compared with what is sent again and not judged.
func (p *preparer) locate(s *format.State) (nowhere string, refused *Problem) {
	if p.places == nil || p.count <= p.skip {
		return "", nil
	}
	shape, keys, err := p.places.reader.Read(s)
	if wrong, ok := errors.AsType[*area.GeometryError](err); ok && p.places.kind == store.AreaGeometry {
		return "", &Problem{
			Code: CodeGeometry, ID: s.ID, Detail: fmt.Sprintf("the geometry of the state cannot be read: element %s: %s", wrong.Element, wrong.What),
			Remedy: "Mend the geometry: whether the object lies in the area of a subscriber depends on it.",
		}
	}
	if err != nil || !shape.Empty() || len(keys) > 0 {
		return "", nil
	}
	return p.places.nowhere(), nil
}

// nowhere names what the last state lacks.
func (l *locator) nowhere() string {
	in := ""
	if l.elements != "" {
		in = " in an element " + l.elements
	}
	switch unknown := l.reader.Unknown(); {
	case l.kind == store.AreaKeys:
		return "no key" + in
	case unknown != "":
		return "no geometry that is known" + in + " (gml:" + unknown + " is not)"
	}
	return "no geometry" + in
}

// placed names a mutation of the group in words; name names the publication, which is left out.
func (g *group) placed(i int, name string) string {
	p := g.problem(i, "", "", "", "")
	if p.File == name {
		p.File = ""
	}
	place := p.place()
	if id := g.mutations[i].objectID; id != "" {
		place += ", object " + id
	}
	return place + ": " + g.mutations[i].nowhere
}
