package xsd

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/lestrrat-go/helium"
	"github.com/lestrrat-go/helium/xsd"
	"golang.org/x/sync/semaphore"
)

// Load compiles the schemas in a folder and its sub-folders: every file whose name ends in .xsd. Each namespace may be defined
// once; a file that others include counts with them. Errors are of type *LoadError where a file is at fault, and wrap ErrFolder.
func Load(dir string) (*Set, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	set, err := load(context.Background(), root.FS())
	return set, errors.Join(err, root.Close())
}

// load compiles the schemas of a file system. Every file is compiled by itself first, so that an error names the file.
func load(ctx context.Context, folder fs.FS) (*Set, error) {
	files, err := scan(ctx, folder)
	if err != nil {
		return nil, err
	}
	namespaces, err := pick(files)
	if err != nil {
		return nil, err
	}
	all := overlay{FS: folder, own: builtin()}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		name := namespaces[namespace]
		if _, err := compile(ctx, all, name, wrap(map[string]string{namespace: name})); err != nil {
			return nil, err
		}
	}
	for name := range all.own {
		for _, space := range []string{soap11, soap12} {
			if _, taken := namespaces[space]; !taken && bytes.Contains(all.own[name].Data, []byte(space)) {
				namespaces[space] = name
			}
		}
	}
	schema, err := compile(ctx, all, "the schemas together", wrap(tops(files, namespaces)))
	if err != nil {
		return nil, err
	}
	return &Set{schema: schema, namespaces: namespaces, slots: make(chan struct{}, slots), bytes: semaphore.NewWeighted(together)}, nil
}

// pick chooses the file that defines each namespace.
func pick(files map[string]file) (map[string]string, error) {
	part, imported := map[string]bool{}, map[string]bool{}
	for _, one := range files {
		for _, ref := range one.refs {
			if ref.kind == "import" {
				imported[ref.target] = true
			} else {
				part[ref.target] = true
			}
		}
	}
	chosen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		namespace := files[name].namespace
		before, taken := chosen[namespace]
		switch {
		case part[name]:
		case !taken || imported[name] && !imported[before]:
			chosen[namespace] = name
		case imported[name] || !imported[before]:
			return nil, &LoadError{File: name, Text: fmt.Sprintf("defines the namespace %q, and so does %s: keep one of them", namespace, before)}
		}
	}
	return chosen, nil
}

// tops leaves the namespaces that no other schema imports, with one of each circle. The compiler meets the others by
// way of these; met before the schema that imports them, it would not link them.
func tops(files map[string]file, namespaces map[string]string) map[string]string {
	imported := map[string]bool{}
	for _, one := range files {
		for _, ref := range one.refs {
			imported[ref.target] = imported[ref.target] || ref.target != one.name
		}
	}
	chosen, met := map[string]string{}, map[string]bool{}
	for _, circles := range []bool{false, true} {
		for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
			if name := namespaces[namespace]; !met[name] && imported[name] == circles {
				chosen[namespace] = name
				reach(files, name, met)
			}
		}
	}
	return chosen
}

// reach marks a file and all that it names, directly or not.
func reach(files map[string]file, name string, met map[string]bool) {
	if met[name] {
		return
	}
	met[name] = true
	for _, ref := range files[name].refs {
		reach(files, ref.target, met)
	}
}

func wrap(namespaces map[string]string) []byte {
	var b strings.Builder
	b.WriteString(`<xs:schema xmlns:xs="` + schemaNamespace + `" targetNamespace="urn:schakel:all">`)
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		b.WriteString("<xs:import")
		if namespace != "" {
			b.WriteString(` namespace="` + escape(namespace) + `"`)
		}
		b.WriteString(` schemaLocation="` + escape(namespaces[namespace]) + `"/>`)
	}
	b.WriteString("</xs:schema>")
	return []byte(b.String())
}

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return ""
	}
	return b.String()
}

