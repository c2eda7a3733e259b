package amqp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/amqp/cpa"
	"schakel/store"
	"schakel/templates/i18n"
)

// Import lists what a CPA, a CPP or communication details would add or change here.
type Import struct {
	Kind     cpa.Kind
	Findings []i18n.Message // what is missing or odd in it, with the line
	Parties  []ImportParty
}

// ImportParty is a party of a document.
type ImportParty struct {
	Details cpa.Details
	// Party is our record of it; nil when nobody here has the HER-id.
	Party *store.AMQPParty
	// Changes describe what would be added or changed, and Asides what would not.
	Changes, Asides []i18n.Message
	// Open are the processes it supports that are not agreed here yet.
	Open []cpa.Process
}

// ReadImport lists what a document would add or change. It stores nothing. Fields: text.
func (a *AMQP) ReadImport(ctx context.Context, actor registry.Actor, document []byte) (Import, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return Import{}, err
	}
	doc, err := cpa.Parse(document)
	if err != nil {
		return Import{}, registry.Invalid(registry.Problems{"text": unreadable(err)})
	}
	in := Import{Kind: doc.Kind}
	for _, f := range doc.Findings {
		in.Findings = append(in.Findings, f.Message())
	}
	err = a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		for _, d := range doc.Parties {
			one, _, err := a.compareDetails(ctx, tx, doc.Kind, d, doc)
			if err != nil {
				return err
			}
			in.Parties = append(in.Parties, one)
			in.Findings = append(in.Findings, outdated(d, tx.Now.Time)...)
		}
		return nil
	})
	return in, err
}

// unreadable gives the reason for people why a document is of no use.
func unreadable(err error) i18n.Message {
	for _, known := range []struct {
		err  error
		text i18n.Message
	}{
		{cpa.ErrTooLarge, "amqp.cpa.too-large"},
		{cpa.ErrNotUTF8, "amqp.cpa.not-utf8"},
		{cpa.ErrNotProfile, "amqp.cpa.not-profile"},
		{cpa.ErrNoHerID, "amqp.cpa.no-her-id"},
		{cpa.ErrNoChannel, "amqp.cpa.no-channel"},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	if detail, ok := strings.CutPrefix(err.Error(), cpa.ErrNotXML.Error()+": "); ok {
		return i18n.M("amqp.cpa.not-read-detail", detail)
	}
	return "amqp.cpa.not-read"
}

// outdated says why an administrator may not want what a document says of a party any more, or not yet.
func outdated(d cpa.Details, now time.Time) []i18n.Message {
	her := strconv.Itoa(d.HerID)
	switch {
	case d.ValidAt(now):
		return nil
	case now.Before(d.ValidFrom):
		return []i18n.Message{i18n.M("amqp.import.not-yet-valid", her, d.ValidFrom.Format(time.DateOnly))}
	default:
		return []i18n.Message{i18n.M("amqp.import.not-valid-any-more", her, d.ValidUntil.Format(time.DateOnly))}
	}
}

// TakeImport takes what a document says of one party over: its queues, its certificates, and what the agreement says of the
// processes that are agreed here. The party must be here already. Fields: text.
func (a *AMQP) TakeImport(ctx context.Context, actor registry.Actor, document []byte, herID int64) (store.AMQPParty, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPParty{}, err
	}
	doc, err := cpa.Parse(document)
	if err != nil {
		return store.AMQPParty{}, registry.Invalid(registry.Problems{"text": unreadable(err)})
	}
	details, ok := doc.Party(int(herID))
	if !ok {
		return store.AMQPParty{}, registry.NotFound("party in this document")
	}
	there, err := a.cfg.DB.AMQPPartyByHerID(ctx, herID)
	if err != nil {
		return store.AMQPParty{}, registry.Found("party", err)
	}
	var differs []i18n.Message
	err = a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		one, _, err := a.compareDetails(ctx, tx, doc.Kind, details, doc)
		differs = one.Changes
		return err
	})
	if err != nil {
		return store.AMQPParty{}, err
	}
	taken := there
	asked := partyAsk{Change: asksImport, Document: document, HerID: herID}
	err = a.hold(ctx, actor, partyObject(there), asked, "amqp_party", there, there, differs, func(ctx context.Context) (err error) {
		taken, err = a.takeImport(ctx, actor, there.ID, doc, details)
		return err
	})
	return taken, err
}

