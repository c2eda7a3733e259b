package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
	"schakel/store"
	"schakel/templates/i18n"
)

// group is a group that was looked at as far as that can be done without the database.
type group struct {
	at        archive.Position
	line      int
	mutations []mutation
	size      int   // bytes, about
	read      int64 // bytes of the input up to here
	hash      [sha256.Size]byte
}

type mutation struct {
	line       int
	objectType string // as the dataset writes it; empty when only the state can tell
	objectID   string
	was        *was
	wordt      *store.MutationState // without its id, and what the WAS adds to it
	nowhere    i18n.Message         // why the WORDT lies in no area; empty when it does, or nobody asks
}

// was refers to a state, as a WAS does.
type was struct {
	id     string
	digest []byte // of its fields, nil when it has none
}

// preparer looks at groups. It is not safe for concurrent use.
type preparer struct {
	dataset store.Dataset
	kind    string
	count   int64
	spaces  []format.Namespace // the last ones, as text
	text    string
	places  *locator
	skip    int64 // groups that are in already
}

// prepare gives the group, or what is wrong with it.
func (p *preparer) prepare(g *format.Group, at archive.Position) (*group, []Problem) {
	p.count++
	out := &group{at: at, line: g.Line, mutations: make([]mutation, len(g.Mutations))}
	var problems []Problem
	if len(g.Mutations) == 0 {
		problems = append(problems, out.problem(-1, CodeEmpty, "", "datasets.problem.group-empty", "datasets.remedy.leave-out"))
	}
	hash := sha256.New()
	for i := range g.Mutations {
		out.mutations[i].line = g.Mutations[i].Line
		if err := p.mutation(&out.mutations[i], g.Mutations[i]); err != nil && len(problems) < mostProblems {
			problems = append(problems, out.problem(i, err.Code, err.ID, err.Detail, err.Remedy))
		}
		out.mutations[i].addTo(hash)
		if w := out.mutations[i].wordt; w != nil {
			out.size += len(w.XML) + len(w.Namespaces)
		}
		out.size += 300
	}
	hash.Sum(out.hash[:0])
	return out, problems
}

// problem is one of the i-th mutation, or of the group.
func (g *group) problem(i int, code, id string, detail, remedy i18n.Message) Problem {
	p := Problem{File: g.at.File, Line: g.line, Group: g.at.Group, Code: code, ID: id, Detail: detail, Remedy: remedy}
	if i >= 0 {
		p.Line, p.Mutation = g.mutations[i].line, i+1
	}
	return p
}

// mutation looks at a mutation; what the source has of it is not changed.
func (p *preparer) mutation(out *mutation, m format.Mutation) *Problem {
	switch {
	case m.Kind() == 0:
		return &Problem{Code: CodeKind, Detail: "datasets.problem.neither", Remedy: "datasets.remedy.neither"}
	case p.kind == store.PublicationInitial && m.Was != nil:
		return &Problem{Code: CodeKind, Detail: "datasets.problem.initial-adds", Remedy: "datasets.remedy.as-delta"}
	}
	out.objectID = m.ObjectID
	problem := checkIDs(m)
	if problem != nil {
		return problem
	}
	if m.Was != nil {
		out.was, m.Was, problem = p.was(m.Was)
	}
	if m.Wordt != nil && problem == nil {
		problem = p.wordt(out, &m)
	}
	if problem != nil {
		return problem
	}
	if m.ObjectType == "" && m.Was != nil && m.Was.ID != "" {
		return nil // the state tells
	}
	name := m.Type() // after the payloads were read: it may be in there
	var known bool
	if out.objectType, known = objectType(p.dataset, name); !known {
		return &Problem{Code: CodeType, Detail: i18n.M("datasets.problem.type", name), Remedy: "datasets.remedy.type"}
	}
	return nil
}

func (p *preparer) was(s *format.State) (*was, *format.State, *Problem) {
	out := &was{id: s.ID}
	if len(s.XML) == 0 {
		if s.ID == "" {
			return nil, s, &Problem{Code: CodeNoState, Detail: "datasets.problem.was-empty", Remedy: "datasets.remedy.was-empty"}
		}
		return out, s, nil
	}
	s, digest, problem := p.read(s)
	out.digest = digest
	return out, s, problem
}

