package archive_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/store/needs"
)

// parcels is a delivery of about so many unpacked bytes, with geometry of random corners as real ones have.
func parcels(b *testing.B, size int) (groups []*format.Group, unpacked int64) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; unpacked < int64(size); n++ {
		doc := []byte(`<d:o><d:Perceel xmlns:gml="http://www.opengis.net/gml/3.2"><d:nr>` + strconv.Itoa(n) + `</d:nr><d:vlak>` +
			`<gml:Polygon srsName="urn:ogc:def:crs:EPSG::28992"><gml:exterior><gml:LinearRing><gml:posList srsDimension="2">`)
		for range 60 {
			doc = strconv.AppendFloat(doc, 100000+random.Float64()*100000, 'f', 3, 64)
			doc = append(doc, ' ')
		}
		doc = append(doc, `</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></d:vlak></d:Perceel></d:o>`...)
		s, err := format.ParseState("id-"+strconv.Itoa(n), doc, format.Namespace{Prefix: "d", URI: "urn:d"})
		must(b, err)
		groups = append(groups, &format.Group{Mutations: []format.Mutation{{ObjectType: "t", ObjectID: strconv.Itoa(n), Wordt: s}}})
		unpacked += int64(len(doc)) + 150
	}
	return groups, unpacked
}

func pack(b *testing.B, w io.Writer, groups []*format.Group) {
	b.Helper()
	d, err := archive.NewDeliveryWriter(w, header("l-1"), archive.DeliveryOptions{})
	must(b, err)
	for _, g := range groups {
		must(b, d.WriteGroup(g))
	}
	if _, err := d.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDelivery writes, unpacks and reads a delivery; compare a reader with unzip -p into wc.
func BenchmarkDelivery(b *testing.B) {
	groups, unpacked := parcels(b, 64<<20)
	var doc bytes.Buffer
	pack(b, &doc, groups)
	rate := func(b *testing.B) {
		b.Helper()
		b.SetBytes(unpacked)
		b.ReportMetric(float64(len(groups)*b.N)/b.Elapsed().Seconds(), "groups/s")
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			pack(b, io.Discard, groups)
		}
		rate(b)
	})
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			if _, err := unpack(doc.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			d := archive.NewDeliveryReader(bytes.NewReader(doc.Bytes()), archive.Limits{}, format.Limits{})
			for {
				if _, _, err := d.Next(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
		rate(b)
	})
	b.Run("unzip -p | wc", func(b *testing.B) {
		needs.Program(b, "unzip")
		file := filepath.Join(b.TempDir(), "d.zip")
		must(b, os.WriteFile(file, doc.Bytes(), 0o600))
		for b.Loop() {
			must(b, exec.Command("sh", "-c", "unzip -p "+file+" | wc >/dev/null").Run())
		}
		rate(b)
	})
}

func unpack(doc []byte) (int64, error) {
	z, total := archive.NewReader(bytes.NewReader(doc), archive.Limits{}), int64(0)
	for {
		f, err := z.Next()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := io.Copy(io.Discard, f)
		if total += n; err != nil {
			return total, err
		}
	}
}
