package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/registry/audit"
	"schakel/server/cli"
	"schakel/store"
)

// The commands check the trail of a database, with a checkpoint that was kept elsewhere and without the key; a change is named, and the
// exit codes part what was found from what could not be done.
func TestAuditCommands(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	db, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	says(t, cli.ExitFailed, "no entries yet", "audit", "checkpoint", "--database", database, "--secret-key-file", key)
	for range 3 {
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertAudit(t.Context(), store.Audit{ActorKind: "system", Action: "x.done"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	verify := []string{"audit", "verify", "--database", database, "--secret-key-file"}
	says(t, cli.ExitOK, "nothing was signed yet", append(verify, key)...)
	code, checkpoint, _ := command(t, "audit", "checkpoint", "--database", database, "--secret-key-file", key)
	if code != cli.ExitOK || !strings.HasPrefix(checkpoint, "schakel-audit-checkpoint/1\n") {
		t.Fatalf("exit code %d, %s", code, checkpoint)
	}
	kept := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.WriteFile(kept, []byte(checkpoint), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitOK, "passed 1 checkpoint in the database and 1 checkpoint kept elsewhere", append(verify, key, "--checkpoint", kept)...)
	says(t, cli.ExitOK, "which the key file of this installation opens", append(verify, key)...)
	says(t, cli.ExitOK, "that is not proved", append(verify, key+".none")...)
	_, pool := db.Pools()
	if _, err := pool.ExecContext(t.Context(), `UPDATE audit SET action = 'x.undone' WHERE seq = 2`); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitFailed, "entry 2 (", append(verify, key)...)
	says(t, cli.ExitUsage, "signature of the checkpoint is wrong", append(verify, key, "--checkpoint", broken(t, checkpoint))...)
	says(t, cli.ExitUsage, "there is no database", "audit", "verify", "--database", database+".none")
}

func broken(t *testing.T, checkpoint string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(name, []byte(strings.Replace(checkpoint, "seq: 3", "seq: 9", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// An export has every entry once, whole and with its hash, however often it is run and wherever it was killed; entries that retention took
// before are told.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	db, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	add := func(action string) {
		if err := db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertAudit(store.WithAddress(t.Context(), "192.0.2.1"), store.Audit{ActorKind: "account", ActorName: "Anna <A>", Action: action, Detail: `{"reason":"\u00e9 & more"}`})
		}); err != nil {
			t.Fatal(err)
		}
	}
	add("account.login-failed")
	add("event.data-read")
	file := filepath.Join(t.TempDir(), "audit.ndjson")
	export := []string{"audit", "export", "--database", database, "--secret-key-file", key, "--to", file}
	says(t, cli.ExitOK, "added 2 entries", export...)
	add("route.added")
	killed, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = killed.WriteString(`{"seq":3,"eventId":"aud`)
	}
	if err != nil {
		t.Fatal(err)
	}
	killed.Close()
	says(t, cli.ExitOK, "added 1 entry", export...)
	says(t, cli.ExitOK, "added 0 entries", export...)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prev, codes := "", ""
	for line := range strings.Lines(string(content)) {
		var l audit.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		entry, err := l.Entry()
		if err != nil || l.PrevHash != prev || l.Hash != store.AuditHash(prev, entry) || l.Address != "192.0.2.1" || l.AddressType != 2 {
			t.Errorf("line %s, %v", line, err)
		}
		prev = l.Hash
		codes += fmt.Sprintf("%d%s%d ", l.Seq, l.ActionCode, l.Outcome)
	}
	if codes != "1E4 2R0 3C0 " {
		t.Errorf("lines %s", codes)
	}
	says(t, cli.ExitOK, `"seq":3`, "audit", "export", "--database", database, "--after", "2")
	says(t, cli.ExitUsage, "a file tells itself", append(export, "--after", "2")...)
	add("route.removed")
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.PruneAudit(t.Context(), store.At(tx.Now.Add(time.Hour)), "", 100)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	add("route.added")
	says(t, cli.ExitFailed, "entries 4 to 4 are missing", export...)
	says(t, cli.ExitUsage, "no export of the audit trail", "audit", "export", "--database", database, "--to", key)
	messages := []string{"audit", "export", "--database", database, "--form", "syslog", "--to", file + ".syslog"}
	says(t, cli.ExitOK, "added 1 entry", messages...)
	says(t, cli.ExitOK, "added 0 entries", messages...)
	says(t, cli.ExitUsage, "no export of the audit trail in this form", "audit", "export", "--database", database, "--form", "cloudevents", "--source", "urn:x", "--to", file+".syslog")
	says(t, cli.ExitUsage, "give --source", "audit", "export", "--database", database, "--form", "cloudevents")
	says(t, cli.ExitOK, `"source":"urn:x"`, "audit", "export", "--database", database, "--form", "cloudevents", "--source", "urn:x")
}
