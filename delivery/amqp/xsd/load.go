package xsd

import (
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
	"strings"

	"github.com/jacoelho/xsd"
	"github.com/jacoelho/xsd/xsderrors"
	"golang.org/x/sync/semaphore"
	"schakel/registry/xmlscan"
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

// load compiles the schemas of a file system.
func load(ctx context.Context, folder fs.FS) (*Set, error) {
	files, err := scan(folder)
	if err != nil {
		return nil, err
	}
	namespaces, err := pick(files)
	if err != nil {
		return nil, err
	}
	if err := complete(files); err != nil {
		return nil, err
	}
	resolver := xsd.ResolverFunc(func(_ context.Context, base, place string) (xsd.SchemaSource, error) {
		name := path.Join(path.Dir(base), strings.TrimSpace(place))
		if one, ok := files[name]; ok {
			return xsd.Bytes(name, one.text), nil
		}
		return xsd.SchemaSource{}, xsderrors.ErrSchemaNotFound
	})
	var sources []xsd.SchemaSource
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		name := namespaces[namespace]
		sources = append(sources, xsd.Bytes(name, files[name].text).WithResolver(resolver))
	}
	for namespace, text := range builtin() {
		if _, taken := namespaces[namespace]; !taken {
			namespaces[namespace] = ""
			sources = append(sources, xsd.Bytes(namespace, text))
		}
	}
	engine, err := xsd.Compile(ctx, sources...)
	if err != nil {
		return nil, loadError(files, err)
	}
	return &Set{engine: engine, namespaces: namespaces, bytes: semaphore.NewWeighted(together)}, nil
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

// loadError makes a *LoadError of what the compiler found.
func loadError(files map[string]file, err error) error {
	if several, ok := errors.AsType[xsderrors.Errors](err); ok && len(several) > 0 {
		err = several[0]
	}
	detail, ok := errors.AsType[*xsderrors.Error](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	found := LoadError{File: detail.Path, Line: detail.Line, Text: strings.TrimSpace(detail.Message)}
	if detail.Code == xsderrors.CodeUnsupportedRegex && found.File == "" {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if line := patternLine(files[name].root, detail.Message); line > 0 {
				found.File, found.Line = name, line
				break
			}
		}
	}
	return &found
}

// patternLine finds the line of the xs:pattern that a message of the compiler ends with, 0 when none does: it gives no place.
func patternLine(n *xmlscan.Node, message string) int {
	if value := attribute(n, "value"); n.Name.Local == "pattern" && value != "" && strings.HasSuffix(message, value) {
		return n.Line
	}
	for _, kid := range n.Kids {
		if line := patternLine(kid, message); line > 0 {
			return line
		}
	}
	return 0
}

const (
	schemaNamespace = "http://www.w3.org/2001/XMLSchema"
	xmlNamespace    = "http://www.w3.org/XML/1998/namespace"
)

// file is one schema file of the folder.
type file struct {
	name      string
	namespace string
	text      []byte // in UTF-8, without a declaration or a document type
	root      *xmlscan.Node
	refs      []reference
}

// reference is an xs:import, xs:include or xs:redefine that names a file.
type reference struct {
	kind, target string
}

func scan(folder fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.EqualFold(path.Ext(name), ".xsd") {
			return err
		}
		if len(files) == maxFiles {
			return fmt.Errorf("%w: more than %d files", ErrFolder, maxFiles)
		}
		one, err := scanFile(folder, name)
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

func scanFile(folder fs.FS, name string) (file, error) {
	text, err := readBounded(folder, name)
	if err != nil {
		return file{}, err
	}
	if text, err = plainText(text); err != nil {
		return file{}, &LoadError{File: name, Text: err.Error()}
	}
	root, err := xmlscan.Parse(text)
	if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); ok {
		return file{}, &LoadError{File: name, Line: syntax.Line, Text: syntax.Err.Error()}
	}
	if err != nil || root.Name != (xml.Name{Space: schemaNamespace, Local: "schema"}) {
		return file{}, &LoadError{File: name, Line: 1, Text: "is no XML schema"}
	}
	one := file{name: name, namespace: attribute(root, "targetNamespace"), text: text, root: root}
	for _, kid := range root.Kids {
		if kid.Name.Space != schemaNamespace {
			continue
		}
		ref, err := refer(folder, name, kid)
		if err != nil {
			return one, err
		}
		if ref.target != "" {
			one.refs = append(one.refs, ref)
		}
	}
	return one, nil
}

// attribute gives the value of an attribute without a prefix.
func attribute(n *xmlscan.Node, local string) string {
	for _, a := range n.Attr {
		if a.Name == (xml.Name{Local: local}) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

var (
	latin        = regexp.MustCompile(`(?i)^<\?xml\s[^>]{0,200}?encoding\s*=\s*["'](iso-8859-1|latin-?1|windows-1252)["']`)
	documentType = regexp.MustCompile(`(?s)<!DOCTYPE\s[^\[>]*(\[.*?\]\s*)?>`)
)

// plainText gives a schema in UTF-8, which may be in Latin-1, as many are. A document type, which the schema of XML signatures
// has for old editors, is blanked; lines stay where they are.
func plainText(text []byte) ([]byte, error) {
	if latin.Match(text[:min(len(text), 400)]) {
		runes := make([]rune, len(text))
		for i, b := range text {
			runes[i] = rune(b)
		}
		text = withoutDeclaration([]byte(string(runes)))
	}
	text, err := xmlscan.Decode(text)
	if err != nil {
		return nil, err
	}
	text = withoutDeclaration(text)
	if at := documentType.FindIndex(text); at != nil {
		text = blank(text, at[0], at[1])
	}
	return text, nil
}

// refer checks the place that an import, include or redefine names; other elements refer to nothing.
func refer(folder fs.FS, name string, element *xmlscan.Node) (reference, error) {
	kind := element.Name.Local
	if kind != "import" && kind != "include" && kind != "redefine" && kind != "override" {
		return reference{}, nil
	}
	place := attribute(element, "schemaLocation")
	if place == "" {
		return reference{}, nil
	}
	bad := func(why string) (reference, error) {
		return reference{}, &LoadError{File: name, Line: element.Line, Text: fmt.Sprintf("xs:%s of %q %s", kind, place, why)}
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
