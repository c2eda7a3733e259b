package main

import (
	"testing"

	"schakel/registry/installation"
	"schakel/store"
)

// A database, mail server or broker elsewhere without TLS, or whose name nobody checks, is told; what is on this machine is not.
func TestLinksWithoutTLSAreTold(t *testing.T) {
	t.Parallel()
	for database, want := range map[string]string{
		"sqlite:x.db":                                 "",
		"postgres://db.example/s":                     "plain", // sslmode=prefer
		"postgres://127.0.0.1/s":                      "",
		"postgres:///s?host=/run/p":                   "",
		"postgres://db.example/s?sslmode=disable":     "plain",
		"postgres://db.example/s?sslmode=require":     "unverified",
		"postgres://db.example/s?sslmode=verify-full": "",
	} {
		got := ""
		for _, l := range databaseLink(database) {
			if got = "plain"; l.Encrypted {
				got = "unverified"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", database, got, want)
		}
	}
	e := &examiner{flags: InstallationFlags{DatabaseFlags: DatabaseFlags{Database: "postgres://db.example/s?sslmode=require"}, MailFlags: MailFlags{SMTPHost: "mail.example", SMTPTLS: "none"}}}
	w := newAuditWorld(t)
	e.db = w.db
	if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
		for name, address := range map[string]string{"Chain": "amqp://broker.example:5672", "Here": "amqp://localhost:5672", "Safe": "amqps://broker.example:5671"} {
			if err := tx.InsertAMQPBroker(t.Context(), &store.AMQPBroker{Name: name, Dialect: "rabbitmq", URL: address, SASL: "plain", Enabled: true}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, f := range installation.Judge(&installation.Facts{Surroundings: installation.Surroundings{Links: e.links(t.Context())}}).Findings() {
		told[f.Code+" "+f.Remedy.String()]++
	}
	if len(told) != 3 || told["connection-plain Set --smtp-tls to starttls or implicit."] != 1 || told["connection-plain Give the broker an address with amqps:// on its page."] != 1 {
		t.Errorf("told %v", told)
	}
}
