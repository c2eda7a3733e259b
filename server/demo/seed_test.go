package demo

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"schakel/delivery/mutation/area"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/storetest"
)

func newChain(t *testing.T, own Organisation, base string) *Chain {
	t.Helper()
	db := storetest.SQLite(t)
	vault, err := registry.OpenVault(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := identity.NewAccounts(db, time.Now, identity.WithWeakPasswords())
	if err != nil {
		t.Fatal(err)
	}
	services, err := services.New(registry.Config{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler), BaseURL: base, Organisation: own.Name,
		Vault: vault, CheckURL: func(string) error { return nil }, CheckWindows: window.Check,
		ServedKinds: []string{store.EndpointWebhook, store.EndpointAMQP, store.EndpointFiles},
		ReadArea:    area.Boundary, Profile: profile.LenientProfile(),
	}, accounts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := services.Partners.EnsureOwn(t.Context(), own.Name, own.OIN()); err != nil {
		t.Fatal(err)
	}
	return &Chain{Services: services, Password: "a long password of a test"}
}

// TestSeedShowsEveryState wants a partner and a subscription in each state.
func TestSeedShowsEveryState(t *testing.T) {
	t.Parallel()
	a, b := newChain(t, OwnA(), "http://a.example"), newChain(t, OwnB(), "http://b.example")
	receiver := NewReceiver("http://127.0.0.1:1", time.Now)
	made, err := Seed(t.Context(), a, b, "http://a.example", "http://b.example", receiver)
	if err != nil {
		t.Fatal(err)
	}
	if made.PublisherA.Secret == "" || made.PublisherB.Secret == "" || len(made.Partners) != 4 {
		t.Errorf("seeded %+v", made)
	}
	partners, err := a.Partners.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{store.PartnerRequested, store.PartnerApproved, store.PartnerSuspended, store.PartnerRejected, store.PartnerEnded} {
		if partners[status] == 0 {
			t.Errorf("no partner is %s", status)
		}
	}
	subscriptions, err := a.Subscriptions.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []string{
		store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused,
		store.SubscriptionSuspended, store.SubscriptionRejected, store.SubscriptionEnded,
	} {
		if subscriptions[status] == 0 {
			t.Errorf("no subscription is %s", status)
		}
	}
}
