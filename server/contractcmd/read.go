package contractcmd

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readDocument reads a file, standard input for -, or a folder as the zip of its
// files.
func readDocument(name string, in io.Reader) (*document, error) {
	if name == "-" {
		content, err := readBounded(in, "standard input")
		return &document{name: "stdin", content: content}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	d := &document{name: filepath.ToSlash(name), folder: info.IsDir()}
	if d.folder {
		d.content, err = packFolder(name)
		return d, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	defer f.Close()
	d.content, err = readBounded(f, name)
	return d, err
}

func readBounded(r io.Reader, name string) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxContractInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(content) > maxContractInput {
		return nil, fmt.Errorf("read %s: more than %d bytes", name, maxContractInput)
	}
	return content, nil
}

// packFolder zips the documents below a folder. The same files give the same bytes,
// whatever their times and modes, so that publishing them again changes nothing.
// Hidden files and what is no document are left out; a link is not followed.
func packFolder(folder string) ([]byte, error) {
	names, err := documentsIn(folder)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("folder %s has no .json, .yaml, .yml, .avsc or .md file", folder)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("read folder: %w", err)
		}
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = entry.Write(content)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if packed.Len() > maxContractInput {
			return nil, fmt.Errorf("folder %s is more than %d bytes", folder, maxContractInput)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	return packed.Bytes(), nil
}

// documentsIn lists the files to pack, sorted, with slashes.
func documentsIn(folder string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := path != "." && strings.HasPrefix(entry.Name(), "."); hidden && entry.IsDir() {
			return fs.SkipDir
		} else if hidden || !entry.Type().IsRegular() {
			return nil
		}
		if slices.Contains([]string{".json", ".yaml", ".yml", ".avsc", ".md"}, strings.ToLower(filepath.Ext(path))) {
			names = append(names, path)
		}
		if len(names) > maxContractFiles {
			return fmt.Errorf("more than %d files", maxContractFiles)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", folder, err)
	}
	slices.Sort(names)
	return names, nil
}
