package amqp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// mailParty tells the managers of a partner and the administrators when messages of a party go to another queue, other certificates count, or a
// process makes other messages go out or come in. What the
// address registry says is nobody's change.
func (a *AMQP) mailParty(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after partyState) error {
	if actor.Kind == registry.ActorSystem {
		return nil
	}
	owner, err := tx.Partner(ctx, after.PartnerID)
	if err != nil {
		return registry.Found("partner", err)
	}
	changes := append(partyChanges(before, after), processChanges(before.processes, after.processes)...)
	pages := registry.ChangePages{Administrator: "/admin/amqp/parties/" + after.ID, Partner: "/partner/amqp/parties/" + after.ID}
	if owner.Own {
		pages.Partner = pages.Administrator
	}
	return a.cfg.MailChange(ctx, tx, actor, after.PartnerID, i18n.M("amqp.mail.party-subject", after.Name, owner.Name), pages, changes)
}

// partyChanges lists in what two states of a party send elsewhere, or are read by others.
func partyChanges(before, after partyState) []registry.Change {
	write := i18n.Message("amqp.party.async-queue")
	if after.Kind == store.AMQPCloudEvents {
		write = "amqp.party.outbound-queue"
	}
	return registry.Differences(
		registry.ChangeOf("amqp.label.broker", before.broker, after.broker),
		registry.ChangeOf("amqp.label.her-id", herText(before.HerID), herText(after.HerID)),
		registry.ChangeOf(write, before.AsyncQueue, after.AsyncQueue),
		registry.ChangeOf("amqp.party.sync-queue", before.SyncQueue, after.SyncQueue),
		registry.ChangeOf("amqp.party.reply-queue", before.ReplyQueue, after.ReplyQueue),
		registry.ChangeOf("amqp.party.error-queue", before.ErrorQueue, after.ErrorQueue),
		registry.ChangeOf("amqp.party.inbound-queue", before.InboundQueue, after.InboundQueue),
		registry.ChangeOf("amqp.party.client", before.ClientID, after.ClientID),
		registry.ChangeOf("amqp.certificate.certificates", before.certificates, after.certificates),
	)
}

// partyState is a party with what a mail tells of it.
type partyState struct {
	store.AMQPParty
	broker, certificates string
	processes            []store.AMQPProcess
}

// processChanges compares the processes of a party, each by what goes out and comes in by it.
func processChanges(before, after []store.AMQPProcess) []registry.Change {
	var changes []registry.Change
	compare := func(p store.AMQPProcess, was, is string) {
		changes = append(changes, registry.ChangeOf(i18n.M("amqp.mail.process", p.Name), was, is))
	}
	for _, p := range before {
		i := slices.IndexFunc(after, func(other store.AMQPProcess) bool { return other.ID == p.ID })
		if i < 0 {
			compare(p, exchanged(p), "")
		} else {
			compare(after[i], exchanged(p), exchanged(after[i]))
		}
	}
	for _, p := range after {
		if !slices.ContainsFunc(before, func(other store.AMQPProcess) bool { return other.ID == p.ID }) {
			compare(p, "", exchanged(p))
		}
	}
	return registry.Differences(changes...)
}

// exchanged writes what a process lets through, and as what: its subject and mode, and what goes out (→) and comes in (←), by the codes that forms show.
func exchanged(p store.AMQPProcess) string {
	parts := []string{p.Name, p.Subject, p.Mode}
	if p.Sends != "" {
		parts = append(parts, "→ "+p.Sends)
	}
	if p.Receives != "" {
		parts = append(parts, "← "+p.Receives)
	}
	for _, one := range []string{p.HandlerID, p.OwnPartyID, p.CPAID, p.Service, p.Action, p.FromRole, p.ToRole} {
		if one != "" {
			parts = append(parts, one)
		}
	}
	return strings.Join(parts, ", ")
}

func stateOf(ctx context.Context, q *store.Queries, row store.AMQPParty) (partyState, error) {
	s := partyState{AMQPParty: row}
	certificates, err := q.AMQPCertificates(ctx, row.ID)
	if err != nil {
		return s, fmt.Errorf("list certificates: %w", err)
	}
	var names []string
	for _, c := range certificates {
		names = append(names, c.Subject+" ("+c.Thumbprint+")")
	}
	s.certificates = strings.Join(names, ", ")
	if s.processes, err = q.AMQPProcesses(ctx, row.ID); err != nil {
		return s, fmt.Errorf("list processes: %w", err)
	}
	b, err := q.AMQPBroker(ctx, row.BrokerID)
	s.broker = b.Name + ", " + b.URL // anybody who adds a broker chooses its name
	return s, registry.Wrap("find broker", err)
}

func herText(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}

// mailBroker tells the administrators when messages go by another broker, or when we prove ourselves otherwise there.
func (a *AMQP) mailBroker(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.AMQPBroker) error {
	changes := brokerChanges(before, after)
	return a.cfg.MailChange(ctx, tx, actor, "", i18n.M("amqp.mail.broker-subject", after.Name), registry.ChangePages{Administrator: "/admin/amqp/brokers/" + after.ID}, changes)
}

// brokerChanges lists in what two states of a broker lead elsewhere, or prove us otherwise there.
func brokerChanges(before, after store.AMQPBroker) []registry.Change {
	changes := registry.Differences(
		registry.ChangeOf("amqp.label.address", before.URL, after.URL),
		registry.ChangeOf("amqp.broker.namespace", before.Namespace, after.Namespace),
		registry.ChangeOf("amqp.broker.method", before.SASL, after.SASL),
		registry.ChangeOf("amqp.broker.username", before.Username, after.Username),
	)
	for _, secret := range []struct {
		what     i18n.Message
		was, now string
	}{
		{"amqp.broker.password", before.Secret, after.Secret}, {"amqp.broker.authorities", before.CA, after.CA}, {"amqp.broker.certificate", before.Certificate, after.Certificate},
	} {
		if secret.was != secret.now {
			changes = append(changes, registry.Change{What: secret.what, Replaced: true})
		}
	}
	return changes
}
