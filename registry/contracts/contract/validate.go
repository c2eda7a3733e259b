package contract

import (
	"errors"
	"iter"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"schakel/templates/i18n"
)

// maxPlaced bounds what is sorted and placed before the list is cut to maxFindings.
const maxPlaced = 5 * maxFindings

// Validate holds the document against the official JSON Schema of its version and against the rules that no schema can
// state. The findings are in the order of the document; none means that it is fit to publish (EDU-21). When the list
// would be very long it is cut, errors first. A sound document of 13 MB takes a second of processor time beside the rules and
// leaves 700 MB to the collector. A fault costs some 4 KB while it is explained, and a document can have many in one path or
// schema, so bound how many strangers' documents are validated at a time.
func (d *Document) Validate() []Finding {
	fromSchema := d.startSchema()
	report := &report{}
	d.checkRules(report)
	return tidy(d.place(append(fromSchema(), report.findings...)))
}

// startSchema checks the schema beside the rules, for either takes half a second of a document of 13 MB. A panic is that
// of the caller, who knows what to do with it.
func (d *Document) startSchema() (wait func() []Finding) {
	var findings []Finding
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		findings = d.checkSchema()
	}()
	return func() []Finding {
		<-done
		if panicked != nil {
			panic(panicked)
		}
		return findings
	}
}

func (d *Document) checkSchema() []Finding {
	schema, err := official[string(d.Kind)+"-"+d.release]()
	if err != nil {
		return []Finding{{
			Severity: SeverityError, Code: "schema-unavailable", Line: 1, Column: 1,
			Detail: i18n.M("findings.official-schema", err.Error()), Remedy: "findings.official-schema-remedy",
		}}
	}
	form := schema.whole
	if root, ok := d.Root.(map[string]any); ok && schema.plain != nil && !ownDialect(root, d.release) {
		form = schema.plain
	}
	return d.explainParts(form, schema.source, partMembers)
}

// explainParts validates the document part by part, each of so many members, and gives what is wrong with it.
func (d *Document) explainParts(compiled *jsonschema.Schema, source any, size int) []Finding {
	var findings []Finding
	seen := map[Finding]bool{}
	for part := range parts(d.Root, size) {
		var failed *jsonschema.ValidationError
		if !errors.As(compiled.Validate(part), &failed) {
			continue
		}
		for _, f := range explain(failed, source, d.Root) {
			if !seen[f] {
				seen[f] = true
				findings = append(findings, f)
			}
		}
		if len(findings) >= maxPlaced {
			break
		}
	}
	return findings
}

// ownDialect reports whether Schema Objects follow the dialect of OpenAPI itself.
func ownDialect(root map[string]any, release string) bool {
	chosen, ok := root["jsonSchemaDialect"].(string)
	if !ok {
		return true
	}
	base := "https://spec.openapis.org/oas/" + release + "/dialect"
	return len(chosen) >= len(base) && chosen[:len(base)] == base
}

type report struct {
	findings []Finding
	refs     *resolver
}

func (r *report) add(severity, code string, at func() string, detail, remedy i18n.Message) {
	// Errors go in even when the list is full of warnings.
	if len(r.findings) >= maxPlaced && (severity != SeverityError || len(r.findings) >= 2*maxPlaced) {
		return
	}
	r.findings = append(r.findings, Finding{Severity: severity, Code: code, Pointer: at(), Detail: detail, Remedy: remedy})
}

func (r *report) error(code string, at *place, detail, remedy i18n.Message) {
	r.add(SeverityError, code, at.String, detail, remedy)
}

func (r *report) warn(code string, at *place, detail, remedy i18n.Message) {
	r.add(SeverityWarning, code, at.String, detail, remedy)
}

// partMembers bounds how many members of each large container one part of a document has.
const partMembers = 256

// parts splits a document so that a fault costs an explanation of its part alone, and the check of a document that is wrong
// all over ends where enough is found: as a whole it takes the jsonschema package three times as long. Each part has the next so many
// members of every container that authors fill (paths, components/schemas, channels, …). No official schema looks at
// more than one member of such a container at a time, so the parts have the faults of the document and no others.
// The first part also has all else of the document; the others have only what makes them documents.
func parts(root any, size int) iter.Seq[any] {
	return func(yield func(any) bool) {
		object, _ := root.(map[string]any)
		s := newSplitter(object)
		if s.most <= size {
			yield(root)
			return
		}
		for from := 0; from < s.most; from += size {
			if !yield(s.part(from, size)) {
				return
			}
		}
	}
}

// splitter holds the members of each container of a document, by its name or "components/" and its name.
type splitter struct {
	root    map[string]any
	members map[string][]string
	most    int // members of the largest
}

func newSplitter(root map[string]any) *splitter {
	s := &splitter{root: root, members: map[string][]string{}}
	for _, name := range rootContainers {
		s.add(name, root[name])
	}
	for name, value := range child(root, "components") {
		s.add("components/"+name, value)
	}
	return s
}

// rootContainers names the containers beside components; a document of a kind may need one, even an empty or wrong one.
var rootContainers = []string{"paths", "webhooks", "channels", "operations"}

func (s *splitter) add(name string, value any) {
	if container, ok := value.(map[string]any); ok {
		s.members[name] = sortedKeys(container)
		s.most = max(s.most, len(container))
	}
}

// part gives the part with so many members of each container, beginning at from.
func (s *splitter) part(from, size int) map[string]any {
	part := s.cut("", s.root, from, size)
	if components := child(s.root, "components"); components != nil {
		part["components"] = s.cut("components/", components, from, size)
	}
	if from > 0 {
		part["info"] = map[string]any{"title": "", "version": ""}
		for _, name := range append([]string{"openapi", "asyncapi", "components"}, rootContainers...) {
			value, has := s.root[name]
			if _, done := part[name]; has && !done {
				part[name] = value
			}
		}
	}
	return part
}

// cut gives an object with so many members of each container in it. What is no container is in the first part.
func (s *splitter) cut(prefix string, object map[string]any, from, size int) map[string]any {
	left := map[string]any{}
	for name, value := range object {
		members, ok := s.members[prefix+name]
		switch {
		case ok:
			container, some := value.(map[string]any), map[string]any{}
			for _, member := range members[min(from, len(members)):min(from+size, len(members))] {
				some[member] = container[member]
			}
			left[name] = some
		case from == 0:
			left[name] = value
		}
	}
	return left
}
