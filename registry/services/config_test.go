package services

import (
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store/storetest"
)

func TestNewWantsItsParts(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	accounts, err := identity.NewAccounts(db, clock.Now, identity.WithWeakPasswords())
	must(t, err)
	for name, spoil := range map[string]func(*registry.Config){
		"db": func(c *registry.Config) { c.DB = nil }, "clock": func(c *registry.Config) { c.Now = nil }, "vault": func(c *registry.Config) { c.Vault = nil },
		"url check": func(c *registry.Config) { c.CheckURL = nil }, "base URL": func(c *registry.Config) { c.BaseURL = "" },
		"organisation": func(c *registry.Config) { c.Organisation = "" }, "log": func(c *registry.Config) { c.Log = nil },
	} {
		cfg := testConfig(t, db, clock)
		spoil(&cfg)
		if _, err := New(cfg, accounts); err == nil {
			t.Errorf("without %s: taken", name)
		}
	}
	if _, err := New(testConfig(t, db, clock), nil); err == nil {
		t.Error("without accounts: taken")
	}
	s, err := New(testConfig(t, db, clock), accounts)
	must(t, err)
	if len(s.Endpoints.ServedKinds()) != 1 || len(s.Clients.AuthMethods(t.Context())) != 2 || s.Partners.TermsVersion() != "1" {
		t.Errorf("defaults: %v, %v, %q", s.Endpoints.ServedKinds(), s.Clients.AuthMethods(t.Context()), s.Partners.TermsVersion())
	}
	if _, err := s.Partners.EnsureOwn(t.Context(), "Office", "123"); err == nil {
		t.Error("a wrong OIN of one's own is taken")
	}
	own, err := s.Partners.EnsureOwn(t.Context(), "Office", goodOIN)
	must(t, err)
	again, err := s.Partners.EnsureOwn(t.Context(), "Office two", goodOIN)
	if err != nil || again.ID != own.ID || again.Name != "Office two" {
		t.Errorf("got %+v, %v", again, err)
	}
	if got, err := s.Partners.Own(t.Context()); err != nil || got.Name != "Office two" {
		t.Errorf("got %+v, %v", got, err)
	}
}
