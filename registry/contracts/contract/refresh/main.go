// Command refresh fetches the published JSON Schemas of OpenAPI and AsyncAPI with the npm client and writes them
// compressed, with their licences, into a folder. Run it from the repository root:
//
//	go run ./registry/contracts/contract/refresh registry/contracts/contract/schemas
//
// Versions are pinned in sources; raise one there, run the command, run the tests and review the difference.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is one npm package and what is taken from it: path inside the package to file name here.
type source struct {
	name, version string
	files         map[string]string
}

func sources() []source {
	return []source{
		{"@asyncapi/specs", "6.11.1", map[string]string{
			"schemas/2.6.0-without-$id.json": "asyncapi-2.6.json",
			"schemas/3.0.0-without-$id.json": "asyncapi-3.0.json",
			"schemas/3.1.0-without-$id.json": "asyncapi-3.1.json",
			"LICENSE":                        "LICENSE-asyncapi-specs",
			"NOTICE":                         "NOTICE-asyncapi-specs",
		}},
		{"@seriousme/openapi-schema-validator", "2.11.0", map[string]string{
			"schemas/v3.0/schema.json": "openapi-3.0.json",
			"schemas/v3.1/schema.json": "openapi-3.1.json",
			"schemas/v3.2/schema.json": "openapi-3.2.json",
			"LICENSE.txt":              "LICENSE-openapi-schema-validator",
		}},
		{"@hyperjump/json-schema", "1.18.0", map[string]string{
			"openapi-3-1/dialect/base.js": "openapi-3.1-dialect.json",
			"openapi-3-1/meta/base.js":    "openapi-3.1-meta.json",
			"openapi-3-2/dialect/base.js": "openapi-3.2-dialect.json",
			"openapi-3-2/meta/base.js":    "openapi-3.2-meta.json",
			"LICENSE":                     "LICENSE-hyperjump-json-schema",
		}},
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: refresh FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "refresh:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	scratch, err := os.MkdirTemp("", "schemas")
	if err != nil {
		return fmt.Errorf("make scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	for _, s := range sources() {
		if err := s.take(scratch, folder); err != nil {
			return fmt.Errorf("take %s@%s: %w", s.name, s.version, err)
		}
	}
	return nil
}

// take packs the package into scratch and writes the wanted files into folder.
func (s source) take(scratch, folder string) error {
	pack := exec.Command("npm", "pack", "--silent", s.name+"@"+s.version)
	pack.Dir, pack.Stderr = scratch, os.Stderr
	out, err := pack.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	archive, err := os.Open(filepath.Join(scratch, strings.TrimSpace(string(out))))
	if err != nil {
		return fmt.Errorf("open package: %w", err)
	}
	defer archive.Close()
	taken, err := s.unpack(archive, folder)
	if err == nil && taken != len(s.files) {
		err = fmt.Errorf("found %d of %d files", taken, len(s.files))
	}
	return err
}

func (s source) unpack(archive io.Reader, folder string) (int, error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return 0, fmt.Errorf("unzip: %w", err)
	}
	taken := 0
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return taken, nil
		}
		if err != nil {
			return taken, fmt.Errorf("read archive: %w", err)
		}
		target, ok := s.files[strings.TrimPrefix(header.Name, "package/")]
		if !ok {
			continue
		}
		if err := write(filepath.Join(folder, target), files); err != nil {
			return taken, err
		}
		taken++
	}
}

// write copies a file. A JavaScript module that only exports an object is turned into the JSON it holds; JSON is compressed.
func write(target string, from io.Reader) error {
	content, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read %s: %w", target, err)
	}
	if strings.HasSuffix(target, ".json") {
		content = bytes.TrimSpace(content)
		content = bytes.TrimSuffix(bytes.TrimPrefix(content, []byte("export default ")), []byte(";"))
		content = append(content, '\n')
		if !json.Valid(content) {
			return fmt.Errorf("%s is not JSON", target)
		}
		target += ".gz"
		if content, err = compressed(content); err != nil {
			return fmt.Errorf("compress %s: %w", target, err)
		}
	}
	if err := os.WriteFile(target, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}
	return nil
}

// compressed gives content as a gzip file without name and time, the same for the same content.
func compressed(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
