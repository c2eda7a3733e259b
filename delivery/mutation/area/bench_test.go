package area_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// BenchmarkMeets asks for parcels of 33 points all over the square around a wavy circle, and for parcels on its
// boundary only, as a slow case. The library answers the same for comparison.
func BenchmarkMeets(b *testing.B) {
	for _, corners := range []int{10, 1000, 10_000, 100_000 - 1} {
		text := circle(corners, 150000, 450000, 80_000)
		a := parse(b, text)
		ring := a.Polygons()[0][0]
		for name, where := range map[string]func(*rand.Rand) (x, y float64){
			"anywhere": func(r *rand.Rand) (x, y float64) { return 60000 + r.Float64()*180000, 360000 + r.Float64()*180000 },
			"boundary": func(r *rand.Rand) (x, y float64) {
				p := ring[r.IntN(len(ring))]
				return p.X - 5, p.Y - 30 + r.Float64()*60
			},
		} {
			random := rand.New(rand.NewPCG(1, 1))
			var shapes []*area.Shape
			for range 1000 {
				x, y := where(random)
				shapes = append(shapes, square(b, x, y))
			}
			b.Run(fmt.Sprintf("%d/%s", corners, name), func(b *testing.B) {
				a.Meets(shapes[0])
				n := 0
				for b.Loop() {
					a.Meets(shapes[n%len(shapes)])
					n++
				}
			})
		}
		b.Run(fmt.Sprintf("%d/library", corners), func(b *testing.B) {
			g, err := geom.UnmarshalWKT(text, geom.NoValidate{})
			must(b, err)
			other, err := geom.UnmarshalWKT("POLYGON((150000 450000,150010 450000,150010 450010,150000 450010,150000 450000))")
			must(b, err)
			for b.Loop() {
				geom.Intersects(g, other)
			}
		})
	}
}

// square is a polygon of ten metres with 33 points.
func square(b *testing.B, x, y float64) *area.Shape {
	b.Helper()
	list := ""
	for i := range 33 {
		side, along := i%32/8, float64(i%32%8)*1.25
		px, py := [4]float64{along, 10, 10 - along, 0}[side], [4]float64{0, along, 10, 10 - along}[side]
		list += fmt.Sprintf("%.3f %.3f ", x+px, y+py)
	}
	shape, _, err := area.NewReader(area.Fields{CRS: area.RD}).Read(state(b, polygonGML(list)))
	must(b, err)
	return shape
}

// BenchmarkParse reads, checks and indexes an area.
func BenchmarkParse(b *testing.B) {
	for _, corners := range []int{10, 1000, 10_000, 100_000 - 1} {
		text := circle(corners, 150000, 450000, 80_000)
		shape := square(b, 150000, 450000)
		b.Run(fmt.Sprint(corners), func(b *testing.B) {
			for b.Loop() {
				parse(b, text).Meets(shape)
			}
		})
	}
}

// BenchmarkRead reads the geometry of parcels.
func BenchmarkRead(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	states, size := make([]*format.State, 1000), 0
	for i := range states {
		states[i] = parcel(random, i)
		size += len(states[i].XML)
	}
	b.SetBytes(int64(size / len(states)))
	b.ReportAllocs()
	r, n := area.NewReader(area.Fields{CRS: area.RD}), 0
	for b.Loop() {
		if _, _, err := r.Read(states[n%len(states)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkCopy filters a delivery of 64 MB unpacked by an area of 10,000 corners in which about a third of it lies;
// compare it with reading alone.
func BenchmarkCopy(b *testing.B) {
	var doc bytes.Buffer
	groups, unpacked, err := write(&doc, 64<<20, parcel)
	must(b, err)
	rate := func(b *testing.B) {
		b.Helper()
		b.SetBytes(unpacked)
		b.ReportMetric(float64(groups)*float64(b.N)/b.Elapsed().Seconds(), "groups/s")
	}
	reader := func() *archive.DeliveryReader {
		return archive.NewDeliveryReader(bytes.NewReader(doc.Bytes()), archive.Limits{}, format.Limits{})
	}
	b.Run("read only", func(b *testing.B) {
		for b.Loop() {
			in := reader()
			for err = nil; err == nil; {
				_, _, err = in.Next()
			}
		}
		rate(b)
	})
	for name, text := range map[string]string{
		"a third": circle(10_000, 150000, 450000, 65_000), "little": circle(1000, 150000, 450000, 5000),
		"all": "POLYGON((0 300000,300000 300000,300000 600000,0 600000,0 300000))",
	} {
		config := area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{parse(b, text)}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				out, err := archive.NewDeliveryWriter(io.Discard, header(), archive.DeliveryOptions{})
				must(b, err)
				f := filter(b, config)
				must(b, area.Copy(b.Context(), reader(), out, f, nil))
				if _, err := out.Close(); err != nil {
					b.Fatal(err)
				}
			}
			rate(b)
		})
	}
}
