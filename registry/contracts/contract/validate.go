package contract

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
			Detail: fmt.Sprintf("The official schema cannot be used: %v.", err), Remedy: "Report this to the administrator.",
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

// report gathers findings of rules.
type report struct {
	findings []Finding
	refs     *resolver
}

func (r *report) add(severity, code string, at func() string, detail, remedy string) {
	// Errors go in even when the list is full of warnings.
	if len(r.findings) >= maxPlaced && (severity != SeverityError || len(r.findings) >= 2*maxPlaced) {
		return
	}
	r.findings = append(r.findings, Finding{Severity: severity, Code: code, Pointer: at(), Detail: detail, Remedy: remedy})
}

func (r *report) error(code string, at *place, detail, remedy string) {
	r.add(SeverityError, code, at.String, detail, remedy)
}

func (r *report) warn(code string, at *place, detail, remedy string) {
	r.add(SeverityWarning, code, at.String, detail, remedy)
}