// wordt reads the WORDT; the one of m has its payload read then.
func (p *preparer) wordt(out *mutation, m *format.Mutation) (problem *Problem) {
	if len(m.Wordt.XML) == 0 {
		return &Problem{Code: CodeNoState, ID: m.Wordt.ID, Detail: "datasets.problem.wordt-empty", Remedy: "datasets.remedy.wordt-empty"}
	}
	s, digest, problem := p.read(m.Wordt)
	if m.Wordt = s; problem != nil {
		return problem
	}
	if p.text == "" || !slices.Equal(p.spaces, s.Namespaces) {
		p.spaces, p.text = s.Namespaces, namespacesText(s.Namespaces)
	}
	if problem := checkState(s, p.text); problem != nil {
		return problem
	}
	if out.nowhere, problem = p.locate(s); problem != nil {
		return problem
	}
	out.wordt = &store.MutationState{DatasetID: p.dataset.ID, SourceID: s.ID, Digest: digest, Namespaces: p.text, XML: s.XML}
	return nil
}

// read checks the payload of a state that no reader of files has checked, and takes its digest.
func (p *preparer) read(s *format.State) (*format.State, []byte, *Problem) {
	if s.Object == "" {
		parsed, err := format.ParseState(s.ID, s.XML, s.Namespaces...)
		if errors.Is(err, format.ErrLimit) {
			return s, nil, &Problem{Code: CodeLimit, ID: s.ID, Detail: i18n.M("datasets.problem.state-heavy", err.Error()), Remedy: "datasets.remedy.simpler"}
		}
		if err != nil {
			return s, nil, &Problem{Code: CodePayload, ID: s.ID, Detail: i18n.M("datasets.problem.state-unsound", err.Error()), Remedy: "datasets.remedy.one-element"}
		}
		s = parsed
	}
	digest, err := s.Digest()
	if err != nil {
		return s, nil, &Problem{Code: CodePayload, ID: s.ID, Detail: i18n.M("datasets.problem.state-unreadable", err.Error()), Remedy: "datasets.remedy.one-element"}
	}
	return s, digest[:], nil
}

// addTo adds what the mutation says to a hash: the same for the same content, however it is written.
func (m *mutation) addTo(hash interface{ Write([]byte) (int, error) }) {
	var kind byte
	fields := [][]byte{[]byte(m.objectType), []byte(m.objectID)}
	if m.was != nil {
		kind |= 1
		fields = append(fields, []byte(m.was.id), m.was.digest)
	}
	if m.wordt != nil {
		kind |= 2
		fields = append(fields, []byte(m.wordt.SourceID), m.wordt.Digest)
	}
	line := []byte{kind}
	for _, f := range fields {
		line = append(binary.AppendUvarint(line, uint64(len(f))), f...)
	}
	_, _ = hash.Write(line) // a hash never fails
}

// mostID bounds ids of objects and states, in bytes: longer ones do not fit in an index of every database.
const mostID = 500

// mostReason bounds the reason of a new lineage, in characters.
const mostReason = 1000

// checkIDs refuses ids that cannot be written in a delivery: once in the history, such a group could never leave it.
func checkIDs(m format.Mutation) *Problem {
	for _, id := range []struct {
		of   i18n.Message
		text string
	}{{"datasets.id-of.object", m.ObjectID}, {"datasets.id-of.was", idOf(m.Was)}, {"datasets.id-of.wordt", idOf(m.Wordt)}} {
		if len(id.text) > mostID {
			return &Problem{Code: CodeText, Detail: i18n.M("datasets.problem.id-long", id.of, len(id.text), mostID), Remedy: "datasets.remedy.id-long"}
		}
		if err := xmlscan.CheckText(id.text); err != nil {
			return &Problem{Code: CodeText, Detail: i18n.M("datasets.problem.id-character", id.of, strconv.Quote(id.text)), Remedy: "datasets.remedy.id-character"}
		}
	}
	return nil
}

func idOf(s *format.State) string {
	if s == nil {
		return ""
	}
	return s.ID
}

