package main

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// notYet lists the folders that are still to be divided by feature; they are not held to the layout. The list is to become empty.
var notYet = []string{}

// pending reports whether notYet has a folder.
func pending(folder string) bool { return slices.Contains(notYet, folder) }

// division tells apart the packages of a layer that is divided by feature. Every folder it does not name is a feature.
type division struct {
	kernel    []string // what features share; knows no feature
	libraries []string // each reads or judges one thing and would stand without the product; knows neither kernel nor feature
	composes  []string // builds the features and hands one what it needs of another; only other layers import it
}

// layout names those packages, from the root of the repository. A package below a named one is of its kind.
var layout = map[string]division{
	"web":       {kernel: []string{"web/site", "web/api"}, composes: []string{"web"}},
	"templates": {kernel: []string{"templates/ui", "templates/i18n"}, composes: []string{"templates"}},
	"registry": {
		kernel: []string{"registry"}, composes: []string{"registry/services"},
		libraries: []string{
			"registry/jsonpointer", "registry/sorted", "registry/strictjson", "registry/xmlscan",
			"registry/contracts/contract", "registry/identity/token", "registry/amqp/cpa", // below the feature that needs them most
		},
	},
}

// The kinds of packages of a layer that is divided by feature.
const (
	kernel      = "the kernel"
	library     = "a library"
	composition = "a composition"
	feature     = "a feature"
)

// place returns the kind of a package, and the folder that its part of the layer begins with: of a feature the first below the
// layer, so that one feature may have packages of its own below it.
func (d division) place(folder string) (kind, top string) {
	for kind, list := range map[string][]string{kernel: d.kernel, library: d.libraries, composition: d.composes} {
		for _, named := range list {
			// The first folder of a layer stands for itself alone.
			if folder == named || strings.Contains(named, "/") && strings.HasPrefix(folder, named+"/") {
				return kind, named
			}
		}
	}
	parts := strings.SplitN(folder, "/", 3)
	return feature, path.Join(parts[:min(2, len(parts))]...)
}

// fault says why a package must not import another of its layer; it is empty when it may.
func (d division) fault(from, to string) string {
	kind, top := d.place(from)
	other, otherTop := d.place(to)
	switch {
	case top == otherTop || kind == composition || other == library:
		return ""
	case other == feature:
		return kind + " imports a feature; what two features need moves to the kernel, or is handed over by " + strings.Join(d.composes, ", ")
	case other == composition:
		return kind + " imports what builds it"
	case kind == library:
		return "a library imports the kernel"
	}
	return ""
}

// TestFeaturesApart holds that in web, templates and registry no feature imports another, and that the kernel of a layer knows no
// feature. Tests of another package than the one they test (package x_test) may import more.
func TestFeaturesApart(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		d, divided := layout[f.layer()]
		if !divided || pending(f.folder()) || strings.HasSuffix(f.tree.Name.Name, "_test") {
			continue
		}
		for _, i := range f.tree.Imports {
			to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "schakel/")
			if layer, _, _ := strings.Cut(to, "/"); !ours || layer != f.layer() || f.test() && to == "templates/ui/uitest" {
				continue
			}
			if why := d.fault(f.folder(), to); why != "" {
				t.Errorf("%s imports %s: %s", f.path, to, why)
			}
		}
	}
}

// TestFeatureRules holds the rules of TestFeaturesApart on imports that are made up.
func TestFeatureRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"web/partners", "web/site", true},
		{"web/partners", "web/partners/forms", true},
		{"web/partners/forms", "web/partners", true},
		{"web", "web/partners", true},
		{"web/partners", "web/contracts", false},
		{"web/partners/forms", "web/contracts", false},
		{"web/site", "web/partners", false},
		{"web/partners", "web", false},
		{"templates/amqp", "templates/ui", true},
		{"templates/ui/uitest", "templates/ui", true},
		{"templates/amqp", "templates/partners", false},
		{"templates/ui", "templates/amqp", false},
		{"registry/partners", "registry", true},
		{"registry/partners", "registry/contracts/contract", true},
		{"registry/partners", "registry/contracts/lint", false},
		{"registry/contracts", "registry/contracts/lint", true},
		{"registry/services", "registry/partners", true},
		{"registry/contracts/lint", "registry/contracts/contract", true},
		{"registry/contracts/contract", "registry/contracts", false},
		{"registry/partners", "registry/contracts", false},
		{"registry", "registry/partners", false},
		{"registry", "registry/strictjson", true},
		{"registry/identity/token", "registry", false},
		{"registry/partners", "registry/services", false},
	} {
		layer, _, _ := strings.Cut(c.from, "/")
		if why := layout[layer].fault(c.from, c.to); (why == "") != c.allowed {
			t.Errorf("%s imports %s: allowed should be %v: %q", c.from, c.to, c.allowed, why)
		}
	}
}

// mostFiles bounds the files of one folder that are written by hand and are no tests. store has all SQL, so it may have more.
func mostFiles(folder string) int {
	if folder == "store" {
		return 75
	}
	return 60
}

// TestFolderSize asks to divide a folder that grows: one of too many files is two features.
func TestFolderSize(t *testing.T) {
	t.Parallel()
	files := map[string]int{}
	walk(t, func(file string, _ []byte) {
		if handWritten(file) && !strings.HasSuffix(file, "_test.go") {
			files[path.Dir(file)]++
		}
	})
	for folder, n := range files {
		if most := mostFiles(folder); n > most && !pending(folder) {
			t.Errorf("%s has %d files, more than %d: divide it", folder, n, most)
		}
	}
}

// TestFileLength asks to split a file that grows. Tests may be a little longer.
func TestFileLength(t *testing.T) {
	t.Parallel()
	walk(t, func(file string, text []byte) {
		most := 350
		if strings.HasSuffix(file, "_test.go") {
			most = 550
		}
		if lines := strings.Count(string(text), "\n"); handWritten(file) && lines > most && !pending(path.Dir(file)) {
			t.Errorf("%s has %d lines, more than %d: split it", file, lines, most)
		}
	})
}

// handWritten reports whether a file is Go or templ, and not generated.
func handWritten(file string) bool {
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_templ.go") || strings.HasSuffix(file, ".templ")
}

// TestFolderNames refuses names that fit anything.
func TestFolderNames(t *testing.T) {
	t.Parallel()
	empty := []string{"util", "utils", "common", "shared", "helper", "helpers", "internal", "pkg"}
	walk(t, func(file string, _ []byte) {
		for _, part := range strings.Split(path.Dir(file), "/") {
			if slices.Contains(empty, part) {
				t.Errorf("%s: name the folder %s after what it is for", file, part)
			}
		}
	})
}
