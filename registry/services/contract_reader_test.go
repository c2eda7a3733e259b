package services

import (
	"slices"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/store"
)

// Rules: EDU-06d.
func TestContractVisibility(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		for _, visibility := range []string{"public", "partners", "internal"} {
			in := contractInput(visibility)
			in.Visibility = visibility
			if visibility == "internal" {
				in.OwnerPartnerID = p.ID
			}
			_, err := w.Contracts.Create(ctx, w.admin, in)
			must(t, err)
			for _, v := range []string{"1.0.0", "2.0.0-rc.1", "3.0.0"} {
				_, err = w.Contracts.Upload(ctx, w.admin, visibility, contracts.Upload{Content: asyncDocument(v, "nl.example.thing."+visibility)})
				must(t, err)
				if v != "3.0.0" {
					_, err = w.publish(ctx, w.admin, visibility, v, "")
					must(t, err)
				}
			}
		}
		_, err := w.Contracts.Create(ctx, w.admin, contracts.ContractInput{ID: "empty", Kind: "openapi", Title: "Empty", Visibility: "public"})
		must(t, err)
		pending := registry.Actor{Kind: registry.ActorAccount, PartnerID: w.register(t, "Wacht", "00000003223456780000", "x@wacht.example").ID}
		for name, tt := range map[string]struct {
			actor registry.Actor
			ids   []string
			types int
		}{
			"anyone":       {registry.Actor{}, []string{"public"}, 1},
			"not approved": {pending, []string{"public"}, 1},
			"partner":      {stranger, []string{"partners", "public"}, 2},
			"owner":        {actor, []string{"internal", "partners", "public"}, 3},
			"own client":   {registry.Actor{Kind: registry.ActorClient, PartnerID: w.own.ID}, []string{"internal", "partners", "public"}, 3},
			"admin":        {w.admin, []string{"empty", "internal", "partners", "public"}, 3},
		} {
			reader, err := w.Contracts.Reader(ctx, tt.actor)
			must(t, err)
			list, total, err := w.Contracts.List(ctx, reader, store.ContractFilter{})
			must(t, err)
			var ids []string
			for _, c := range list {
				ids = append(ids, c.ID)
				if c.ID != "empty" && c.Latest.Version != "1.0.0" {
					t.Errorf("%s: latest of %s is %s", name, c.ID, c.Latest.Version)
				}
			}
			slices.Sort(ids)
			if !slices.Equal(ids, tt.ids) || total != len(tt.ids) {
				t.Errorf("%s sees %v of %d", name, ids, total)
			}
			for _, id := range []string{"public", "partners", "internal", "empty"} {
				_, err := w.Contracts.Get(ctx, reader, id)
				if slices.Contains(tt.ids, id) != (err == nil) {
					t.Errorf("%s, %s: %v", name, id, err)
				}
				_, err = w.Contracts.Version(ctx, reader, id, "3.0.0")
				mayDraft := reader.Administrator && id != "empty" || name == "owner" && id == "internal"
				if mayDraft != (err == nil) {
					t.Errorf("%s, draft of %s: %v", name, id, err)
				}
			}
			if types, err := w.EventTypes.Catalogue(ctx, reader); err != nil || len(types) != tt.types {
				t.Errorf("%s: %d types, %v", name, len(types), err)
			}
			_, err = w.EventTypes.Get(ctx, reader, "nl.example.thing.partners")
			if (tt.types > 1) != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Only who maintains a contract changes it (EDU-21).
//
// Rules: EDU-21.
func TestOnlyTheOwnerPublishes(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		in := contractInput("noord-events")
		in.OwnerPartnerID = p.ID
		_, err := w.Contracts.Create(ctx, w.admin, in)
		must(t, err)
		own := registry.Actor{Kind: registry.ActorClient, Name: "Pipeline", PartnerID: w.own.ID}
		if _, err := w.Contracts.Create(ctx, own, contractInput("office-events")); err != nil {
			t.Errorf("a client of the own organisation: %v", err)
		}
		_, err = w.Contracts.Create(ctx, registry.Actor{Kind: registry.ActorVisitor}, contractInput("mine"))
		wantCode(t, "a visitor creates", registry.CodeForbidden, err)
		for name, tt := range map[string]struct {
			actor registry.Actor
			id    string
			code  string
		}{
			"owner": {actor, "noord-events", ""}, "stranger": {stranger, "noord-events", registry.CodeNotFound},
			"own client": {own, "noord-events", registry.CodeNotFound}, "own client on own": {own, "office-events", ""},
			"partner on own": {actor, "office-events", registry.CodeNotFound}, "nobody": {registry.Actor{}, "office-events", registry.CodeNotFound},
		} {
			content := asyncDocument("1.0.0", "nl.example.thing."+tt.id[:5])
			_, err := w.Contracts.Upload(ctx, tt.actor, tt.id, contracts.Upload{Content: content})
			wantCode(t, name+" uploads", tt.code, err)
		}
		_, err = w.publish(ctx, stranger, "noord-events", "1.0.0", "")
		wantCode(t, "stranger publishes", registry.CodeNotFound, err)
		_, err = w.publish(ctx, own, "office-events", "1.0.0", "")
		wantCode(t, "own client publishes", "", err)
		asked, err := w.publish(ctx, actor, "noord-events", "1.0.0", "")
		if wantCode(t, "owner publishes", "", err); asked.RequestedAt.IsZero() {
			t.Error("nobody is asked")
		}
		wider := in
		wider.Visibility, wider.Title, wider.OwnerPartnerID = store.VisibilityPublic, "Noord", ""
		c, err := w.Contracts.Update(ctx, actor, "noord-events", wider)
		if err != nil || c.Title != "Noord" || c.Visibility != store.VisibilityPartners || c.OwnerPartnerID != p.ID {
			t.Errorf("owner changed more than the words: %+v, %v", c, err)
		}
	})
}
