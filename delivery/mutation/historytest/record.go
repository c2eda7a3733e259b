package historytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"schakel/delivery/mutation/format"
)

// Record holds the publications of a source, in order. It gives the content of an exact copy after each group, by the ids of the
// source alone. It is safe for concurrent use.
type Record struct {
	mu   sync.Mutex
	log  [][]change
	at   int // groups that were replayed
	live map[string]fact
}

// change is a mutation, as far as a copy goes.
type change struct {
	was   string // empty: nothing
	wordt string
	fact  fact
}

// fact is a state with its line in a copy.
type fact struct {
	line, kind string
	state      *format.State
}

// Add notes groups that were published.
func (r *Record) Add(groups ...*format.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range groups {
		var list []change
		for _, m := range g.Mutations {
			var c change
			if m.Was != nil {
				c.was = m.Was.ID
			}
			if m.Wordt != nil {
				c.wordt, c.fact = m.Wordt.ID, fact{Line(m.ObjectType, m.ObjectID, m.Wordt), m.ObjectType, m.Wordt}
			}
			list = append(list, c)
		}
		r.log = append(r.log, list)
	}
}

// Len counts the published groups.
func (r *Record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log)
}

// At lists the content of a copy after so many groups, as [History.Copy] gives it; nil keeps all.
func (r *Record) At(groups int64, keep func(kind string, s *format.State) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil || int(groups) < r.at {
		r.live, r.at = map[string]fact{}, 0
	}
	for ; r.at < int(groups); r.at++ {
		r.replay(r.log[r.at])
	}
	lines := []string{}
	for _, f := range r.live {
		if keep == nil || keep(f.kind, f.state) {
			lines = append(lines, f.line)
		}
	}
	slices.Sort(lines)
	return lines
}

func (r *Record) replay(group []change) {
	for _, c := range group {
		delete(r.live, c.was)
		if c.wordt != "" {
			r.live[c.wordt] = c.fact
		}
	}
}

// Bulk makes a delivery of any size without keeping it: the n-th group is always the same. Initial ones only add; in deltas
// two of five groups change what another added shortly before, and one of ten deletes it.
type Bulk struct {
	Type format.DeliveryType
	n    int
	made int // objects
	next int // the object that changes next
}

// window counts the groups between the first of an object and its change.
const window = 1000

// Group makes the next group; its states are of about a kilobyte.
func (b *Bulk) Group() *format.Group {
	b.n++
	var m format.Mutation
	switch kind := b.n % 10; {
	case b.Type == format.Initial || b.made < b.next+window || kind < 5:
		b.made++
		m = format.Mutation{Wordt: b.state(b.made, 1)}
	case kind == 9:
		b.next++
		m = format.Mutation{Was: b.state(b.next, 1)}
	default:
		b.next++
		m = format.Mutation{Was: b.state(b.next, 1), Wordt: b.state(b.next, 2)}
	}
	m.ObjectType = "Pand"
	return &format.Group{Mutations: []format.Mutation{m}}
}

// state is a version of an object: it lies where its number says, and moves a little when it changes.
func (b *Bulk) state(object, version int) *format.State {
	spread := object * 7919 % 1_000_000
	v := pand(object, version, ExtentX+float64(spread%1000), ExtentY+float64(spread/1000))
	s, err := format.ParseState(fmt.Sprintf("%08x-0000-4000-8000-%08d%04d", uint32(object*2654435761), object, version), []byte(v))
	if err != nil {
		panic(err) // what is written here is sound
	}
	return s
}

func pand(object, version int, x, y float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<r:Pand xmlns:r="%s" xmlns:gml="http://www.opengis.net/gml/3.2"><r:identificatie>NL.Pand.%09d</r:identificatie><r:versie>%d</r:versie>`+
		`<r:vlak><gml:Polygon srsName="urn:ogc:def:crs:EPSG::28992"><gml:exterior><gml:LinearRing><gml:posList srsDimension="2">`, Namespace, object, version)
	const corners = 24
	for i := range corners + 1 {
		dx, dy := float64(i%corners), float64(i%corners*(corners-i%corners))/corners
		if i%corners*2 > corners {
			dx = corners - dx
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatFloat(x+dx+float64(version)/8, 'f', 3, 64) + " " + strconv.FormatFloat(y+dy, 'f', 3, 64))
	}
	b.WriteString(`</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></r:vlak></r:Pand>`)
	return b.String()
}
