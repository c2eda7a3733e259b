package contract

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"schakel/store/needs"
)

// TestHostileDocuments measures memory, so it does not run beside other tests.
func TestHostileDocuments(t *testing.T) {
	needs.Unraced(t)
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 20; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	million := func(text string) string { return strings.Repeat(text, 1_000_000) }
	for _, tt := range []struct{ name, content, code string }{
		{"billion laughs", laughs, "document-too-many-nodes"},
		{"alias cycle", "a: &a {b: &b [*a, *b]}", "alias-cycle"},
		{"lists in JSON", million("["), "document-too-deep"},
		{"objects in JSON", million(`{"a":`), "document-too-deep"},
		{"lists in YAML", "a: " + strings.Repeat("[", 400_000), "document-too-deep"},
		{"objects in YAML", "a: " + strings.Repeat("{a: ", 400_000), "document-too-deep"},
		{"blocks in YAML", million("- "), "document-too-deep"},
		{"names in YAML", million("? "), "document-too-deep"},
		{"indentation", strings.Join(stairs(1000), "\n"), "document-too-deep"},
		{"17 MB", "a: " + strings.Repeat("b", 17<<20), "document-too-large"},
		{"items in JSON", "[" + million("1,") + "1]", "document-too-many-nodes"},
		{"items in YAML", million("- a\n") + "- a\n", "document-too-many-nodes"},
		{"empty lines", million("\n") + "\na: 1", "document-too-many-nodes"},
		{"anchors", million("- &a 1,"), "document-too-many-aliases"},
	} {
		var before, after runtime.MemStats
		content := []byte(tt.content)
		runtime.ReadMemStats(&before)
		d, findings, err := Parse(content, Limits{})
		runtime.ReadMemStats(&after)
		if err != nil || d != nil || len(findings) != 1 || findings[0].Code != tt.code {
			t.Errorf("%s: got %v, want %s", tt.name, findings, tt.code)
		}
		// Each byte may cost a few to read, but nothing may be built that only a later step throws away.
		if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
			t.Errorf("%s took %d MiB", tt.name, used>>20)
		}
	}
}

// TestArchiveBomb puts files in place of references, each twice in the next.
func TestArchiveBomb(t *testing.T) {
	files := []string{"asyncapi.yaml", asyncapi("3.1.0", "channels: {c: {bindings: {$ref: b0.yaml}}}")}
	for i := range 40 {
		files = append(files, fmt.Sprintf("b%d.yaml", i), fmt.Sprintf("x: {$ref: b%d.yaml}\ny: {$ref: b%d.yaml}\n", i+1, i+1))
	}
	content := packed(t, append(files, "b40.yaml", "{}")...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	u, findings, err := ReadUpload(content, "", Limits{})
	runtime.ReadMemStats(&after)
	if err != nil || u != nil || len(findings) != 1 || findings[0].Code != "archive-too-large" {
		t.Errorf("got %v, %v", findings, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("took %d MiB", used>>20)
	}
}

func stairs(steps int) []string {
	var lines []string
	for i := range steps {
		lines = append(lines, strings.Repeat(" ", i)+"a:")
	}
	return lines
}

func TestDeepSchemas(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	deep := strings.Repeat("{items: ", 180) + "{type: strng}" + strings.Repeat("}", 180)
	for _, content := range []string{
		openapi("3.0.0", "paths: {}\ncomponents: {schemas: {a: "+deep+"}}"),
		openapi("3.1.0", "paths: {}\ncomponents: {schemas: {a: "+deep+"}}"),
		openapi("3.2.0", "paths: {}\ncomponents: {schemas: {a: "+deep+"}}"),
		asyncapi("2.6.0", "channels: {}\ncomponents: {schemas: {a: "+deep+"}}"),
		asyncapi("3.0.0", "components: {messages: {a: {payload: "+deep+"}}}"),
		asyncapi("3.1.0", "components: {messages: {a: {payload: "+deep+"}}}"),
	} {
		d, findings := parse(t, content)
		if d == nil {
			t.Fatalf("refused: %v", findings)
		}
		if got := serious(d.Validate()); len(got) != 1 || got[0].Code != "schema-value" {
			t.Errorf("%s: got %v", d.SpecVersion, got)
		}
	}
}
