package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"schakel/registry"
	"schakel/store"
)

const ownAPI = `openapi: 3.2.0
info: {title: Own API, version: 1.0.0}
paths:
  /things:
    get: {operationId: listThings, responses: {"200": {description: Things}}}
  /more:
    get: {operationId: listMore, responses: {"200": {description: More}}}
`

// program is another start of the program in the same world, with these own documents.
func (w *world) program(t *testing.T, documents ...string) *Services {
	t.Helper()
	cfg := testConfig(t, w.db, w.clock)
	for _, d := range documents {
		cfg.OwnDocuments = append(cfg.OwnDocuments, registry.OwnDocument{ID: "own-api", Title: "Own API", Content: []byte(d)})
	}
	services, err := New(cfg, w.Accounts)
	must(t, err)
	return services
}

func (w *world) wantTrouble(t *testing.T, s *Services, want string) {
	t.Helper()
	troubles, err := s.OwnContracts.Check(t.Context())
	must(t, err)
	if want == "" && len(troubles) == 0 {
		return
	}
	if len(troubles) != 1 || want == "" || !strings.Contains(troubles[0].Text.String(), want) {
		t.Errorf("troubles %+v, want %q", troubles, want)
	}
}

// Our own descriptions are in the register, and the program tells when it does something else than they say.
//
// Rules: EDU-06a, EDU-N03.
func TestOwnContracts(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first := w.program(t, ownAPI)
		w.wantTrouble(t, first, "is not published in the register")
		var starts sync.WaitGroup // of several nodes at once
		for range 3 {
			starts.Go(func() {
				if err := first.OwnContracts.Register(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		w.wantTrouble(t, first, "")
		v, content, err := first.Contracts.Original(ctx, registry.Reader{}, "own-api", registry.Latest)
		must(t, err)
		if string(content) != ownAPI || v.Version != "1.0.0" || v.Status != store.VersionPublished {
			t.Errorf("version %s, %s: %q", v.Version, v.Status, content)
		}

		// Other bytes under the same version are told and never written.
		changed := w.program(t, strings.Replace(ownAPI, "Things}", "All things}", 1))
		must(t, changed.OwnContracts.Register(ctx))
		w.wantTrouble(t, changed, "has other bytes")

		// An update of the program brings a version; also one that breaks, and both stay.
		next, _, _ := strings.Cut(strings.Replace(ownAPI, "1.0.0", "1.1.0", 1), "  /more")
		updated := w.program(t, next)
		must(t, updated.OwnContracts.Register(ctx))
		w.wantTrouble(t, updated, "")
		w.wantTrouble(t, first, "")

		_, err = updated.Contracts.Withdraw(ctx, w.admin, "own-api", "1.1.0", "for the test")
		must(t, err)
		w.wantTrouble(t, updated, "is withdrawn")
		must(t, updated.OwnContracts.Register(ctx))
	})
}

// What only the own organisation gets is described in the register, and not in the catalogue of partners.
func TestOwnContractInternal(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for _, internal := range []bool{true, false} {
			cfg := testConfig(t, w.db, w.clock)
			id := fmt.Sprintf("own-internal-%t", internal)
			cfg.OwnDocuments = []registry.OwnDocument{{ID: id, Title: "Own", Content: []byte(ownAPI), Internal: internal}}
			s, err := New(cfg, w.Accounts)
			must(t, err)
			must(t, s.OwnContracts.Register(t.Context()))
			_, _, err = s.Contracts.Original(t.Context(), registry.Reader{}, id, registry.Latest)
			if refused, ok := errors.AsType[*registry.Error](err); ok != internal || ok && refused.Code != registry.CodeNotFound {
				t.Errorf("%s: a stranger gets %v", id, err)
			}
			_, _, err = s.Contracts.Original(t.Context(), registry.Reader{Internal: true}, id, registry.Latest)
			must(t, err)
		}
	})
}

// Where somebody has the id already, the program starts and says so.
func TestOwnContractIDTaken(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		in := contractInput("own-api")
		_, err := w.Contracts.Create(context.WithoutCancel(t.Context()), w.admin, in) // of another kind
		must(t, err)
		s := w.program(t, ownAPI)
		must(t, s.OwnContracts.Register(t.Context()))
		w.wantTrouble(t, s, "is not published in the register")
	})
}

func TestOwnContractsUnreadable(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		cfg := testConfig(t, w.db, w.clock)
		cfg.OwnDocuments = []registry.OwnDocument{{ID: "own-api", Content: []byte("nothing")}}
		if _, err := New(cfg, w.Accounts); err == nil {
			t.Error("a document that says nothing was taken")
		}
	})
}
