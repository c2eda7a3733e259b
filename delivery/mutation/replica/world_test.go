package replica_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	storetest.Main(m)
}

// each runs a test on SQLite and on PostgreSQL, with the name of a fresh database.
func each(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	storetest.EachURL(t, fn)
}

func sqlitePath(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "copy.db") }

// version is a state of an object in the world.
type version struct{ id, object, xml string }

// world is a source with a history: what is live in it, and the groups that made it so.
type world struct {
	t      testing.TB
	random *rand.Rand
	live   []version
	ids    int
	size   int // bytes of filling in each state
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, random: rand.New(rand.NewPCG(seed, 7))}
}

var worldSpaces = []format.Namespace{{Prefix: "d", URI: "urn:d"}}

func (w *world) version(object string) version {
	w.ids++
	x := w.random.IntN(100)
	return version{
		fmt.Sprintf("%08x-0000-4000-8000-%012d", w.random.Uint32(), w.ids), object,
		fmt.Sprintf(`<d:o><d:Ding><d:id>%s</d:id><d:x>%d</d:x><d:nr>%d</d:nr><d:vul>%s</d:vul></d:Ding></d:o>`, object, x, w.ids, strings.Repeat("é&amp; ", w.size/8)),
	}
}

func state(t testing.TB, v version) *format.State {
	t.Helper()
	s, err := format.ParseState(v.id, []byte(v.xml), worldSpaces...)
	must(t, err)
	return s
}

func (w *world) add(object string) format.Mutation {
	v := w.version(object)
	w.live = append(w.live, v)
	return format.Mutation{ObjectType: "Ding", ObjectID: object, Wordt: state(w.t, v)}
}

func (w *world) change(n int) format.Mutation {
	was := w.live[n]
	w.live[n] = w.version(was.object)
	return format.Mutation{ObjectType: "Ding", ObjectID: was.object, Was: state(w.t, was), Wordt: state(w.t, w.live[n])}
}

func (w *world) remove(n int) format.Mutation {
	was := w.live[n]
	w.live = slices.Delete(w.live, n, n+1)
	return format.Mutation{ObjectType: "Ding", ObjectID: was.object, Was: state(w.t, was)}
}

// group is one to four random mutations.
func (w *world) group() *format.Group {
	g := &format.Group{}
	for range 1 + w.random.IntN(4) {
		switch n := w.random.IntN(10); {
		case len(w.live) == 0 || n < 4:
			g.Mutations = append(g.Mutations, w.add(fmt.Sprintf("object-%d", w.random.IntN(50))))
		case n < 8:
			g.Mutations = append(g.Mutations, w.change(w.random.IntN(len(w.live))))
		default:
			g.Mutations = append(g.Mutations, w.remove(w.random.IntN(len(w.live))))
		}
	}
	return g
}

func (w *world) groups(n int) []*format.Group {
	out := make([]*format.Group, n)
	for i := range out {
		out[i] = w.group()
	}
	return out
}

// whole are the groups of an initial delivery of what is live.
func (w *world) whole() (out []*format.Group) {
	for _, v := range w.live {
		out = append(out, &format.Group{Mutations: []format.Mutation{{ObjectType: "Ding", ObjectID: v.object, Wordt: state(w.t, v)}}})
	}
	return out
}

// shown makes the text of a version in the view: its XML as a document of its own.
func (v version) shown() string {
	return "Ding|" + v.object + "|" + strings.Replace(v.xml, "<d:o>", `<d:o xmlns:d="urn:d">`, 1) + `|{"d":"urn:d"}`
}

// shown lists the rows in the view of an exact copy.
func (w *world) shown() string {
	lines := make([]string, len(w.live))
	for i, v := range w.live {
		lines[i] = v.shown()
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// zipped is a delivery with its manifest.
type zipped struct {
	raw []byte
	archive.Manifest
}

func pack(t testing.TB, kind format.DeliveryType, id, previous string, groups []*format.Group) zipped {
	t.Helper()
	var out bytes.Buffer
	h := format.Header{Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "dingen", Type: kind, DeliveryID: id, ObjectTypes: []string{"Ding"}, Namespaces: worldSpaces}
	w, err := archive.NewDeliveryWriter(&out, h, archive.DeliveryOptions{PerFile: 40})
	must(t, err)
	for _, g := range groups {
		must(t, w.WriteGroup(g))
	}
	m, err := w.Close()
	must(t, err)
	m.Lineage, m.Previous = "lin-1", previous
	if kind == format.Initial {
		m.Previous, m.Includes = "", previous
	}
	return zipped{out.Bytes(), m}
}

// delivery describes a zip with a manifest as a source does.
func (z zipped) delivery() replica.Delivery {
	return replica.Delivery{
		Type: z.Type, Chained: z.Type == format.Delta, Previous: z.Previous, Lineage: z.Lineage, Manifest: &z.Manifest, Again: true,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(z.raw)), nil },
	}
}

func open(t testing.TB, database string, o replica.Options) *replica.Follower {
	t.Helper()
	f, err := replica.Open(t.Context(), database, o)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func apply(t testing.TB, f *replica.Follower, d replica.Delivery) replica.Report {
	t.Helper()
	var report replica.Report
	if err := f.Apply(t.Context(), d, &report); err != nil {
		t.Fatalf("%v\n%s", err, asJSON(report))
	}
	return report
}

func asJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// connect opens a database beside the follower.
func connect(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver, name := "pgx", database
	if path, is := strings.CutPrefix(database, "sqlite:"); is {
		driver, name = "sqlite3", path
	}
	db, err := sql.Open(driver, name)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// rows gives the rows of a query as sorted lines.
func rows(t testing.TB, db *sql.DB, query string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer found.Close()
	columns, err := found.Columns()
	must(t, err)
	var lines []string
	for found.Next() {
		values := make([]sql.NullString, len(columns))
		to := make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		must(t, found.Scan(to...))
		line := make([]string, len(columns))
		for i, v := range values {
			line[i] = v.String
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	must(t, found.Err())
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// check compares what the view of the copy shows with the world.
func (w *world) check(t testing.TB, database string) {
	t.Helper()
	if got := rows(t, connect(t, database), `SELECT * FROM dingen`); got != w.shown() {
		t.Fatalf("the copy is other than the source:\n%.3000s\nwant:\n%.3000s", got, w.shown())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
