package xsd

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/lestrrat-go/helium"
)

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

// scan reads all schema files of a folder and checks where they point.
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

// scanFile reads the head and the references of one file.
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

// readBounded reads a file of the folder.
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
