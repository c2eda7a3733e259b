package historytest

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
