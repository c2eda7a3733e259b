package trial

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/server/demo"
	"schakel/store"
)

// Password is that of every account in these tests.
const Password = "correct horse battery staple"

// SetUp makes what is agreed in the database of a program, beside the program or
// before it starts, through the services the portal uses.
func (s *Program) SetUp(t T, do func(c *demo.Chain)) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		c := s.chain(t, db)
		do(c)
	})
	s.awaitSettings(t)
}

// awaitSettings waits until a program that runs works by the settings that were saved beside it, which takes up to two
// seconds: it offers secrets then.
func (s *Program) awaitSettings(t T) {
	t.Helper()
	if s.ended == nil {
		return
	}
	Eventually(t, "the program takes over its settings", func() (bool, string) {
		select {
		case <-s.ended:
			return true, ""
		default:
		}
		a, err := s.Try(http.MethodGet, "/.well-known/oauth-authorization-server", "", nil, nil)
		return err != nil || strings.Contains(string(a.Body), profile.AuthSecretBasic), fmt.Sprint(string(a.Body), err)
	})
}

// Open opens the database of a program.
func (s *Program) Open(t T, do func(db *store.DB)) {
	t.Helper()
	db, err := store.Open(t.Context(), s.Database, store.Options{})
	Must(t, err)
	defer db.Close()
	Must(t, db.Migrate(t.Context()))
	do(db)
}

func (s *Program) chain(t T, db *store.DB) *demo.Chain {
	t.Helper()
	vault, err := registry.OpenVault(s.SecretKey)
	Must(t, err)
	Must(t, vault.Check(t.Context(), db))
	accounts, err := identity.NewAccounts(db, time.Now, identity.WithWeakPasswords())
	Must(t, err)
	services, err := services.New(registry.Config{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler), BaseURL: s.Base, Organisation: s.Own.Name,
		Vault: vault, CheckURL: func(string) error { return nil }, CheckFilters: filter.Check, AllowOpenEndpoints: true,
		ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles, store.EndpointInbox}, ReadArea: area.Boundary,
	}, accounts)
	Must(t, err)
	if _, err := services.Partners.EnsureOwn(t.Context(), s.Own.Name, s.Own.OIN()); err != nil {
		t.Fatal(err)
	}
	c := &demo.Chain{Services: services, Password: Password, Admin: registry.SystemActor()}
	if token, err := accounts.SetupLink(t.Context()); err != nil {
		t.Fatal(err)
	} else if token != "" {
		Must(t, c.Administrator(t.Context(), s.Own.Contact, s.Own.Email))
	}
	relaxed := map[string]string{"access.administrator_factor": registry.FactorOptional} // tests log in with a password alone
	for _, change := range profile.Relaxations(profile.LenientProfile()) {
		relaxed[change.Key] = change.After
	}
	if !s.Checked {
		relaxed["events.payload"] = registry.PolicyOff
	}
	Must(t, c.ChangeSettings(t.Context(), relaxed))
	return c
}

// Explain logs the deliveries that did not arrive.
func (s *Program) Explain(t T) {
	db, err := store.Open(context.Background(), s.Database, store.Options{})
	if err != nil {
		t.Logf("%v", err)
		return
	}
	defer db.Close()
	rows, total, err := db.Deliveries(context.Background(), store.DeliveryFilter{
		Statuses: []string{store.DeliveryPending, store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead}, Page: store.Page{Size: 5},
	})
	t.Logf("%d deliveries did not arrive %v", total, err)
	for _, d := range rows {
		t.Logf("%s of %s: %s, %d attempts, %s: %s", d.ID, d.EventType, d.Status, d.Attempts, d.Reason, d.Detail)
	}
}

// Organisation is a partner to be, with an e-mail address of its own.
func Organisation(name, kvk string) demo.Organisation {
	return demo.Organisation{Name: name, KVK: kvk, Contact: "Contact of " + name, Email: "contact@" + kvk + ".example"}
}
