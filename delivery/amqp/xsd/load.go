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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lestrrat-go/helium"
	"github.com/lestrrat-go/helium/xsd"
	"golang.org/x/sync/semaphore"
)

// Load compiles the schemas in a folder and its sub-folders: every file whose name ends in .xsd. Each namespace may be
// defined once; a file that others include counts with them. Errors are of type *LoadError where a file is at fault,
// and wrap ErrFolder.
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

// wrap writes a schema that imports others.
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

// compile compiles a schema. Name goes into errors that do not name a file themselves.
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

// firstLine gives an error as one line.
func firstLine(err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return text
}