// checkState refuses a state that a reader of the delivery would refuse, once what was declared around it is written with it.
func checkState(s *format.State, namespaces string) *Problem {
	if err := s.Fits(); err != nil {
		return &Problem{Code: CodeLimit, ID: s.ID, Detail: found(err), Remedy: "datasets.remedy.simpler"}
	}
	if most := format.DefaultLimits().State; written(int64(len(s.XML)), namespaces) > int64(most) {
		return &Problem{Code: CodeLimit, ID: s.ID, Detail: i18n.M("datasets.problem.state-large", written(int64(len(s.XML)), namespaces), most), Remedy: "datasets.remedy.simpler"}
	}
	return nil
}

// written bounds how many bytes a state has in a delivery, with what must be declared on its element.
func written(xml int64, namespaces string) int64 { return xml + 2*int64(len(namespaces)) }

// fitsDelivery refuses a group that is larger in a delivery, where every WAS has its fields, than readers take. states holds those
// that the group ended.
func (b *batcher) fitsDelivery(g *group) *Problem {
	var size int64
	for i := range g.mutations {
		if w := g.mutations[i].wordt; w != nil {
			size += written(int64(len(w.XML)), w.Namespaces)
		}
	}
	for _, k := range b.killed {
		size += written(k.Size, k.Namespaces)
	}
	most := int64(format.DefaultLimits().Group)
	if size <= most {
		return nil
	}
	p := g.problem(-1, CodeLimit, "", i18n.M("datasets.problem.group-large", size, most), "datasets.remedy.group-large")
	return &p
}

// checkReason bounds the reason of a new lineage, which every follower reads.
func checkReason(req *Request) error {
	text := []rune(req.Replace)
	if len(text) > mostReason || xmlscan.CheckText(req.Replace) != nil || slices.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return headerProblem(req.Name, "datasets.problem.reason", i18n.M("datasets.remedy.reason", mostReason))
	}
	if req.Replace != "" && req.Kind != store.PublicationInitial {
		return headerProblem(req.Name, "datasets.problem.replaces", "datasets.remedy.replaces")
	}
	return nil
}

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
		return &locator{kind: d.AreaKind, elements: strings.Join(d.GeometryElements, " | "), reader: area.NewReader(fields)}
	case store.AreaKeys:
		return &locator{kind: d.AreaKind, elements: strings.Join(d.KeyElements, " | "), reader: area.NewReader(area.Fields{Keys: d.KeyElements})}
	}
	return nil
}

// locate refuses a new state whose geometry cannot be read. Such a state can lie in any area or none, so that
// it would go to every subscriber, whatever part of the dataset it was allowed (MUT-42). A state may have no geometry, or no
// key, at all; as it goes to no subscriber with an area then, nowhere says why. What is in already, from before this was
// looked at, is compared with what is sent again and not judged.
func (p *preparer) locate(s *format.State) (nowhere i18n.Message, refused *Problem) {
	if p.places == nil || p.count <= p.skip {
		return "", nil
	}
	shape, keys, err := p.places.reader.Read(s)
	if wrong, ok := errors.AsType[*area.GeometryError](err); ok && p.places.kind == store.AreaGeometry {
		return "", &Problem{
			Code: CodeGeometry, ID: s.ID, Detail: i18n.M("datasets.problem.geometry", wrong.Element, wrong.What),
			Remedy: "datasets.remedy.geometry",
		}
	}
	if err != nil || !shape.Empty() || len(keys) > 0 {
		return "", nil
	}
	return p.places.nowhere(), nil
}

// nowhere names what the last state lacks.
func (l *locator) nowhere() i18n.Message {
	lacks := i18n.Message("datasets.nowhere.geometry")
	switch unknown := l.reader.Unknown(); {
	case l.kind == store.AreaKeys:
		lacks = "datasets.nowhere.key"
	case unknown != "":
		lacks = i18n.M("datasets.nowhere.unknown", "gml:"+unknown)
	}
	if l.elements != "" {
		return i18n.M("datasets.nowhere.in", lacks, l.elements)
	}
	return lacks
}

// placed names a mutation of the group in words; name names the publication, which is left out.
func (g *group) placed(i int, name string) string {
	p := g.problem(i, "", "", "", "")
	if p.File == name {
		p.File = ""
	}
	place := p.place()
	if id := g.mutations[i].objectID; id != "" {
		place = i18n.M("datasets.place.and", place, i18n.M("datasets.place.object", id))
	}
	return string(i18n.M("datasets.problem.at", place, g.mutations[i].nowhere))
}
