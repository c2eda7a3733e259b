package lint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/registry/sorted"
)

// life follows one id while its uses go by in order.
type life struct {
	key   [32]byte
	uses  int
	born  record // the WORDT that gave the id, when there was one
	given bool
	gone  bool   // a WAS has taken it
	early record // a WAS before any WORDT
	ahead bool   // there was such a WAS
}

// Report judges the ids and gives the findings, all of which it counts. The linter is of no use after it.
func (l *Linter) Report() (Report, error) {
	defer l.records.close()
	var id life
	err := l.records.each(func(r *record) {
		if id.uses == 0 || r.key != id.key {
			l.judge(&id)
			id = life{key: r.key}
		}
		id.uses++
		if r.wordt() {
			l.wordt(&id, r)
		} else {
			l.was(&id, r)
		}
	})
	l.judge(&id)
	l.nowhere()
	sorted.Stable(l.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line))
	})
	return l.report, err
}

func (l *Linter) at(r *record, rule Rule, what string) {
	l.add(Finding{
		Rule: rule, Severity: Error, File: l.files[r.file], Line: int(r.line), Group: int(r.group), ID: idOf(r.key), What: what,
		order: int(r.file),
	})
}

func (l *Linter) wordt(id *life, r *record) {
	switch {
	case id.given:
		l.at(r, IDTwice, "a wordt has an id that was given before")
	case id.ahead:
		l.at(&id.early, Forward, "a was refers to a state that arises later")
		id.ahead = false
	}
	id.born, id.given, id.gone = *r, true, false
}

func (l *Linter) was(id *life, r *record) {
	switch {
	case id.gone:
		l.at(r, WasTwice, "a was refers to a state that is gone already")
		return
	case !id.given:
		id.early, id.ahead = *r, true
	case id.born.object != 0 && r.object != 0 && id.born.object != r.object:
		l.at(r, ObjectDiffers, "a was is of another object than the state it refers to")
	case id.born.fields != r.fields:
		l.at(r, WasDiffers, "a was has other fields than the state it refers to")
	}
	id.gone = true
}

// judge ends an id: a WAS that nothing came before is right only when there was a time before.
func (l *Linter) judge(id *life) {
	if id.ahead && l.complete && !l.broken {
		l.at(&id.early, WasUnknown, "a was refers to a state that never was")
	}
}

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

// Period names the elements, without prefix, that say when a version begins and ends. An absent end is no end.
type Period struct{ Begin, End string }

// Periods occur in the registers the format was made for.
func Periods() []Period {
	return []Period{
		{"tijdstipRegistratie", "eindRegistratie"},
		{"begindatumTijdvakGeldigheid", "einddatumTijdvakGeldigheid"},
		{"logischTijdstipOntstaan", "logischTijdstipVervallen"},
		{"beginGeldigheid", "eindGeldigheid"}, // BAG 2.0
	}
}

// check gives what is wrong with the dates of a state, or nothing.
func (p Period) check(s *format.State) string {
	end, ended := textOf(s.XML, p.End)
	if !ended || end == "" {
		return ""
	}
	begin, begun := textOf(s.XML, p.Begin)
	if !begun {
		return ""
	}
	from, ok := moment(begin)
	if !ok {
		return "the date " + begin + " of " + p.Begin + " cannot be read"
	}
	to, ok := moment(end)
	if !ok {
		return "the date " + end + " of " + p.End + " cannot be read"
	}
	if to.Before(from) {
		return "the version begins at " + begin + " and ends before that, at " + end
	}
	return ""
}

// textOf gives the text of the first element of that name, at most 40 bytes of it. The XML is known to be sound.
func textOf(raw []byte, name string) (string, bool) {
	for at := 0; ; at += len(name) {
		next := bytes.Index(raw[at:], []byte(name))
		if next < 0 {
			return "", false
		}
		at += next
		if at == 0 || !opens(raw, at, at+len(name)) {
			continue
		}
		_, text, _ := bytes.Cut(raw[at+len(name):], []byte(">"))
		text, _, _ = bytes.Cut(text, []byte("<"))
		text = bytes.TrimSpace(text)
		return string(text[:min(len(text), 40)]), true
	}
}

// opens reports whether the name from i to j is that of a start tag.
func opens(raw []byte, i, j int) bool {
	start := bytes.LastIndexByte(raw[:i], '<')
	if start < 0 || j >= len(raw) || strings.IndexByte(" \t\r\n>", raw[j]) < 0 {
		return false
	}
	prefix := raw[start+1 : i]
	return len(prefix) == 0 || prefix[len(prefix)-1] == ':' && !bytes.ContainsAny(prefix, "/ \t\r\n>!?")
}

func moment(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339, "20060102", "20060102150405"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
