package services

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
)

// Rules: EDU-14, CE-60.
func TestEndpointInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		for _, tt := range []struct {
			field string
			spoil func(*partners.EndpointInput)
		}{
			{"name", func(e *partners.EndpointInput) { e.Name = " " }},
			{"kind", func(e *partners.EndpointInput) { e.Kind = store.EndpointPull }},
			{"url", func(e *partners.EndpointInput) { e.URL = "http://noord.example/" }},
			{"contentMode", func(e *partners.EndpointInput) { e.ContentMode = "batch" }},
			{"tokenUrl", func(e *partners.EndpointInput) { e.TokenURL = "" }},
			{"tokenClientId", func(e *partners.EndpointInput) { e.TokenClientID = "" }},
			{"tokenSecret", func(e *partners.EndpointInput) { e.TokenSecret = "" }},
			{"tokenSecret", func(e *partners.EndpointInput) { e.TokenSecret = "two\nlines" }},
			{"tokenAuthMethod", func(e *partners.EndpointInput) { e.TokenAuthMethod = "" }},
			{"tokenAuthMethod", func(e *partners.EndpointInput) { e.TokenAuthMethod = registry.TokenAuthNone }},
			{"ratePerSecond", func(e *partners.EndpointInput) { e.RatePerSecond = -1 }},
			{"maxConcurrency", func(e *partners.EndpointInput) { e.MaxConcurrency = 65 }},
			{"timeoutSeconds", func(e *partners.EndpointInput) { e.TimeoutSeconds = 61 }},
		} {
			in := webhook()
			tt.spoil(&in)
			_, err := w.Endpoints.Create(t.Context(), actor, "", in)
			wantOneField(t, tt.field, tt.field, err)
		}
		w.configure(t, func(c *registry.Config) { c.AllowOpenEndpoints = true })
		open := w.Endpoints
		in := webhook()
		in.TokenAuthMethod = registry.TokenAuthNone
		if e, err := open.Create(t.Context(), actor, "", in); err != nil || e.TokenURL != "" || e.TokenSecret != "" {
			t.Errorf("open endpoint: %+v, %v", e, err)
		}
		in.TokenAuthMethod, in.TokenSecret = token.PrivateKeyJWT, ""
		if e, err := w.Endpoints.Create(t.Context(), actor, "", in); err != nil || e.TokenURL == "" {
			t.Errorf("private_key_jwt needs no secret: %+v, %v", e, err)
		}
	})
}

// Rules: EDU-14.
func TestEndpointSecret(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, actor)
		if strings.Contains(e.TokenSecret, "secret words") {
			t.Fatalf("the secret is stored in clear: %q", e.TokenSecret)
		}
		in := webhook()
		in.TokenSecret, in.URL = "", "https://noord.example:443/other"
		e, err := w.Endpoints.Update(ctx, actor, e.ID, in)
		must(t, err)
		if plain, err := w.Endpoints.TokenSecret(e); err != nil || plain != "top secret words" {
			t.Errorf("kept secret: %q, %v", plain, err)
		}
		for name, move := range map[string]func(*partners.EndpointInput){
			"webhook host": func(i *partners.EndpointInput) { i.URL = "https://evil.example/events" },
			"webhook port": func(i *partners.EndpointInput) { i.URL = "https://noord.example:8443/events" },
			"token host":   func(i *partners.EndpointInput) { i.TokenURL = "https://evil.example/token" },
		} {
			moved := webhook()
			moved.TokenSecret = ""
			move(&moved)
			_, err := w.Endpoints.Update(ctx, actor, e.ID, moved)
			if fieldsOf(err)["tokenSecret"] == "" {
				t.Errorf("%s: the secret follows: %v", name, err)
			}
			moved.TokenSecret = "another"
			if _, err := w.Endpoints.Update(ctx, actor, e.ID, moved); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := w.Endpoints.Update(ctx, actor, e.ID, webhook()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		in = webhook()
		in.TokenAuthMethod = token.PrivateKeyJWT
		if e, err = w.Endpoints.Update(ctx, actor, e.ID, in); err != nil || e.TokenSecret != "" {
			t.Errorf("a secret that is not used is kept: %+v, %v", e, err)
		}
	})
}

func TestEndpointTransitions(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, actor)
		verbs := map[string]func(registry.Actor) error{
			"pause":   func(a registry.Actor) error { return w.Endpoints.Pause(ctx, a, e.ID, "") },
			"resume":  func(a registry.Actor) error { return w.Endpoints.Resume(ctx, a, e.ID) },
			"suspend": func(a registry.Actor) error { return w.Endpoints.Suspend(ctx, a, e.ID, "too many failures") },
			"end":     func(a registry.Actor) error { return w.Endpoints.End(ctx, a, e.ID, "") },
		}
		allowed := map[string]string{ // who may: p partner, a administrator
			"active pause": "pa", "active suspend": "a", "active end": "pa", "paused resume": "pa", "paused suspend": "a",
			"paused end": "pa", "suspended resume": "a", "suspended end": "pa",
		}
		for _, state := range []string{"active", "paused", "suspended", "ended"} {
			for verb, do := range verbs {
				for who, by := range map[string]registry.Actor{"p": actor, "a": w.admin} {
					must(t, w.db.Write(ctx, func(tx *store.Tx) error {
						e.Status = state
						return tx.UpdateEndpoint(ctx, &e)
					}))
					err := do(by)
					if ok := strings.Contains(allowed[state+" "+verb], who); ok != (err == nil) {
						t.Errorf("%s %s by %s: %v", verb, state, who, err)
					}
				}
			}
		}
	})
}

