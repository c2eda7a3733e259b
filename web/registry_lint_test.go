package web

import (
	"net/http"
	"testing"

	webcontracts "schakel/web/contracts"
)

// Advice comes with a version and with the dry run of an upload, the same in both.
//
// Rules: EDU-21.
func TestLintOverTheAPI(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	writer := h.writer(t)
	publishedContract(t, writer, "public")
	var version struct{ Lint webcontracts.LintAnswer }
	h.anyone().get(t, contractTarget+"/versions/1.0.0").want(t, 200).decode(t, &version)
	if version.Lint.Score <= 0 || version.Lint.Score > 100 || len(version.Lint.Sets) != 1 || len(version.Lint.Rules) == 0 || len(version.Lint.Findings) == 0 {
		t.Fatalf("lint %+v", version.Lint)
	}
	for _, f := range version.Lint.Findings {
		if f.Line == 0 || f.Code == "" || f.Remedy == "" {
			t.Errorf("finding %+v", f)
		}
	}
	var dry webcontracts.ValidationAnswer
	writer.do(t, http.MethodPost, "/registry/v1/validations", sampleContract, "Content-Type", "application/yaml").want(t, 200).decode(t, &dry)
	if dry.Lint == nil || dry.Lint.Score != version.Lint.Score || !dry.Publishable {
		t.Errorf("dry run %+v", dry)
	}
}
