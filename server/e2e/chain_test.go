package e2e

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"schakel/registry"
	"schakel/server/demo"
	"schakel/store"
)

// password is that of every account in these tests.
const password = "correct horse battery staple"

// setUp makes what is agreed in the database of a program, beside the program or
// before it starts, through the services the portal uses.
func (s *program) setUp(t testing.TB, do func(c *demo.Chain)) {
	t.Helper()
	s.open(t, func(db *store.DB) {
		c := s.chain(t, db)
		do(c)
	})
}

// open opens the database of a program.
func (s *program) open(t testing.TB, do func(db *store.DB)) {
	t.Helper()
	db, err := store.Open(t.Context(), s.database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	do(db)
}

func (s *program) chain(t testing.TB, db *store.DB) *demo.Chain {
	t.Helper()
	vault, err := registry.OpenVault(s.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.Check(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	accounts, err := registry.NewAccounts(db, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	services, err := registry.New(registry.Config{
		DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler), BaseURL: s.base, Organisation: s.own.Name,
		Vault: vault, CheckURL: func(string) error { return nil },
	}, accounts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := services.Partners.EnsureOwn(t.Context(), s.own.Name, s.own.OIN()); err != nil {
		t.Fatal(err)
	}
	c := &demo.Chain{Services: services, Password: password, Admin: registry.SystemActor()}
	if token, err := accounts.SetupLink(t.Context()); err != nil {
		t.Fatal(err)
	} else if token != "" {
		must(t, c.Administrator(t.Context(), s.own.Contact, s.own.Email))
	}
	return c
}

// explain logs the deliveries that did not arrive.
func (s *program) explain(t testing.TB) {
	db, err := store.Open(context.Background(), s.database, store.Options{})
	if err != nil {
		t.Log(err)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must1 is must for a function that gives something too.
func must1[V any](t testing.TB) func(V, error) V {
	t.Helper()
	return func(v V, err error) V {
		t.Helper()
		must(t, err)
		return v
	}
}

func organisation(name, kvk string) demo.Organisation {
	return demo.Organisation{Name: name, KVK: kvk, Contact: "Contact of " + name, Email: "contact@" + kvk + ".example"}
}
