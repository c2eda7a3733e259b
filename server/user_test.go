package main

import (
	"bytes"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/server/cli"
	"schakel/store"
)

// TestUserCommandsLeaveTraces: what the command line does to accounts and settings is in the audit trail and is mailed, as when the portal does it.
func TestUserCommandsLeaveTraces(t *testing.T) {
	t.Parallel()
	cfg := inDir(t.TempDir())
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	at := []string{"--database", cfg.Database, "--secret-key-file", cfg.SecretKeyFile}
	command := func(at []string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := execute(t.Context(), append(append([]string{"user"}, args...), at...), cli.Streams{Out: &out, Err: &out}); code != cli.ExitOK {
			t.Fatalf("%s: code %d: %s", args, code, out.String())
		}
		return out.String()
	}
	db := p.db
	ada := store.Account{Email: "ada@example.nl", Name: "Ada", Role: store.RoleAdministrator, Status: store.AccountActive, PasswordHash: "x"}
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertAccount(t.Context(), &ada); err != nil {
			return err
		}
		return tx.InsertFactor(t.Context(), &store.Factor{AccountID: ada.ID, Kind: store.FactorTOTP, Name: "Phone"})
	}); err != nil {
		t.Fatal(err)
	}
	command(at, "add", "--role", "administrator", "--name", "Eve", "eve@example.nl")
	command(at, "reset", "ada@example.nl")
	command(at, "reset-factors", "ada@example.nl")
	var out bytes.Buffer
	settings := cli.Streams{In: strings.NewReader("schakel-profile: 1\nidempotency:\n  ttl: 200h\n"), Out: &out, Err: &out}
	if code := execute(t.Context(), append([]string{"profile", "import", "-"}, at...), settings); code != cli.ExitOK {
		t.Fatalf("profile import: code %d: %s", code, out.String())
	}
	for _, action := range []string{registry.ActionAccountInvited, registry.ActionLinkMade, registry.ActionFactorsReset, registry.ActionProfileChanged} {
		entries, _, err := db.Audits(t.Context(), store.AuditFilter{Action: action})
		if err != nil || len(entries) != 1 || !strings.Contains(entries[0].ActorName, "command line") {
			t.Errorf("%s: %+v, %v", action, entries, err)
		}
	}
	if entries, _, _ := db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionPasswordAsked}); len(entries) != 0 {
		t.Errorf("a visitor is said to have asked: %+v", entries)
	}
	mails, _, err := db.Mails(t.Context(), store.Page{Number: 1, Size: 20})
	if err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, m := range mails {
		subjects = append(subjects, m.Recipient+": "+m.Subject)
	}
	for _, want := range []string{"ada@example.nl: The access of Eve", "ada@example.nl: A link to choose a password was made", "ada@example.nl: How you log in was changed", "ada@example.nl: The settings of the chain"} {
		if !strings.Contains(strings.Join(subjects, "\n"), want) {
			t.Errorf("no mail %q in %q", want, subjects)
		}
	}
	if said := command([]string{"--database", cfg.Database, "--secret-key-file", t.TempDir() + "/none"}, "add", "--name", "Bob", "bob@example.nl"); !strings.Contains(said, "nobody is mailed") {
		t.Errorf("without a key: %s", said)
	}
}
