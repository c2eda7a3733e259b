package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/storetest"

	"github.com/prometheus/client_golang/prometheus"
)

// profileWorld runs the commands on one database.
type profileWorld struct{ database string }

func (w profileWorld) run(t *testing.T, want int, input string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"profile", args[0], "--database", w.database}, args[1:]...)
	if code := execute(t.Context(), args, cli.Streams{In: strings.NewReader(input), Out: &out, Err: &out}); code != want {
		t.Fatalf("%v: exit %d, want %d: %s", args, code, want, out.String())
	}
	return out.String()
}

// TestProfileCommands takes the settings of one Schakel to another.
func TestProfileCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := profileWorld{"sqlite:" + filepath.Join(dir, "a.db")}
	b := profileWorld{"sqlite:" + filepath.Join(dir, "b.db")}
	shown := a.run(t, cli.ExitOK, "", "show")
	for _, line := range strings.Split(shown, "\n") {
		if len(line) > 100 {
			t.Errorf("show does not fit 100 columns: %q", line)
		}
	}
	if strings.Contains(shown, "relaxed") || !strings.Contains(shown, "relax no rule") {
		t.Errorf("a fresh installation relaxes something:\n%s", shown)
	}
	for _, line := range []string{"idempotency.ttl", "EDU-21, OPEN-10", "sending.retry_waits"} {
		if !strings.Contains(shown, line) {
			t.Errorf("show lacks %q", line)
		}
	}
	file := a.run(t, cli.ExitOK, "", "export")
	changed := strings.Replace(file, "  require_key: require\n", "  require_key: warn\n", 1)
	path := filepath.Join(dir, "profile.yaml")
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	said := b.run(t, cli.ExitOK, "", "import", "--dry-run", path)
	if !strings.Contains(said, "idempotency.require_key: require -> warn (relaxes IDEM-02)") || !strings.Contains(said, "nothing was changed") {
		t.Errorf("dry run: %s", said)
	}
	if again := b.run(t, cli.ExitOK, "", "export"); again != file {
		t.Error("a dry run changed something")
	}
	if said = b.run(t, cli.ExitOK, changed, "import", "-", "--reason", "old systems"); !strings.Contains(said, "saved as version 1") {
		t.Errorf("import: %s", said)
	}
	if said = b.run(t, cli.ExitOK, "", "import", path); !strings.Contains(said, "nothing changes") {
		t.Errorf("the same again: %s", said)
	}
	if shown = b.run(t, cli.ExitOK, "", "show"); !strings.Contains(shown, "relaxed: profile") || !strings.Contains(shown, "1 setting asks less") {
		t.Errorf("show after the import:\n%s", shown)
	}
	out := filepath.Join(dir, "out.yaml")
	b.run(t, cli.ExitOK, "", "export", out)
	written, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(written), "  # RELAXED: the profile asks for require.\n  require_key: warn\n") {
		t.Errorf("export: %v %s", err, written)
	}
}

// TestProfileCommandRefusals: a bad file is told with its place, and nothing changes.
func TestProfileCommandRefusals(t *testing.T) {
	t.Parallel()
	w := profileWorld{"sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	for input, wants := range map[string]string{
		"":                                "The file is empty",
		"schakel-profile: 1\nevent: {}\n": `Line 2: There is no group "event". Did you mean events?`,
		"schakel-profile: 1\nidempotency:\n  ttl: 2h\n": "Line 3: idempotency.ttl: Choose from 24h to 672h",
	} {
		said := w.run(t, cli.ExitFailed, input, "import", "-")
		if !strings.Contains(said, wants) || !strings.Contains(said, "nothing was changed") {
			t.Errorf("%q: %s", input, said)
		}
	}
	w.run(t, cli.ExitFailed, "", "import", filepath.Join(t.TempDir(), "none.yaml"))
}

