package services

import (
	"errors"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/lint"
)

const scoredAPI = `openapi: 3.2.0
info: {title: Students, version: 1.0.0}
servers: [{url: https://api.example.nl/v1}]
paths:
  /students:
    get: {responses: {'200': {description: All., headers: {API-Version: {schema: {type: string}}}}}}
`

// Advice is of who may see the version, is the same each time, and stops a publication only where the chain chose so.
//
// Rules: EDU-21.
func TestAdviceAndTheScoreToPublish(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		in := contractInput("students-api")
		in.Kind = "openapi"
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		_, err = w.Contracts.Upload(ctx, w.admin, in.ID, contracts.Upload{Content: []byte(scoredAPI)})
		must(t, err)
		v, report, err := w.Advice.On(ctx, registry.Reader{Administrator: true}, in.ID, "1.0.0")
		must(t, err)
		if o, _ := report.Outcome("doc-openapi-contact"); v.Version != "1.0.0" || o.State != lint.Fails || report.Score >= 100 {
			t.Errorf("%s: %d %+v", v.Version, report.Score, o)
		}
		_, again, err := w.Advice.On(ctx, registry.Reader{Administrator: true}, in.ID, "1.0.0")
		if err != nil || again.Score != report.Score {
			t.Errorf("then %d, %v", again.Score, err)
		}
		if _, _, err := w.Advice.On(ctx, registry.Reader{}, in.ID, "1.0.0"); err == nil {
			t.Error("everybody sees a draft")
		}

		w.setSetting(t, "register.min_score", "100")
		_, err = w.publish(ctx, w.admin, in.ID, "1.0.0", "")
		if e, ok := errors.AsType[*registry.Error](err); !ok || e.Code != registry.CodeConflict || !strings.Contains(e.Message, "100") {
			t.Errorf("published below the score: %v", err)
		}
		good := strings.Replace(scoredAPI, "version: 1.0.0}", "version: 1.0.0, contact: {name: A, email: a@example.nl, url: https://example.nl}}", 1)
		_, err = w.Contracts.Upload(ctx, w.admin, in.ID, contracts.Upload{Content: []byte(good)})
		must(t, err)
		if _, err = w.publish(ctx, w.admin, in.ID, "1.0.0", ""); err != nil {
			t.Errorf("not published: %v", err)
		}
	})
}
