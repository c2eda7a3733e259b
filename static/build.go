package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"schakel/templates/i18n/texts"
)

// asset is one file as it is served.
type asset struct {
	name, hash, contentType string
	// body reads it, from the program itself where that has it whole: a copy of all would be megabytes of memory.
	body func() []byte
	// zipped gives the body compressed with gzip, or nil when that gains nothing. A file that is embedded
	// compressed is given as it stands; another is compressed when it is first asked for.
	zipped func() []byte
}

// assets is a set of served files, by their public name.
type assets struct {
	prefix string // the path they are served under
	byName map[string]*asset
}

// ownStyles are joined in this order after the vendored component styles.
func ownStyles() []string {
	return []string{"tokens", "tokens-controls", "frame", "form", "table", "status", "map", "chart", "document", "print"}
}

// build reads the embedded tree. Every file under js and img, and every script under vendor, is
// served under its own name (without .gz where it is embedded compressed); the style sheets are joined into schakel.css.
// It panics when a file is missing, which only a broken build can cause.
func build(tree fs.FS) *assets {
	set := &assets{prefix: Prefix, byName: map[string]*asset{}}
	styles := joinStyles(tree)
	set.add("schakel.css", func() []byte { return styles })
	for _, pattern := range []string{"js/*.js", "img/*", "vendor/*/*.js", "vendor/*/*.js.gz"} {
		for _, file := range must(fs.Glob(tree, pattern)) {
			embedded := func() []byte { return must(fs.ReadFile(tree, file)) }
			a := set.add(strings.TrimSuffix(path.Base(file), ".gz"), func() []byte { return texts.Unpack(embedded()) })
			if texts.Packed(embedded()) {
				a.zipped = embedded
			}
		}
	}
	return set
}

// joinStyles puts the vendored sheets in a cascade layer, so that a rule of our
// own wins whatever its specificity.
func joinStyles(tree fs.FS) []byte {
	var out bytes.Buffer
	out.WriteString("/* Component styles: NL Design System community, EUPL-1.2. */\n@layer component {\n")
	for _, file := range must(fs.Glob(tree, "vendor/utrecht/*.css")) {
		out.Write(texts.Unpack(must(fs.ReadFile(tree, file))))
		out.WriteByte('\n')
	}
	out.WriteString("}\n")
	for _, name := range ownStyles() {
		out.Write(texts.Unpack(must(fs.ReadFile(tree, "css/"+name+".css"))))
	}
	return out.Bytes()
}

func (s *assets) add(name string, body func() []byte) *asset {
	if s.byName[name] != nil {
		panic("static: two files are named " + name)
	}
	sum := sha256.Sum256(body())
	a := &asset{
		name: name, hash: hex.EncodeToString(sum[:8]), contentType: contentType(name),
		body: body, zipped: sync.OnceValue(func() []byte { return zip(body()) }),
	}
	s.byName[name] = a
	return a
}

// contentType does not ask the operating system, whose tables differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	default:
		return "application/octet-stream"
	}
}

func zip(body []byte) []byte {
	var out bytes.Buffer
	w := must(gzip.NewWriterLevel(&out, gzip.BestCompression))
	must(w.Write(body))
	if err := w.Close(); err != nil {
		panic(fmt.Errorf("static: compress: %w", err))
	}
	if out.Len() >= len(body)*9/10 {
		return nil
	}
	return out.Bytes()
}

// split takes "{hash}/{name}" or "{name}" apart.
func split(rest string) (hash, name string) {
	if before, after, ok := strings.Cut(rest, "/"); ok {
		return before, after
	}
	return "", rest
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Errorf("static: %w", err))
	}
	return v
}
