package clitest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// ParcelLines are groups of one parcel each, one a line.
func ParcelLines(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"mutations":[{"objectType":"Perceel","objectId":"%s%d","wordt":{"id":"%[1]s%[2]d","xml":"<d:Perceel xmlns:d=\"urn:d\"><d:nr>%[3]s</d:nr></d:Perceel>"}}]}`+"\n", name, i, strings.Repeat("7", 900))
	}
	return b.String()
}

// ParcelFile is a file of the format in a folder.
func ParcelFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// ParcelXML is a delta with one parcel, without its declaration.
func ParcelXML(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	space := format.Namespace{Prefix: "d", URI: "urn:d"}
	w, err := format.NewWriter(&b, format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "percelen-nl", Type: format.Delta, DeliveryID: "d-0",
		ObjectTypes: []string{"Perceel"}, Namespaces: []format.Namespace{space},
	})
	noError(t, err)
	s, err := format.ParseState("x", []byte(`<d:Perceel><d:nr>1</d:nr></d:Perceel>`), space)
	noError(t, err)
	noError(t, w.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: "Perceel", ObjectID: "x", Wordt: s}}}))
	noError(t, w.Close())
	_, rest, found := strings.Cut(b.String(), "?>")
	if !found {
		return b.String()
	}
	return rest
}

// ParcelZip makes a delivery of parcels; each is given as id:x and added at x.
func ParcelZip(t *testing.T, kind format.DeliveryType, id, previous, area string, parcels ...string) ([]byte, archive.Manifest) {
	t.Helper()
	var out bytes.Buffer
	space := format.Namespace{Prefix: "d", URI: "urn:d"}
	h := format.Header{
		Root: format.Name{Prefix: "d", Space: "urn:d", Local: "dMutaties"}, Dataset: "percelen-nl", Type: kind, DeliveryID: id, Area: area,
		ObjectTypes: []string{"Perceel"}, Namespaces: []format.Namespace{space},
	}
	w, err := archive.NewDeliveryWriter(&out, h, archive.DeliveryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parcels {
		name, x, _ := strings.Cut(p, ":")
		s, err := format.ParseState(id+name, fmt.Appendf(nil, `<d:o><d:Perceel><d:nr>%s</d:nr><d:gemeente>%[2]s</d:gemeente><gml:Point xmlns:gml="http://www.opengis.net/gml/3.2"><gml:pos>%[2]s 463000</gml:pos></gml:Point></d:Perceel></d:o>`, name, x), space)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteGroup(&format.Group{Mutations: []format.Mutation{{ObjectType: "Perceel", ObjectID: name, Wordt: s}}}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if m.Lineage = "lin-1"; kind == format.Delta {
		m.Previous = previous
	} else {
		m.Includes = previous
	}
	return out.Bytes(), m
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