func compile(ctx context.Context, all fs.FS, name string, text []byte) (*xsd.Schema, error) {
	doc, err := helium.NewParser().Parse(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	var said collector
	// The label must be the name of no file: the compiler keeps by it what each file imports.
	schema, err := xsd.NewCompiler().Label("(together)").BaseDir(".").FS(all).ErrorHandler(&said).Compile(ctx, doc)
	if first := said.first(); first != nil {
		err = first
	}
	if err != nil {
		return nil, loadError(name, err)
	}
	return schema, nil
}

// collector keeps the errors that the compiler reports.
type collector struct{ errs []error }

// Handle keeps an error, up to a bound.
func (c *collector) Handle(_ context.Context, err error) {
	if len(c.errs) < maxFindings {
		c.errs = append(c.errs, err)
	}
}

// first gives the first that is more than a warning.
func (c *collector) first() error {
	for _, err := range c.errs {
		var leveled helium.ErrorLeveler
		if errors.As(err, &leveled) && leveled.ErrorLevel() >= helium.ErrorLevelError {
			return err
		}
	}
	return nil
}

// place finds the file and the line that the compiler puts in front of its messages.
var place = regexp.MustCompile(`^([^:\s][^:]*\.xsd):(\d+): (.*)$`)

// loadError makes a *LoadError of what the compiler says.
func loadError(name string, err error) error {
	text := firstLine(err)
	if found := place.FindStringSubmatch(text); found != nil {
		line, _ := strconv.Atoi(found[2])
		return &LoadError{File: found[1], Line: line, Text: found[3]}
	}
	return &LoadError{File: name, Line: lineOf(err), Text: text}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return text
}

const schemaNamespace = "http://www.w3.org/2001/XMLSchema"

// file is one schema file of the folder.
type file struct {
	name      string
	namespace string
	refs      []reference
}

// reference is an xs:import, xs:include or xs:redefine that names a file.
type reference struct {
	kind, target string
}

func scan(ctx context.Context, folder fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.EqualFold(path.Ext(name), ".xsd") {
			return err
		}
		if len(files) == maxFiles {
			return fmt.Errorf("%w: more than %d files", ErrFolder, maxFiles)
		}
		one, err := scanFile(ctx, folder, name)
		files[name] = one
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: no .xsd file in the folder", ErrFolder)
	}
	return files, nil
}

func scanFile(ctx context.Context, folder fs.FS, name string) (file, error) {
	text, err := readBounded(folder, name)
	if err != nil {
		return file{}, err
	}
	doc, err := helium.NewParser().Parse(ctx, text)
	if err != nil {
		return file{}, &LoadError{File: name, Line: lineOf(err), Text: firstLine(err)}
	}
	root := doc.DocumentElement()
	if root == nil || root.LocalName() != "schema" || root.URI() != schemaNamespace {
		return file{}, &LoadError{File: name, Line: 1, Text: "is no XML schema"}
	}
	one := file{name: name}
	one.namespace, _ = root.GetAttribute("targetNamespace")
	for kid := range helium.Children(root) {
		if element, ok := kid.(*helium.Element); ok && element.URI() == schemaNamespace {
			ref, err := refer(folder, name, element)
			if err != nil {
				return one, err
			}
			if ref.target != "" {
				one.refs = append(one.refs, ref)
			}
		}
	}
	return one, nil
}

// refer checks the place that an import, include or redefine names; other elements refer to nothing.
func refer(folder fs.FS, name string, element *helium.Element) (reference, error) {
	kind := element.LocalName()
	if kind != "import" && kind != "include" && kind != "redefine" && kind != "override" {
		return reference{}, nil
	}
	place, ok := element.GetAttribute("schemaLocation")
	if !ok || strings.TrimSpace(place) == "" {
		return reference{}, nil
	}
	place = strings.TrimSpace(place)
	bad := func(why string) (reference, error) {
		return reference{}, &LoadError{File: name, Line: element.Line(), Text: fmt.Sprintf("xs:%s of %q %s", kind, place, why)}
	}
	if strings.Contains(place, ":") {
		return bad("is not fetched: put that file in the folder and name it by its path")
	}
	target := path.Join(path.Dir(name), place)
	if path.IsAbs(place) || strings.Contains(place, `\`) || slices.Contains(strings.Split(place, "/"), "..") {
		return bad("leads out of its folder: put the files that use each other in one folder")
	}
	if info, err := fs.Stat(folder, target); err != nil || info.IsDir() {
		return bad("is not in the folder")
	}
	return reference{kind: kind, target: target}, nil
}

func readBounded(folder fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(folder, name)
	if err != nil {
		return nil, &LoadError{File: name, Text: "cannot be read: " + err.Error()}
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &LoadError{File: name, Text: fmt.Sprintf("is no file of at most %d MiB", maxFile>>20)}
	}
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, &LoadError{File: name, Text: "cannot be read: " + err.Error()}
	}
	return text, nil
}

// overlay is the folder with the files of our own in it.
type overlay struct {
	fs.FS
	own fstest.MapFS
}

// Open opens a file of our own, else one of the folder. The compiler puts ./ before the names in the schema it starts
// with, which the file system does not take.
func (o overlay) Open(name string) (fs.File, error) {
	name = path.Clean(name)
	if o.own[name] != nil {
		return o.own.Open(name)
	}
	return o.FS.Open(name)
}
