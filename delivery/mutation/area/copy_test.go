package area_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

var errDisk = errors.New("the disk is full")

func header() format.Header {
	return format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "d", Type: format.Delta,
		DeliveryID: "l-1", ObjectTypes: []string{"Perceel"}, Namespaces: []format.Namespace{
			{Prefix: "d", URI: "urn:d"}, {Prefix: "gml", URI: "http://www.opengis.net/gml/3.2"}, {Prefix: "xlink", URI: "http://www.w3.org/1999/xlink"},
		},
	}
}

// parcel is a square of a few metres with some 30 corners, somewhere in a country of 200 by 200 km.
func parcel(random *rand.Rand, id int) *format.State {
	x, y := 50000+random.Float64()*200000, 350000+random.Float64()*200000
	doc := []byte(`<d:o><d:Perceel gml:id="NL.IMKAD.KadastraalObject.` + strconv.Itoa(id) + `"><d:oppervlakte>120</d:oppervlakte>` +
		`<d:begin>2026-04-01T10:00:00</d:begin><d:perceelnummer>1234</d:perceelnummer><d:gemeente>GM0363</d:gemeente><d:vlak>` +
		`<gml:Polygon srsName="urn:ogc:def:crs:EPSG::28992" gml:id="P` + strconv.Itoa(id) + `"><gml:exterior><gml:LinearRing><gml:posList srsDimension="2">`)
	for i := range 33 {
		side, along := i%32/8, float64(i%32%8)*1.25
		px, py := [4]float64{along, 10, 10 - along, 0}[side], [4]float64{0, along, 10, 10 - along}[side]
		doc = strconv.AppendFloat(doc, x+px, 'f', 3, 64)
		doc = strconv.AppendFloat(append(doc, ' '), y+py, 'f', 3, 64)
		doc = append(doc, ' ')
	}
	doc = append(doc, `</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></d:vlak></d:Perceel></d:o>`...)
	return &format.State{ID: "id-" + strconv.Itoa(id), XML: doc, Namespaces: header().Namespaces}
}

// write packs random changes until there are so many bytes unpacked, and gives how many groups and bytes there are.
func write(w io.Writer, size int64, states func(*rand.Rand, int) *format.State) (groups int64, unpacked int64, err error) {
	d, err := archive.NewDeliveryWriter(w, header(), archive.DeliveryOptions{})
	if err != nil {
		return 0, 0, err
	}
	random := rand.New(rand.NewPCG(7, 7))
	for id := 0; unpacked < size; id += 2 {
		m := mutation("Perceel", states(random, id), states(random, id+1))
		unpacked += int64(len(m.Was.XML)+len(m.Wordt.XML)) + 220
		groups++
		if err := d.WriteGroup(&format.Group{Mutations: []format.Mutation{m}}); err != nil {
			return 0, 0, err
		}
	}
	_, err = d.Close()
	return groups, unpacked, err
}

func readAll(t *testing.T, doc []byte) []*format.Group {
	t.Helper()
	var out []*format.Group
	d := archive.NewDeliveryReader(bytes.NewReader(doc), archive.Limits{}, format.Limits{})
	for {
		g, _, err := d.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		out = append(out, g)
	}
}