// A partner resumes what it paused itself; what an administrator paused only an administrator resumes.
func TestEndpointPausedByAdministrator(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, actor)
		pausedBy := func() string {
			t.Helper()
			now, err := w.Endpoints.Get(ctx, actor.Scope(), e.ID)
			must(t, err)
			return now.Status + " " + now.PausedBy
		}
		must(t, w.Endpoints.Pause(ctx, w.admin, e.ID, "their log is full"))
		if got := pausedBy(); got != "paused "+w.admin.Name {
			t.Errorf("got %q", got)
		}
		wantCode(t, "by the partner", registry.CodeForbidden, w.Endpoints.Resume(ctx, actor, e.ID))
		_, err := w.Endpoints.Update(ctx, actor, e.ID, webhook())
		must(t, err)
		wantCode(t, "by the partner, after a change", registry.CodeForbidden, w.Endpoints.Resume(ctx, actor, e.ID))
		must(t, w.Endpoints.Resume(ctx, w.admin, e.ID))
		if got := pausedBy(); got != "active " {
			t.Errorf("got %q", got)
		}
		must(t, w.Endpoints.Pause(ctx, actor, e.ID, "maintenance"))
		if got := pausedBy(); got != "paused " {
			t.Errorf("got %q", got)
		}
		must(t, w.Endpoints.Resume(ctx, actor, e.ID))
	})
}

func TestEndpointSuspendedByEngine(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, actor)
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			e.Status, e.StatusReason = store.EndpointSuspended, "403 Forbidden"
			must(t, tx.UpdateEndpoint(ctx, &e))
			must(t, registry.Record(ctx, tx, registry.SystemActor(), registry.ActionEndpointSuspended, registry.ObjectOf("endpoint", e.ID, e.Name, e.PartnerID), nil))
			return w.Mails.EndpointSuspended(ctx, tx, e, "403 Forbidden")
		}))
		if m := w.mailsTo(t, "anna@noord.example")[0]; !strings.Contains(m.Body, "403 Forbidden") {
			t.Errorf("told as %q", m.Body)
		}
		must(t, w.Endpoints.Resume(ctx, actor, e.ID))
		w.clock.Advance(1000)
		must(t, w.Endpoints.Suspend(ctx, w.admin, e.ID, "by us"))
		wantCode(t, "an administrator's suspension", registry.CodeForbidden, w.Endpoints.Resume(ctx, actor, e.ID))
		must(t, w.Endpoints.Resume(ctx, w.admin, e.ID))
	})
}

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

// receiverAPI is the contract of a receiver whose webhook takes a media type.
func receiverAPI(version, media string) []byte {
	return []byte(`{"openapi":"3.1.0","info":{"title":"Receiver","version":"` + version + `"},"webhooks":{"events":{"$ref":"#/components/pathItems/events"}},
		"components":{"pathItems":{"events":{"post":{"requestBody":{"$ref":"#/components/requestBodies/events"},"responses":{"202":{"description":"Taken."}}}}},
		"requestBodies":{"events":{"content":{"` + media + `":{"schema":{"type":"array"}}}}}}}`)
}

func (w *world) receiverContract(t *testing.T) {
	t.Helper()
	_, err := w.Contracts.Create(t.Context(), w.admin, contracts.ContractInput{ID: "receiver", Kind: "openapi", Title: "Receiver", Visibility: store.VisibilityPartners})
	must(t, err)
	for version, media := range map[string]string{"1.0.0": "application/cloudevents+json", "2.0.0": "application/cloudevents-batch+json; charset=utf-8"} {
		_, err = w.Contracts.Upload(t.Context(), w.admin, "receiver", contracts.Upload{Content: receiverAPI(version, media)})
		must(t, err)
		_, err = w.publish(t.Context(), w.admin, "receiver", version, "")
		must(t, err)
	}
}

