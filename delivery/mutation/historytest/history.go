// Package historytest makes random histories of registers, as sources of them keep
// them, and knows what an exact copy holds at every moment (MUT-01, MUT-02).
//
// Three registers keep their history in ways of their own, and so do the models
// here: when an object ends, BAG adds a version that says so, and a wrong one is
// made inactive instead of deleted; BGT and BRK delete it. What a model does is
// known here alone: those who process the mutations must do without.
package historytest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"schakel/delivery/mutation/format"
)

// Extent is the square in which objects lie, in metres of EPSG:28992: from its lower left corner.
const (
	ExtentX, ExtentY = 155000.0, 463000.0
	ExtentSize       = 1000.0
)

// History is a source with a random history. The same seed gives the same. It is not safe for concurrent use.
type History struct {
	rnd     *rand.Rand
	model   Model
	objects []*object
	day     int
	ids     int
	prefix  string
	filling int // bytes of text in each state
}

// New makes a source without objects. Ids begin with the prefix, so that those of several sources differ.
func New(seed uint64, model Model, prefix string) *History {
	return &History{rnd: rand.New(rand.NewPCG(seed, 17)), model: model, prefix: prefix}
}

// Fill makes states so much larger, in bytes.
func (h *History) Fill(n int) { h.filling = n }

// Group makes the next group, rarely one of many mutations. WAS and WORDT bear the ids of the source.
func (h *History) Group() *format.Group {
	h.day++
	g := &format.Group{}
	steps := 1
	if h.rnd.IntN(8) == 0 {
		steps = 2 + h.rnd.IntN(5)
	}
	for range steps {
		h.step(g)
	}
	return g
}

func (h *History) step(g *format.Group) {
	if len(h.objects) < 3 || h.rnd.IntN(4) == 0 {
		h.create(g)
		return
	}
	o := h.objects[h.rnd.IntN(len(h.objects))]
	if len(o.versions) == 0 {
		h.create(g)
		return
	}
	last := o.versions[len(o.versions)-1]
	switch n := h.rnd.IntN(10); {
	case o.ended && n < 5:
		h.repair(g, o, last)
	case o.ended:
		h.correct(g, last)
	case n < 4:
		h.succeed(g, o, last)
	case n < 6:
		h.end(g, o, last)
	case n < 8:
		h.correct(g, last)
	case n < 9:
		h.undo(g, last)
	default:
		h.remove(g, o, h.rnd.IntN(len(o.versions)))
	}
}

func (h *History) create(g *format.Group) {
	types := Types()
	kind := types[h.rnd.IntN(len(types))]
	o := &object{kind: kind, id: fmt.Sprintf("%sNL.%s.%06d", h.prefix, kind, len(h.objects)+1)}
	h.objects = append(h.objects, o)
	v := version{kind: kind, object: o.id, begin: h.day, name: h.name(), status: "in gebruik"}
	if kind != types[len(types)-1] {
		v.size = 1 + h.rnd.Float64()*60
		v.x, v.y = h.place()
	}
	h.add(g, o, v)
}

// succeed ends a version and adds the next, as all three registers do.
func (h *History) succeed(g *format.Group, o *object, last *held) {
	next := last.v
	next.begin, next.name = h.day, h.name()
	if next.size > 0 && h.rnd.IntN(2) == 0 {
		next.x, next.y = h.place()
	}
	ended := last.v
	ended.end = h.day
	h.change(g, last, ended)
	h.add(g, o, next)
}

// end ends an object; in BAG a last version says so.
func (h *History) end(g *format.Group, o *object, last *held) {
	ended := last.v
	ended.end = h.day
	h.change(g, last, ended)
	if h.model == BAG {
		final := last.v
		final.begin, final.status = h.day, "beëindigd"
		h.add(g, o, final)
	}
	o.ended = true
}

// repair takes the last version away, as each register does.
func (h *History) repair(g *format.Group, o *object, last *held) {
	if h.model != BAG {
		h.remove(g, o, len(o.versions)-1)
		return
	}
	wrong := last.v
	wrong.inactive = true
	h.change(g, last, wrong)
}

// correct changes a version only.
func (h *History) correct(g *format.Group, of *held) {
	right := of.v
	right.name = h.name()
	if right.size > 0 && h.rnd.IntN(2) == 0 {
		right.x, right.y = h.place()
	}
	h.change(g, of, right)
}

// undo changes a version and changes it back: three states, two of them equal (MUT-11).
func (h *History) undo(g *format.Group, of *held) {
	before, other := of.v, of.v
	other.name = h.name()
	h.change(g, of, other)
	h.change(g, of, before)
}

func (h *History) remove(g *format.Group, o *object, at int) {
	gone := o.versions[at]
	o.versions = append(o.versions[:at:at], o.versions[at+1:]...)
	g.Mutations = append(g.Mutations, format.Mutation{ObjectType: gone.v.kind, ObjectID: gone.v.object, Was: h.state(gone)})
}

func (h *History) add(g *format.Group, o *object, v version) {
	n := &held{id: h.id(), v: v}
	o.versions = append(o.versions, n)
	g.Mutations = append(g.Mutations, format.Mutation{ObjectType: v.kind, ObjectID: v.object, Wordt: h.state(n)})
}

func (h *History) change(g *format.Group, of *held, to version) {
	was := h.state(of)
	of.id, of.v = h.id(), to
	g.Mutations = append(g.Mutations, format.Mutation{ObjectType: to.kind, ObjectID: to.object, Was: was, Wordt: h.state(of)})
}

func (h *History) id() string {
	h.ids++
	return fmt.Sprintf("%s%s-%08d", h.prefix, h.model, h.ids)
}

func (h *History) name() string {
	return fmt.Sprintf("naam %d <é & €>", h.rnd.IntN(1_000_000))
}

// place gives the position of an object: now and then exactly on a line of the grid, so that borders touch.
func (h *History) place() (x, y float64) {
	x, y = ExtentX+h.rnd.Float64()*ExtentSize, ExtentY+h.rnd.Float64()*ExtentSize
	if h.rnd.IntN(4) == 0 {
		x, y = ExtentX+float64(h.rnd.IntN(11))*100, ExtentY+float64(h.rnd.IntN(11))*100
	}
	return x, y
}

func (h *History) state(of *held) *format.State {
	s, err := format.ParseState(of.id, []byte(of.v.xml(strings.Repeat("x", h.filling))))
	if err != nil {
		panic(err) // what is written here is sound
	}
	return s
}

// Model is the way in which a register keeps its history.
type Model string

// The models.
const (
	BAG Model = "bag"
	BGT Model = "bgt"
	BRK Model = "brk"
)

// Models are all of them.
func Models() []Model { return []Model{BAG, BGT, BRK} }

// Namespace is that of the objects.
const Namespace = "http://schakel.example/register/1.0"

// Types are the kinds of objects: the last one has no geometry.
func Types() []string { return []string{"Pand", "Perceel", "Wegdeel", "Besluit"} }

// version is a version of an object: what a source would have in a row.
type version struct {
	kind, object string
	begin, end   int // day; end 0 is none
	name, status string
	inactive     bool
	x, y, size   float64 // of a square; size 0 is no geometry
}

// object holds the versions of an object that are there, oldest first.
type object struct {
	kind, id string
	versions []*held
	ended    bool
}

// held is a version under the id its source last gave it.
type held struct {
	id string
	v  version
}