func (a *AMQP) takeImport(ctx context.Context, actor registry.Actor, id string, doc cpa.Document, details cpa.Details) (store.AMQPParty, error) {
	return a.changeParty(ctx, actor, id, func(tx *store.Tx, row *store.AMQPParty) error {
		one, change, err := a.compareDetails(ctx, tx, doc.Kind, details, doc)
		if err != nil {
			return err
		}
		if len(one.Changes) == 0 {
			return registry.Conflict("amqp.import.like-this", row.Name)
		}
		*row = change.party
		return a.applyImport(ctx, tx, actor, row, change)
	})
}

type partyChange struct {
	party        store.AMQPParty
	certificates []enterprise
	processes    []store.AMQPProcess
	source, from string
}

func (a *AMQP) applyImport(ctx context.Context, tx *store.Tx, actor registry.Actor, row *store.AMQPParty, change partyChange) error {
	if err := a.checkParty(ctx, tx, actor, InputOfParty(*row), *row); err != nil {
		return err
	}
	if err := tx.UpdateAMQPParty(ctx, row); err != nil {
		return partyTaken(err)
	}
	if _, err := a.addCertificates(ctx, tx, actor, *row, change.certificates, change.source); err != nil {
		return err
	}
	for _, p := range change.processes {
		if err := tx.UpdateAMQPProcess(ctx, &p); err != nil {
			return fmt.Errorf("update process: %w", err)
		}
	}
	return registry.Record(ctx, tx, actor, registry.ActionPartyImported, partyObject(*row), registry.Details{"from": "the " + change.from})
}

// compareDetails holds what a document says of a party against what is here.
func (a *AMQP) compareDetails(ctx context.Context, tx *store.Tx, kind cpa.Kind, d cpa.Details, doc cpa.Document) (ImportParty, partyChange, error) {
	one := ImportParty{Details: d}
	row, err := tx.AMQPPartyByHerID(ctx, int64(d.HerID))
	if errors.Is(err, store.ErrNotFound) {
		return one, partyChange{}, nil
	}
	if err != nil {
		return one, partyChange{}, fmt.Errorf("find party: %w", err)
	}
	change := partyChange{party: row, source: store.AMQPFromCPA, from: string(kind)}
	if kind == cpa.Communication {
		change.source, change.party.RefreshedAt = store.AMQPRegistry, tx.Now
	}
	one.Party, change.party.Source = &row, change.source
	one.compareQueues(&change.party)
	if err := one.compareCertificates(ctx, tx, &change); err != nil {
		return one, change, err
	}
	if !row.Own {
		err = one.compareProcesses(ctx, tx, &change, doc)
	}
	return one, change, err
}

func (p *ImportParty) compareQueues(to *store.AMQPParty) {
	for _, q := range []struct {
		change, told string
		now          *string
	}{
		{"amqp.import.async-queue", p.Details.Queues.Async, &to.AsyncQueue},
		{"amqp.import.sync-queue", p.Details.Queues.Sync, &to.SyncQueue},
		{"amqp.import.error-queue", p.Details.Queues.Error, &to.ErrorQueue},
	} {
		if q.told != "" && q.told != *q.now {
			p.Changes = append(p.Changes, i18n.M(q.change, q.told, *q.now))
			*q.now = q.told
		}
	}
	if parent := int64(p.Details.ParentHerID); parent > 0 && parent != to.ParentHerID && parent != to.HerID {
		p.Changes = append(p.Changes, i18n.M("amqp.import.parent", strconv.FormatInt(parent, 10)))
		to.ParentHerID = parent
	}
}

