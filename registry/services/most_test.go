package services

import (
	"fmt"
	"schakel/registry"
	"testing"
)

// mostEndpoints repeats the limit of endpoints of a partner.
const mostEndpoints = 100

func TestAPartnerHasSoManyAndNoMore(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		there, err := w.Endpoints.List(t.Context(), actor.Scope(), "")
		must(t, err)
		for i := len(there); i <= mostEndpoints; i++ {
			in := webhook()
			in.Name = fmt.Sprint("endpoint ", i)
			_, err := w.Endpoints.Create(t.Context(), actor, "", in)
			if i < mostEndpoints {
				must(t, err)
				continue
			}
			wantCode(t, "one too many", registry.CodeConflict, err)
			_, err = w.Endpoints.Create(t.Context(), w.admin, actor.PartnerID, in)
			must(t, err)
		}
	})
}