// TestProfileFlags: where nobody chose, the flags count, for the commands too.
func TestProfileFlags(t *testing.T) {
	t.Parallel()
	w := profileWorld{"sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	said := w.run(t, cli.ExitOK, "", "export", "--retry-waits", "1s,2s", "--max-event-bytes", "70000", "--max-batch-bytes", "70000", "--key-lifetime", "48h")
	for _, line := range []string{"retry_waits: 1s, 2s\n", "max_event_bytes: 70000\n", "max_batch_bytes: 70002\n", "ttl: 48h\n", "deadline: 48h\n"} {
		if !strings.Contains(said, line) {
			t.Errorf("export lacks %q", line)
		}
	}
}

// TestSettingsOfSending: each setting about sending reaches the engine, live.
func TestSettingsOfSending(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	profiles := profile.NewProfiles(db, clock.Now, registry.Profile{})
	policy, schedule := livePolicy(profiles), liveSchedule(profiles)
	saveProfile(t, profiles, map[string]string{
		"idempotency.ttl": "100h", "sending.circuit_failures": "3", "sending.circuit_wait": "7s", "sending.circuit_max_wait": "70s",
		"sending.retry_waits": "1m, 1h", "sending.max_attempts": "2", "sending.deadline": "90m", "sending.max_retry_after": "2h",
	})
	p, err := policy(t.Context())
	if err != nil || p.KeyLifetime != 100*time.Hour || p.Circuit.Failures != 3 || p.Circuit.Wait != 7*time.Second || p.Circuit.MaxWait != 70*time.Second {
		t.Errorf("policy %+v, %v", p, err)
	}
	s, err := schedule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	facts := func(attempt int) webhook.Facts {
		return webhook.Facts{Attempt: attempt, AcceptedAt: now, Now: now, Schedule: s, KeyExpiresAt: now.Add(100 * time.Hour)}
	}
	failed := webhook.Outcome{Status: 503}
	if d := webhook.Verdict(failed, facts(1)); d.Next != webhook.NextRetry || !d.RetryAt.Equal(now.Add(time.Minute)) {
		t.Errorf("retry_waits: %+v", d)
	}
	if d := webhook.Verdict(failed, facts(2)); d.Reason != webhook.ReasonAttempts {
		t.Errorf("max_attempts: %+v", d)
	}
	if d := webhook.Verdict(webhook.Outcome{Status: 503, RetryAfter: 2 * time.Hour}, facts(1)); d.Reason != webhook.ReasonDeadline {
		t.Errorf("deadline: %+v", d)
	}
	s.Deadline = 0
	if d := webhook.Verdict(webhook.Outcome{Status: 503, RetryAfter: 20 * time.Hour}, facts(1)); !d.RetryAt.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("max_retry_after: %+v", d)
	}
	saveProfile(t, profiles, map[string]string{"sending.circuit_failures": "0"})
	if p, err := policy(t.Context()); err != nil || p.Circuit.Failures != -1 {
		t.Errorf("never: %+v, %v", p, err)
	}
}

func saveProfile(t *testing.T, profiles *profile.Profiles, values map[string]string) {
	t.Helper()
	state, err := profiles.Load(t.Context())
	if err == nil {
		_, _, err = profiles.Save(t.Context(), registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEngineHeedsSettings: the engine of the program gives keys the lifetime of now.
//
// Rules: EDU-12, CE-50.
func TestEngineHeedsSettings(t *testing.T) {
	t.Parallel()
	p, err := build(t.Context(), inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.db.Close()
	saveProfile(t, p.registry.Profile, map[string]string{"idempotency.ttl": "30h", "sending.deadline": "30h"})
	dead := deadDelivery(t, p.db)
	if err := p.engine.Resend(t.Context(), outbox.Actor{Kind: registry.ActorSystem, Name: "Test"}, dead.ID); err != nil {
		t.Fatal(err)
	}
	again, err := p.db.Delivery(t.Context(), dead.ID)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(again.KeyExpiresAt.Time).Round(time.Hour); again.IdempotencyKey == dead.IdempotencyKey || left != 30*time.Hour {
		t.Errorf("the new key lives %s", left)
	}
}

// deadDelivery makes a delivery whose key is over.
func deadDelivery(t *testing.T, db *store.DB) store.Delivery {
	t.Helper()
	ctx := t.Context()
	d := store.Delivery{Status: store.DeliveryDead, IdempotencyKey: "spent", LastStatus: 400, EventType: "nl.example.x"}
	err := db.Write(ctx, func(tx *store.Tx) error {
		partner := store.Partner{Name: "Noord", Status: store.PartnerApproved}
		if err := tx.InsertPartner(ctx, &partner); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: partner.ID, Kind: store.EndpointWebhook, Name: "Main", Status: store.EndpointActive}
		if err := tx.InsertEndpoint(ctx, &endpoint); err != nil {
			return err
		}
		event := store.Event{ID: tx.NewID("evt"), PartnerID: partner.ID, CEID: "1", CESource: "urn:x", CEType: "nl.example.x", Attributes: []byte("{}"), Data: []byte{}, AcceptedAt: tx.Now}
		if _, err := tx.InsertEvents(ctx, []store.Event{event}); err != nil {
			return err
		}
		d.ID, d.EventID, d.EndpointID, d.PartnerID, d.DueAt, d.KeyExpiresAt = tx.NewID("dlv"), event.ID, endpoint.ID, partner.ID, tx.Now, tx.Now
		return tx.InsertDeliveries(ctx, []store.Delivery{d})
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAdviceMetric(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	count := adviceMetric(metrics)
	count("source-oin")
	count("source-oin")
	families, err := metrics.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "schakel_events_advice_total" || families[0].GetMetric()[0].GetCounter().GetValue() != 2 {
		t.Errorf("%v, %v", families, err)
	}
}
