package trial

import (
	"context"
	"log/slog"
	"time"

	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/registry"
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
}

// Open opens the database of a program.
func (s *Program) Open(t T, do func(db *store.DB)) {
	t.Helper()
	db, err := store.Open(t.Context(), s.Database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	do(db)
}

func (s *Program) chain(t T, db *store.DB) *demo.Chain {
	t.Helper()
	vault, err := registry.OpenVault(s.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.Check(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	accounts, err := registry.NewAccounts(db, time.Now, registry.WithWeakPasswords())
	if err != nil {
		t.Fatal(err)
	}
	services, err := registry.New(registry.Config{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler), BaseURL: s.Base, Organisation: s.Own.Name,
		Vault: vault, CheckURL: func(string) error { return nil }, CheckFilters: filter.Check, AllowOpenEndpoints: true,
		ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointAMQP, store.EndpointFiles}, ReadArea: area.Boundary,
	}, accounts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := services.Partners.EnsureOwn(t.Context(), s.Own.Name, s.Own.OIN()); err != nil {
		t.Fatal(err)
	}
	c := &demo.Chain{Services: services, Password: Password, Admin: registry.SystemActor()}
	if token, err := accounts.SetupLink(t.Context()); err != nil {
		t.Fatal(err)
	} else if token != "" {
		Must(t, c.Administrator(t.Context(), s.Own.Contact, s.Own.Email))
	}
	if !s.Checked {
		Must(t, takeAnyData(t, services.Profile))
	}
	return c
}

// takeAnyData turns the check of data off, once.
func takeAnyData(t T, profiles *registry.Profiles) error {
	state, err := profiles.Load(t.Context())
	if err != nil || state.Payload == registry.PolicyOff {
		return err
	}
	values := state.Values()
	values["events.payload"] = registry.PolicyOff
	_, _, err = profiles.Save(t.Context(), registry.SystemActor(), registry.ProfileChange{Version: state.Version, Values: values})
	return err
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