// TestCopy filters a delivery of some thousand groups: the groups that the filter keeps come out, in order, byte for byte.
//
// Rules: MUT-28, MUT-42, MUT-43, MUT-47.
func TestCopy(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	var in, out bytes.Buffer
	groups, _, err := write(&in, 8<<20, parcel)
	must(t, err)
	config := area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{boxArea(t, 100000, 400000, 80000)}}
	reader := archive.NewDeliveryReader(bytes.NewReader(in.Bytes()), archive.Limits{}, format.Limits{})
	h, err := reader.Header()
	must(t, err)
	h.Area = config.Areas[0].Text()
	writer, err := archive.NewDeliveryWriter(&out, h, archive.DeliveryOptions{})
	must(t, err)
	last := int64(0)
	f := filter(t, config)
	err = area.Copy(t.Context(), reader, writer, f, func(n int64) {
		if n <= last {
			t.Errorf("progress %d after %d", n, last)
		}
		last = n
	})
	if err != nil || last != groups {
		t.Fatalf("%v, %d of %d groups", err, last, groups)
	}
	manifest, err := writer.Close()
	must(t, err)
	var want []*format.Group
	alone := filter(t, config)
	for _, g := range readAll(t, in.Bytes()) {
		if g = alone.Group(g); g != nil {
			want = append(want, g)
		}
	}
	got := readAll(t, out.Bytes())
	if len(got) != len(want) || manifest.Counts.Groups != int64(len(want)) || len(want) == 0 || len(want) == int(groups) {
		t.Fatalf("%d groups, want %d of %d", len(got), len(want), groups)
	}
	for i := range got {
		if marshal(got[i]) != marshal(want[i]) {
			t.Fatalf("group %d: %s, want %s", i, marshal(got[i]), marshal(want[i]))
		}
	}
}

// TestCopyStops at a broken zip, at a writer that fails, and when it is told to.
func TestCopyStops(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	if _, _, err := write(&in, 4<<20, parcel); err != nil {
		t.Fatal(err)
	}
	f := filter(t, area.Config{})
	run := func(ctx context.Context, doc []byte, w io.Writer, progress func(int64)) error {
		reader := archive.NewDeliveryReader(bytes.NewReader(doc), archive.Limits{}, format.Limits{})
		writer, err := archive.NewDeliveryWriter(w, header(), archive.DeliveryOptions{})
		if err != nil {
			return err
		}
		return area.Copy(ctx, reader, writer, f, progress)
	}
	if err := run(t.Context(), in.Bytes()[:in.Len()/2], io.Discard, nil); !errors.Is(err, archive.ErrTruncated) {
		t.Errorf("cut off: %v", err)
	}
	if err := run(t.Context(), in.Bytes(), full{}, nil); !errors.Is(err, errDisk) {
		t.Errorf("full: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := run(ctx, in.Bytes(), io.Discard, func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("told to stop: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

// TestCopyMemory filters a delivery that is far larger than the memory it may take, while it is being written.
//
// Rules: MUT-28.
func TestCopyMemory(t *testing.T) { // alone, since memory is counted for the whole process
	needs.Unraced(t)
	size := int64(48 << 20)
	out, in := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, _, err := write(in, size, parcel)
		made <- errors.Join(err, in.CloseWithError(err))
	}()
	reader := archive.NewDeliveryReader(out, archive.Limits{}, format.Limits{})
	writer, err := archive.NewDeliveryWriter(io.Discard, header(), archive.DeliveryOptions{})
	must(t, err)
	var most atomic.Uint64
	var stats runtime.MemStats
	f := filter(t, area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{boxArea(t, 50000, 350000, 150000)}})
	err = area.Copy(t.Context(), reader, writer, f, func(int64) {
		runtime.ReadMemStats(&stats)
		most.Store(max(most.Load(), stats.HeapInuse))
	})
	if err = errors.Join(err, <-made); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB filtered with a heap of at most %d MB", size>>20, most.Load()>>20)
	if most.Load() > 100<<20 {
		t.Errorf("a heap of %d MB", most.Load()>>20)
	}
}

func ExampleFilter() {
	a, _ := area.Parse("POLYGON((155000 463000,156000 463000,155000 464000,155000 463000))", area.Options{Dataset: area.RD})
	f, _ := area.NewFilter(area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{a}})
	s, _ := format.ParseState("1", []byte(`<o xmlns:gml="http://www.opengis.net/gml"><P><gml:Point><gml:pos>155001 463001</gml:pos></gml:Point></P></o>`))
	in, err := f.Holds(s)
	fmt.Println(in, err)
	// Output: true <nil>
}
