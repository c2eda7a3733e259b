package contract

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"schakel/templates/i18n"
)

// Kind says which specification a document follows.
type Kind string

// The kinds of document that can be registered (EDU-21).
const (
	OpenAPI  Kind = "openapi"
	AsyncAPI Kind = "asyncapi"
)

// The formats a document can be written in.
const (
	FormatJSON = "json"
	FormatYAML = "yaml"
)

// Document is a contract that could be read. It keeps the bytes and, for YAML, the parse tree for positions, so it
// takes several times the size of the document in memory: use it and let go.
type Document struct {
	Kind Kind
	// SpecVersion is the version of the specification as written, such as "3.1.0".
	SpecVersion string
	// Title, Version and Description come from the info object, empty where absent.
	Title, Version, Description string
	// Format is FormatJSON or FormatYAML.
	Format string
	// Root is the decoded document: map[string]any, []any, string, json.Number, bool or nil. It must not be changed,
	// for parts that YAML aliases repeat are shared.
	Root any

	release string // "3.1" of "3.1.0"
	content []byte
	tree    *yaml.Node
	limits  Limits
}

// Limits bound what Parse takes in. A zero field means its default.
type Limits struct {
	// Bytes is the longest document; default 16 MiB.
	Bytes int
	// Nodes is the number of values and member names, counted again for each use of an alias; default 1,000,000.
	Nodes int
	// Depth is the deepest nesting; default 200.
	Depth int
	// Aliases is the number of YAML anchors and aliases; default 5,000.
	Aliases int
}

func (l Limits) withDefaults() Limits {
	orElse := func(value *int, standard int) {
		if *value <= 0 {
			*value = standard
		}
	}
	orElse(&l.Bytes, 16<<20)
	orElse(&l.Nodes, 1_000_000)
	orElse(&l.Depth, 200)
	orElse(&l.Aliases, 5_000)
	return l
}

// Parse reads a document, as JSON when it starts with a bracket or brace, else as YAML. When it cannot be read or is of
// no kind and version that is supported, the document is nil and the findings, all of severity error, say why and where.
// The error is not nil for faults of the program only. Content must not be changed while the document is in use.
func Parse(content []byte, limits Limits) (*Document, []Finding, error) {
	if content == nil {
		return nil, nil, errors.New("parse contract: no content given")
	}
	d := &Document{content: content, limits: limits.withDefaults(), Format: FormatYAML}
	if p := d.read(); p != nil {
		return nil, []Finding{p.finding(content)}, nil
	}
	if f := d.recognise(); f != nil {
		return nil, d.place([]Finding{*f}), nil
	}
	return d, nil, nil
}

func (d *Document) read() *problem {
	if len(d.content) > d.limits.Bytes {
		return tooMany("document-too-large", "findings.too-many-bytes", d.limits.Bytes)
	}
	if !utf8.Valid(d.content) {
		return invalidUTF8(d.content)
	}
	body := bytes.TrimPrefix(d.content, []byte("\ufeff"))
	start := bytes.TrimLeft(body, " \t\r\n")
	if len(start) == 0 {
		return &problem{code: "document-empty", detail: "findings.document-empty", remedy: "findings.document-empty-remedy"}
	}
	if start[0] == '{' || start[0] == '[' {
		d.Format = FormatJSON
		root, p := readJSON(d.content, d.limits)
		d.Root = root
		return p
	}
	root, tree, p := readYAML(d.content, d.limits)
	d.Root, d.tree = root, tree
	return p
}

// recognise fills in what kind of document it is; the finding says why it is none.
func (d *Document) recognise() *Finding {
	root, _ := d.Root.(map[string]any)
	for _, key := range []string{"openapi", "asyncapi", "swagger"} {
		version, ok := root[key]
		if !ok {
			continue
		}
		text, isText := version.(string)
		d.Kind, d.SpecVersion, d.release = Kind(key), text, release(Kind(key), text)
		if d.release == "" {
			return unsupported(key, version, isText)
		}
		info, _ := root["info"].(map[string]any)
		d.Title, d.Version, d.Description = member(info, "title"), member(info, "version"), member(info, "description")
		return nil
	}
	return &Finding{
		Severity: SeverityError, Code: "not-a-contract",
		Detail: "findings.not-a-contract",
		Remedy: "findings.not-a-contract-remedy",
	}
}

// release gives "3.1" for a supported version such as "3.1.0", else "".
func release(kind Kind, version string) string {
	if kind == AsyncAPI {
		switch version {
		case "2.6.0", "3.0.0", "3.1.0":
			return version[:3]
		}
		return ""
	}
	for _, r := range []string{"3.0", "3.1", "3.2"} {
		if patch, ok := strings.CutPrefix(version, r+"."); ok && kind == OpenAPI && isPatch(patch) {
			return r
		}
	}
	return ""
}

func isPatch(patch string) bool {
	number, suffix, dashed := strings.Cut(patch, "-")
	return number != "" && strings.Trim(number, "0123456789") == "" && (!dashed || suffix != "")
}

// member gives the text of a member, empty when it is absent or no text.
func member(object map[string]any, key string) string {
	text, _ := object[key].(string)
	return text
}

// unsupported says which version was found and what to do about it.
func unsupported(key string, version any, isText bool) *Finding {
	f := &Finding{Severity: SeverityError, Code: "unsupported-version", Pointer: "/" + key}
	f.Detail = i18n.M("findings.version-unsupported", quoteValue(version), specName(key))
	switch {
	case !isText:
		f.Detail = i18n.M("findings.version-no-text", key, quoteValue(version))
		f.Remedy = "findings.version-no-text-remedy"
	case key == "swagger":
		f.Remedy = "findings.convert-swagger-remedy"
	case key == "asyncapi":
		f.Remedy = "findings.asyncapi-version-remedy"
	default:
		f.Remedy = "findings.openapi-version-remedy"
	}
	return f
}

func specName(key string) string {
	return map[string]string{"openapi": "OpenAPI", "asyncapi": "AsyncAPI", "swagger": "Swagger"}[key]
}

//go:embed pipelines*.md
var guides embed.FS

// Guides holds the guide to contracts in build pipelines, pipelines.md, and its translations.
func Guides() fs.FS { return guides }
