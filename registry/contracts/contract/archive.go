package contract

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"schakel/templates/i18n"
)

// The bounds on a zip. What it holds is read only where a reference leads to it, and never to more bytes than these.
const (
	maxArchiveFiles = 5000
	maxArchiveName  = 255      // bytes
	maxArchiveBytes = 32 << 20 // of all files together, unpacked
	maxRatio        = 200      // unpacked to packed, of a file that unpacks to more than maxRatioFrom bytes
	maxRatioFrom    = 1 << 20
)

// File is a file of a zip that was uploaded.
type File struct {
	// Name is its path in the zip, below the one folder that holds all when there is such a one.
	Name string
	// Size is in bytes, unpacked.
	Size int64
	// Main is set for the document itself, Used for the files that it refers to.
	Main, Used bool
	// URL is the address the file was fetched from and FetchedAt the moment (RFC 3339), by the manifest; Digest is the SHA-256 of the
	// file as "sha256:…". All are empty for a file that stands for no address, Digest also when nothing refers to it.
	URL       string `json:",omitempty"`
	FetchedAt string `json:",omitempty"`
	Digest    string `json:",omitempty"`
}

// IsArchive reports whether an upload is a zip, by its first bytes.
func IsArchive(content []byte) bool {
	return bytes.HasPrefix(content, []byte("PK\x03\x04")) || bytes.HasPrefix(content, []byte("PK\x05\x06"))
}

// archive is a zip whose directory was found harmless.
type archive struct {
	files  map[string]*zip.File
	names  []string // sorted
	limits Limits
	left   int64 // bytes that may still be unpacked

	manifest Manifest
	byURL    map[string]string // files by the address that they stand for
	pinned   map[string]Pinned // by file
}

// openArchive reads the directory of a zip. It refuses names that lead out of it, links, encrypted files, methods of
// packing that are not of every zip, names that differ by case only, and what unpacks to too much.
func openArchive(content []byte, limits Limits) (*archive, *Finding) {
	// The reader makes something of every entry, so they are counted before, by how each begins.
	if bytes.Count(content, []byte("PK\x01\x02")) > maxArchiveFiles {
		return nil, archiveFault("archive-too-many-files", "", i18n.M("findings.archive-too-many-files", maxArchiveFiles), "findings.leave-out-unused-remedy")
	}
	reader, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, archiveFault("archive-invalid", "", "findings.archive-unreadable", "findings.pack-again-remedy")
	}
	a := &archive{files: map[string]*zip.File{}, byURL: map[string]string{}, limits: limits, left: maxArchiveBytes}
	folded := map[string]bool{}
	total := uint64(0)
	for _, f := range reader.File {
		if fault := a.refuse(f); fault != nil {
			return nil, fault
		}
		if total += f.UncompressedSize64; total > maxArchiveBytes {
			return nil, archiveFault("archive-too-large", f.Name, i18n.M("findings.archive-unpacks-too-large", maxArchiveBytes), "findings.leave-out-unused-remedy")
		}
		if f.FileInfo().IsDir() || hidden(f.Name) {
			continue
		}
		if name := strings.ToLower(f.Name); folded[name] {
			return nil, archiveFault("archive-name", f.Name, "findings.archive-same-name", "findings.keep-one-remedy")
		} else {
			folded[name] = true
		}
		a.files[f.Name] = f
	}
	a.stripFolder()
	a.names = sortedKeys(a.files)
	return a, a.readManifest()
}

// archiveFault is a finding on the zip as a whole or on one of its files.
func archiveFault(code, file string, detail, remedy i18n.Message) *Finding {
	return &Finding{Severity: SeverityError, Code: code, File: shorten(strings.ToValidUTF8(file, "?"), maxArchiveName), Line: 1, Column: 1, Detail: detail, Remedy: remedy}
}

// refuse gives why an entry is not wanted.
func (a *archive) refuse(f *zip.File) *Finding {
	const again = i18n.Message("findings.pack-again-remedy")
	mode := f.Mode()
	switch {
	case !cleanName(f.Name):
		return archiveFault("archive-name", f.Name, "findings.archive-name", "findings.archive-name-remedy")
	case mode&fs.ModeType != 0 && !mode.IsDir():
		return archiveFault("archive-link", f.Name, "findings.archive-link", "findings.archive-link-remedy")
	case f.Flags&1 != 0:
		return archiveFault("archive-encrypted", f.Name, "findings.archive-encrypted", "findings.archive-encrypted-remedy")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return archiveFault("archive-method", f.Name, "findings.archive-method", again)
	case f.UncompressedSize64 > uint64(a.limits.Bytes):
		return archiveFault("archive-too-large", f.Name, i18n.M("findings.archive-file-too-large", a.limits.Bytes), "findings.archive-file-too-large-remedy")
	case f.UncompressedSize64 > maxRatioFrom && f.UncompressedSize64/maxRatio > f.CompressedSize64:
		return archiveFault("archive-ratio", f.Name, i18n.M("findings.archive-ratio", maxRatio), again)
	}
	return nil
}

