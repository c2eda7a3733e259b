package compare

import (
	"strings"
	"testing"
)

// TestBinaryAcrossReleases writes bytes as OpenAPI 3.0 and as 3.1 have them: format binary and byte became contentMediaType
// and contentEncoding, which changes nothing for anybody.
func TestBinaryAcrossReleases(t *testing.T) {
	t.Parallel()
	doc := func(release, schema string) string {
		return "openapi: " + release + "\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    post:\n      requestBody:\n        content: {MEDIA: {schema: " + schema + "}}\n" +
			"      responses: {'200': {description: d, content: {MEDIA: {schema: " + schema + "}}}}\n"
	}
	for _, tt := range []struct{ name, media, old, new, want string }{
		{"binary in JSON", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentMediaType: application/octet-stream}}}", ""},
		{"byte", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64}}}", ""},
		{"byte of a kind", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64, contentMediaType: image/png}}}", ""},
		{"binary of a kind", "multipart/form-data", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentMediaType: application/octet-stream}}}", ""},
		{"whole body", "application/octet-stream", "{type: string, format: binary}", "{type: string, contentMediaType: application/octet-stream}", ""},
		{"whole body without a type", "application/octet-stream", "{type: string, format: binary}", "{}", ""},
		{"nullable", "application/json", "{type: object, properties: {f: {type: string, format: byte, nullable: true}}}", "{type: object, properties: {f: {type: [string, 'null'], contentEncoding: base64}}}", ""},
		{"another encoding", "application/json", "{type: object, properties: {f: {type: string, format: byte}}}", "{type: object, properties: {f: {type: string, contentEncoding: base32}}}", "breaking"},
		{"raw became text", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, contentEncoding: base64}}}", "breaking"},
		{"another format", "application/json", "{type: object, properties: {f: {type: string, format: binary}}}", "{type: object, properties: {f: {type: string, format: uuid}}}", "breaking"},
	} {
		for _, back := range []bool{false, true} {
			old, new := doc("3.0.3", tt.old), doc("3.1.0", tt.new)
			if back {
				old, new = new, old
			}
			set := strings.NewReplacer("MEDIA", tt.media)
			changes := compared(t, set.Replace(old), set.Replace(new))
			if got := string(Worst(changes)); got != tt.want && (tt.want == "" || back == (got == "")) {
				t.Errorf("%s, back %t: %q, want %q: %v", tt.name, back, got, tt.want, brief(changes))
			}
		}
	}
}
