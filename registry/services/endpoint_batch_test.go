package services

import (
	"errors"
	"testing"

	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
)

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
