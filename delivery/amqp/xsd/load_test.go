package xsd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/amqp/xsd"
)

const (
	open  = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a" xmlns="urn:a">`
	shut  = "\n</xs:schema>"
	plain = open + `<xs:element name="a" type="xs:int"/>` + shut
	other = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:b" xmlns="urn:b">`
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "schemas")
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLoad compiles folders of several shapes.
func TestLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files      map[string]string
		good, bad  string
		namespaces int
	}{
		"one":        {map[string]string{"a.xsd": plain, "readme.txt": "x"}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"sub-folder": {map[string]string{"sub/a.xsd": plain}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"included": {map[string]string{
			"a.xsd":       open + `<xs:include schemaLocation="parts/p.xsd"/><xs:element name="a" type="T"/>` + shut,
			"parts/p.xsd": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="T"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>`,
		}, "<a xmlns='urn:a'>1</a>", "<a xmlns='urn:a'>x</a>", 1},
		"imported from a sub-folder": {map[string]string{
			"b.xsd":     other + `<xs:import namespace="urn:a" schemaLocation="sub/a.xsd"/><xs:element name="b"><xs:complexType><xs:sequence><xs:element ref="x:a" xmlns:x="urn:a"/></xs:sequence></xs:complexType></xs:element>` + shut,
			"sub/a.xsd": plain,
		}, "<b xmlns='urn:b'><a xmlns='urn:a'>1</a></b>", "<b xmlns='urn:b'><a xmlns='urn:a'>x</a></b>", 2},
		"a circle": {map[string]string{
			"a.xsd": open + `<xs:import namespace="urn:b" schemaLocation="b.xsd"/><xs:element name="a" type="xs:int"/>` + shut,
			"b.xsd": other + `<xs:import namespace="urn:a" schemaLocation="a.xsd"/><xs:element name="b"><xs:complexType><xs:sequence><xs:element ref="x:a" xmlns:x="urn:a"/></xs:sequence></xs:complexType></xs:element>` + shut,
		}, "<b xmlns='urn:b'><a xmlns='urn:a'>1</a></b>", "<b xmlns='urn:b'><a xmlns='urn:a'>x</a></b>", 2},
		"no namespace": {map[string]string{
			"n.xsd": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="n" type="xs:int"/></xs:schema>`,
		}, "<n>1</n>", "<n>x</n>", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := xsd.Load(folder(t, c.files))
			if err != nil {
				t.Fatal(err)
			}
			if got := set.Schemas(); len(got) != c.namespaces {
				t.Errorf("got %v", got)
			}
			if findings, err := set.Validate(t.Context(), []byte(c.good)); err != nil || len(findings) > 0 {
				t.Errorf("got %v, %v", findings, err)
			}
			if findings, err := set.Validate(t.Context(), []byte(c.bad)); err != nil || len(findings) == 0 {
				t.Errorf("got %v, %v", findings, err)
			}
		})
	}
}

// TestLoadRefuses looks at the errors of folders that cannot be used: the file, the line and the cause.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		line  int
		text  string
	}{
		"no schemas":     {map[string]string{"a.txt": ""}, "", 0, "no .xsd file"},
		"no XML":         {map[string]string{"a.xsd": open + "\n<xs:element\n"}, "a.xsd", 3, ""},
		"no schema":      {map[string]string{"a.xsd": "<a/>"}, "a.xsd", 1, "is no XML schema"},
		"fetched":        {map[string]string{"a.xsd": open + "\n" + `<xs:import namespace="urn:b" schemaLocation="http://x.test/b.xsd"/>` + shut}, "a.xsd", 2, "is not fetched"},
		"file address":   {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="file:///etc/hostname"/>` + shut}, "a.xsd", 2, "is not fetched"},
		"absolute":       {map[string]string{"a.xsd": open + "\n\n" + `<xs:include schemaLocation="/etc/hostname"/>` + shut}, "a.xsd", 3, "out of its folder"},
		"outside":        {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="x/../../b.xsd"/>` + shut, "../b.xsd": plain}, "a.xsd", 2, "out of its folder"},
		"absent":         {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="b.xsd"/>` + shut}, "a.xsd", 2, "is not in the folder"},
		"unknown type":   {map[string]string{"a.xsd": open + "\n" + `<xs:element name="a" type="T"/>` + shut}, "a.xsd", 2, "T"},
		"grammar":        {map[string]string{"a.xsd": open + "\n" + `<xs:element/>` + shut}, "a.xsd", 2, "name"},
		"part is broken": {map[string]string{"a.xsd": open + "\n" + `<xs:include schemaLocation="b.xsd"/>` + shut, "b.xsd": open + "\n\n" + `<xs:element name="a" type="T"/>` + shut}, "b.xsd", 3, "T"},
		"defined twice":  {map[string]string{"a.xsd": plain, "b.xsd": plain}, "b.xsd", 0, "keep one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := xsd.Load(folder(t, c.files))
			if set != nil || !errors.Is(err, xsd.ErrFolder) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v", err)
			}
			detail, ok := errors.AsType[*xsd.LoadError](err)
			if c.file != "" && (!ok || detail.File != c.file || detail.Line != c.line) {
				t.Errorf("got %v, want %s:%d", err, c.file, c.line)
			}
		})
	}
	if _, err := xsd.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, xsd.ErrFolder) {
		t.Errorf("got %v", err)
	}
}

// TestLoadSymlink does not follow a link out of the folder.
func TestLoadSymlink(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.xsd": open + `<xs:include schemaLocation="b.xsd"/>` + shut, "../c.xsd": plain})
	if err := os.Symlink("../c.xsd", filepath.Join(dir, "b.xsd")); err != nil {
		t.Fatal(err)
	}
	if _, err := xsd.Load(dir); !errors.Is(err, xsd.ErrFolder) {
		t.Errorf("got %v", err)
	}
}