// Rules: EDU-11, CE-56.
func TestBatchesNeedAReceiverThatTakesThem(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		w.configure(t, func(c *registry.Config) {
			c.CheckWindows = func(text string) error { return errors.New(text + " is no time") }
		})
		w.catalogue(t)
		w.receiverContract(t)
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		for _, tt := range []struct {
			name, field string
			change      func(*partners.EndpointInput)
		}{
			{"stated", "", func(e *partners.EndpointInput) { e.BatchEvents, e.BatchStated = 100, true }},
			{"by contract", "", func(e *partners.EndpointInput) {
				e.BatchEvents, e.ContractID, e.ContractVersion = 100, "receiver", "2.0.0"
			}},
			{"by its latest version", "", func(e *partners.EndpointInput) { e.BatchEvents, e.ContractID = 100, "receiver" }},
			{"contract without batches", "", func(e *partners.EndpointInput) { e.ContractID, e.ContractVersion = "receiver", "1.0.0" }},
			{"nothing shows it", "batchStated", func(e *partners.EndpointInput) { e.BatchEvents = 100 }},
			{"contract says otherwise", "batchEvents", func(e *partners.EndpointInput) {
				e.BatchEvents, e.ContractID, e.ContractVersion, e.BatchStated = 100, "receiver", "1.0.0", true
			}},
			{"no such version", "contractId", func(e *partners.EndpointInput) { e.ContractID, e.ContractVersion = "receiver", "3.0.0" }},
			{"no such contract", "contractId", func(e *partners.EndpointInput) { e.ContractID = "other" }},
			{"not an OpenAPI", "contractId", func(e *partners.EndpointInput) { e.ContractID = "student-events" }},
			{"one event", "batchEvents", func(e *partners.EndpointInput) { e.BatchEvents, e.BatchStated = 1, true }},
			{"too many events", "batchEvents", func(e *partners.EndpointInput) { e.BatchEvents, e.BatchStated = 1001, true }},
			{"too small", "batchBytes", func(e *partners.EndpointInput) { e.BatchEvents, e.BatchBytes, e.BatchStated = 2, 65537, true }},
			{"too long", "batchWaitSeconds", func(e *partners.EndpointInput) { e.BatchEvents, e.BatchWaitSeconds, e.BatchStated = 2, 61, true }},
			{"windows", "windows", func(e *partners.EndpointInput) { e.Windows = "never" }},
		} {
			in := webhook()
			tt.change(&in)
			e, err := w.Endpoints.Create(t.Context(), actor, "", in)
			f := fieldsOf(err)
			if tt.field != "" {
				if len(f) != 1 || f[tt.field] == "" {
					t.Errorf("%s: %v %v", tt.name, err, f)
				}
				continue
			}
			if err != nil || e.BatchEvents != in.BatchEvents || e.BatchStated != in.BatchStated || e.ContractID != in.ContractID || e.ContractVersion == registry.Latest {
				t.Errorf("%s: %+v, %v", tt.name, e, err)
			}
		}
		in := webhook()
		in.BatchEvents, in.ContractID = 100, "receiver"
		e, err := w.Endpoints.Create(t.Context(), actor, "", in)
		must(t, err)
		_, err = w.Contracts.Withdraw(t.Context(), w.admin, "receiver", "2.0.0", "it was wrong")
		must(t, err)
		in.Name, in.ContractVersion, in.TokenSecret = "Renamed", e.ContractVersion, ""
		if _, err := w.Endpoints.Update(t.Context(), actor, e.ID, in); err != nil {
			t.Errorf("another change after the contract was withdrawn: %v", err)
		}
		in.ContractVersion = "1.0.0"
		if _, err := w.Endpoints.Update(t.Context(), actor, e.ID, in); fieldsOf(err)["batchEvents"] == "" {
			t.Errorf("another contract, without batches: %v", err)
		}
	})
}

// Who approves a changed destination undoes no change of what proves us there that came after it was asked: another scope or secret that counts by now
// stays, and the change is stale. The same secret sealed by another key is no other.
func TestApprovalUndoesNoOtherProof(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		e := w.endpoint(t, anna)
		must(t, w.set(t, registry.SystemActor(), "sending.new_destination", "approval"))
		for _, test := range []struct {
			what   string
			change func(in *partners.EndpointInput)
			status string
		}{
			{"the scope", func(in *partners.EndpointInput) { in.TokenScope = "less" }, store.MoveStale},
			{"the secret", func(in *partners.EndpointInput) { in.TokenScope, in.TokenSecret = "less", "one that did not leak" }, store.MoveStale},
			{"the rate", func(in *partners.EndpointInput) {
				in.TokenScope, in.TokenSecret, in.RatePerSecond = "less", "one that did not leak", 7
			}, store.MoveDone},
		} {
			asked := webhook()
			asked.URL, asked.TokenScope = "https://new.noord.example/events", "everything"
			_, err := w.Endpoints.Update(ctx, anna, e.ID, asked)
			must(t, err)
			move, _, err := w.Endpoints.Move(ctx, anna.Scope(), e.ID)
			must(t, err)
			changed := webhook()
			test.change(&changed)
			before, err := w.Endpoints.Update(ctx, registry.SystemActor(), e.ID, changed)
			must(t, err)
			must(t, w.Endpoints.ApproveMove(ctx, w.admin, e.ID, move.ID))
			now, err := w.db.Endpoint(ctx, e.ID)
			must(t, err)
			if move, _, err = w.Endpoints.Move(ctx, anna.Scope(), e.ID); err != nil || move.Status != test.status {
				t.Errorf("%s changed: the approval is %s, %v", test.what, move.Status, err)
			}
			if test.status == store.MoveStale && (now.URL != before.URL || now.TokenScope != before.TokenScope || now.TokenSecret != before.TokenSecret) {
				t.Errorf("%s changed, and an approval undid it: %s, %q", test.what, now.URL, now.TokenScope)
			}
		}
	})
}