func (p *ImportParty) compareCertificates(ctx context.Context, tx *store.Tx, change *partyChange) error {
	there, err := tx.AMQPCertificates(ctx, change.party.ID)
	if err != nil {
		return fmt.Errorf("list certificates: %w", err)
	}
	has := map[string]bool{}
	for _, row := range there {
		has[row.Thumbprint] = true
	}
	for _, c := range append(append([]*x509.Certificate{}, p.Details.Certificates.Sign...), p.Details.Certificates.Encrypt...) {
		name, print := c.Subject.CommonName, thumbprint(c)
		if has[print] {
			continue
		}
		has[print] = true
		switch why := checkEnterprise(c); {
		case change.party.Own:
			p.Asides = append(p.Asides, i18n.M("amqp.import.own-certificate", name))
		case why != "":
			p.Asides = append(p.Asides, why)
		default:
			p.Changes = append(p.Changes, added(c))
			change.certificates = append(change.certificates, enterprise{certificateChain: certificateChain{leaf: c}})
		}
	}
	return nil
}

// added tells that a certificate is added, and for what.
func added(c *x509.Certificate) i18n.Message {
	name, until := c.Subject.CommonName, c.NotAfter.UTC().Format(time.DateOnly)
	switch purposes := purposesOf(c); {
	case len(purposes) > 1:
		return i18n.M("amqp.import.sign-and-encrypt", name, until)
	case slices.Contains(purposes, store.AMQPSign):
		return i18n.M("amqp.import.sign", name, until)
	}
	return i18n.M("amqp.import.encrypt", name, until)
}

// compareProcesses puts what the agreement says on the processes that are agreed here (AMQP-27, AMQP-28, AMQP-31, AMQP-33).
func (p *ImportParty) compareProcesses(ctx context.Context, tx *store.Tx, change *partyChange, doc cpa.Document) error {
	rows, err := tx.AMQPProcesses(ctx, change.party.ID)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, row := range rows {
		told := ofSubject(p.Details.Processes, row.Subject)
		if len(told) == 0 {
			continue
		}
		now := row
		now.CPAID, now.Service, now.Source = p.Details.CPAID, told[0].Service, change.source
		now.FromRole, now.ToRole = agreedRoles(row, othersProcesses(doc, p.Details.HerID, row.Subject), told)
		if now.CPAID == row.CPAID && now.Service == row.Service && now.ToRole == row.ToRole && now.FromRole == row.FromRole {
			continue
		}
		p.Changes = append(p.Changes, i18n.M("amqp.import.process", row.Name))
		change.processes = append(change.processes, now)
	}
	for _, told := range p.Details.Processes {
		agreed := slices.ContainsFunc(rows, func(row store.AMQPProcess) bool { return strings.EqualFold(row.Subject, told.Subject) })
		if !agreed && len(ofSubject(p.Open, told.Subject)) == 0 {
			p.Open = append(p.Open, told)
		}
	}
	return nil
}

// ofSubject are the processes with a subject: one for each role that the party has in it.
func ofSubject(all []cpa.Process, subject string) []cpa.Process {
	var list []cpa.Process
	for _, one := range all {
		if strings.EqualFold(one.Subject, subject) {
			list = append(list, one)
		}
	}
	return list
}

// othersProcesses returns the processes of the other parties of an agreement.
func othersProcesses(doc cpa.Document, herID int, subject string) []cpa.Process {
	var list []cpa.Process
	for _, party := range doc.Parties {
		if party.HerID != herID {
			list = append(list, ofSubject(party.Processes, subject)...)
		}
	}
	return list
}

// agreedRoles are our role and theirs in a process. Where a party has more than one, who begins is the sender; a role that
// was chosen stays as long as the agreement has it.
func agreedRoles(row store.AMQPProcess, ours, theirs []cpa.Process) (from, to string) {
	if row.Sends != "" {
		return agreedRole(ours, row.FromRole, "sender"), agreedRole(theirs, row.ToRole, "receiver")
	}
	return agreedRole(ours, row.FromRole, "receiver"), agreedRole(theirs, row.ToRole, "sender")
}

func agreedRole(told []cpa.Process, now, usual string) string {
	if len(told) == 0 || slices.ContainsFunc(told, func(p cpa.Process) bool { return p.Role == now }) {
		return now
	}
	for _, one := range told {
		if strings.HasSuffix(strings.ToLower(one.Role), usual) {
			return one.Role
		}
	}
	return told[0].Role
}