// cleanName wants a relative path that stays within the zip on every system.
func cleanName(name string) bool {
	if name == "" || len(name) > maxArchiveName || !utf8.ValidString(name) || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\:") {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, unicode.IsControl) {
			return false
		}
	}
	return true
}

// hidden reports whether a file is one that systems put into a zip of their own accord.
func hidden(name string) bool {
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(path.Base(name), ".")
}

// stripFolder takes away the one folder that holds all files.
func (a *archive) stripFolder() {
	folder := ""
	for name := range a.files {
		first, _, nested := strings.Cut(name, "/")
		if !nested || folder != "" && folder != first {
			return
		}
		folder = first
	}
	stripped := make(map[string]*zip.File, len(a.files))
	for name, f := range a.files {
		stripped[strings.TrimPrefix(name, folder+"/")] = f
	}
	a.files = stripped
}

// main finds the document itself: the one that was named, else the only openapi or asyncapi file at the top, else the
// only document at the top.
func (a *archive) main(named string) (string, *Finding) {
	if named == "" {
		named = a.manifest.Main
	}
	if named != "" {
		if _, ok := a.files[named]; !ok {
			return "", archiveFault("archive-main", "", i18n.M("findings.archive-no-such-main", shorten(named, 100)), i18n.M("findings.archive-no-such-main-remedy", a.listed()))
		}
		return named, nil
	}
	var called, any []string
	for _, name := range a.names {
		if strings.Contains(name, "/") || !isDocumentName(name) || name == ManifestName {
			continue
		}
		any = append(any, name)
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "openapi") || strings.HasPrefix(lower, "asyncapi") {
			called = append(called, name)
		}
	}
	for _, list := range [][]string{called, any} {
		if len(list) == 1 {
			return list[0], nil
		}
	}
	return "", archiveFault("archive-main", "", "findings.archive-main",
		i18n.M("findings.archive-main-remedy", a.listed()))
}

func (a *archive) listed() string {
	shown := a.names[:min(len(a.names), 10)]
	if len(shown) == 0 {
		return "none"
	}
	return shorten(strings.Join(shown, ", "), 400)
}

func isDocumentName(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

func (a *archive) read(name string) ([]byte, *Finding) {
	f := a.files[name]
	broken := archiveFault("archive-invalid", name, "findings.archive-file-broken", "findings.pack-again-remedy")
	opened, err := f.Open()
	if err != nil {
		return nil, broken
	}
	defer opened.Close()
	most := min(a.left, int64(a.limits.Bytes))
	content, err := io.ReadAll(io.LimitReader(opened, most+1))
	if err != nil {
		return nil, broken
	}
	if a.left -= int64(len(content)); int64(len(content)) > most {
		return nil, archiveFault("archive-too-large", name, "findings.archive-lies", "findings.pack-again-remedy")
	}
	return content, nil
}

// Unpack reads all files of a zip, with their names in order and without its manifest, which is given apart. The findings
// say why the zip is refused, as [ReadUpload] does.
func Unpack(content []byte) (names []string, files map[string][]byte, manifest Manifest, findings []Finding) {
	a, fault := openArchive(content, Limits{}.withDefaults())
	if fault != nil {
		return nil, nil, Manifest{}, []Finding{*fault}
	}
	files = map[string][]byte{}
	for _, name := range a.names {
		if name == ManifestName {
			continue
		}
		content, fault := a.read(name)
		if fault != nil {
			return nil, nil, Manifest{}, []Finding{*fault}
		}
		names, files[name] = append(names, name), content
	}
	return names, files, a.manifest, nil
}

// Glance reads a file as JSON or YAML, without wanting it to be a contract; the format is empty when it is neither.
func Glance(content []byte) (root any, format string) {
	d := &Document{content: content, limits: Limits{}.withDefaults(), Format: FormatYAML}
	if d.read() != nil {
		return nil, ""
	}
	return d.Root, d.Format
}

// IsAvro reports whether an object is a named type in Avro: a record, enum or fixed.
func IsAvro(object map[string]any) bool { return avroName(object) != "" }
