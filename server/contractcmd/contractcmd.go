// Package contractcmd holds the commands with which a build pipeline validates, compares, publishes and fetches contracts.
//
// They judge a document by the code with which the register judges it, so that what passes here is not refused there for its
// content. Their exit codes tell a finding from a failure of the machine. Validate and diff of files need no network.
package contractcmd

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"schakel/registry/contracts/contract"
)

// Commands holds the commands with which a build pipeline looks at contracts
// and keeps them in a register. contractExits documents their exit codes.
type Commands struct {
	Validate Validate `cmd:"" help:"Look whether documents are right, without a register."`
	Diff     Diff     `cmd:"" help:"Tell what changed between two documents, and whom it breaks."`
	Bundle   Bundle   `cmd:"" help:"Fetch what a document refers to at addresses, once, and write a zip of all of it."`
	Publish  Publish  `cmd:"" help:"Upload a document to a register and publish it."`
	Pull     Pull     `cmd:"" help:"Fetch a document from a register, checked against its digest."`
}

// contractExits lists the exit codes, for the help of the commands.
const contractExits = `Exit codes: 0 all is well; 1 something was found that --fail-on asks to fail on, the register refused the document, or a file is not as it should be; 2 wrong flags, a file that cannot be read, or a register that cannot be reached or does not let this client in.`

// maxContractInput bounds a file that is read, in bytes.
const maxContractInput = 64 << 20

// maxContractFiles bounds how many files of a folder are packed.
const maxContractFiles = 5000

// document is a contract that was read, from a file or a register.
type document struct {
	name     string // as people know it: a path, or id@version
	folder   bool   // packed from the files of a folder
	content  []byte // as it would be uploaded
	read     *contract.Upload
	findings []contract.Finding // why it could not be read; else not filled in
}

// digest is the SHA-256 of the content, as "sha256:…" in lower-case hexadecimal.
func (d *document) digest() string {
	sum := sha256.Sum256(d.content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// parse reads what a document says; findings tell why it cannot.
func (d *document) parse(main string) (err error) {
	if d.content == nil {
		d.content = []byte{}
	}
	if d.read, d.findings, err = contract.ReadUpload(d.content, main, contract.Limits{}); err != nil {
		return fmt.Errorf("read %s: %w", d.name, err)
	}
	return nil
}

// place returns the position of a finding, for people: the file in a folder or zip when it is
// in one, and the line and column.
func (d *document) place(f contract.Finding) string {
	file, line, column := d.spot(f)
	if line == 0 {
		return file
	}
	if column == 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// spot returns the file, line and column of a finding; 0 means unknown. The parts of a
// folder are files by themselves, those of a zip stand behind an exclamation mark.
func (d *document) spot(f contract.Finding) (file string, line, column int) {
	switch {
	case f.File == "":
		return d.name, f.Line, f.Column
	case d.folder:
		return strings.TrimSuffix(d.name, "/") + "/" + f.File, f.FileLine, 0
	}
	return d.name + "!" + f.File, f.FileLine, 0
}

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
