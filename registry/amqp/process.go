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

// ProcessInput holds a process that a counterpart and an own party both chose to support (AMQP-09).
type ProcessInput struct {
	OwnPartyID string
	Name       string
	Subject    string // code of list 8279, one of the setting amqp.subjects (AMQP-21)
	Mode       string // async or sync
	// Service, Action, CPAID and the roles go with each message, as the CPA says (AMQP-27, AMQP-28, AMQP-31, AMQP-33).
	Service, Action, CPAID string
	FromRole, ToRole       string // ours, theirs
	Sends                  string // the event type that goes out by it, or empty
	Receives               string // the event type of what comes in by it, or empty
	HandlerID              string // of a synchronous one: the webhook of the own organisation that answers, or empty
}

// InputOfProcess is a process as it is, to be changed.
func InputOfProcess(p store.AMQPProcess) ProcessInput {
	return ProcessInput{
		OwnPartyID: p.OwnPartyID, Name: p.Name, Subject: p.Subject, Mode: p.Mode, Service: p.Service, Action: p.Action, CPAID: p.CPAID,
		FromRole: p.FromRole, ToRole: p.ToRole, Sends: p.Sends, Receives: p.Receives, HandlerID: p.HandlerID,
	}
}

// AddProcess agrees a process with a counterpart. Fields: ownPartyId, name, subject, mode, service, action, cpaId, fromRole,
// toRole, sends, receives, handlerId.
func (a *AMQP) AddProcess(ctx context.Context, actor registry.Actor, partyID string, in ProcessInput) (store.AMQPProcess, error) {
	row := store.AMQPProcess{PartyID: partyID, Source: store.AMQPEntered}
	err := a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		if err := a.checkProcess(ctx, tx, in, row, there); err != nil {
			return err
		}
		if len(there) >= maxProcesses {
			return registry.Conflict("amqp.process.too-many", maxProcesses)
		}
		in.fill(&row)
		if err := tx.InsertAMQPProcess(ctx, &row); err != nil {
			return fmt.Errorf("add process: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionProcessAdded, partyObject(p), processDetails(row))
	})
	return row, err
}

// UpdateProcess changes a process of a counterpart. Fields: as AddProcess.
func (a *AMQP) UpdateProcess(ctx context.Context, actor registry.Actor, partyID, id string, in ProcessInput) (store.AMQPProcess, error) {
	var row store.AMQPProcess
	err := a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		i := slices.IndexFunc(there, func(one store.AMQPProcess) bool { return one.ID == id })
		if i < 0 {
			return registry.NotFound("process")
		}
		row = there[i]
		if err := a.checkProcess(ctx, tx, in, row, there); err != nil {
			return err
		}
		in.fill(&row)
		if err := tx.UpdateAMQPProcess(ctx, &row); err != nil {
			return fmt.Errorf("update process: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionProcessChanged, partyObject(p), processDetails(row))
	})
	return row, err
}

// RemoveProcess ends a process: nothing is sent or taken by it any more.
func (a *AMQP) RemoveProcess(ctx context.Context, actor registry.Actor, partyID, id string) error {
	return a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		i := slices.IndexFunc(there, func(one store.AMQPProcess) bool { return one.ID == id })
		if i < 0 {
			return registry.NotFound("process")
		}
		if err := tx.DeleteAMQPProcess(ctx, partyID, id); err != nil {
			return registry.Found("process", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionProcessRemoved, partyObject(p), processDetails(there[i]))
	})
}

// changeProcesses hands an administrator the processes of a counterpart, kept from change by others meanwhile.
func (a *AMQP) changeProcesses(ctx context.Context, actor registry.Actor, partyID string, fn func(*store.Tx, store.AMQPParty, []store.AMQPProcess) error) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	_, err := a.changeParty(ctx, actor, partyID, func(tx *store.Tx, p *store.AMQPParty) error {
		if p.Own || p.Kind != store.AMQPHealth {
			return registry.Conflict("amqp.process.party-bad")
		}
		there, err := tx.AMQPProcesses(ctx, partyID)
		if err != nil {
			return fmt.Errorf("list processes: %w", err)
		}
		return fn(tx, *p, there)
	})
	return err
}

// checkProcess judges input for a process that is now as row, among those that are there.
func (a *AMQP) checkProcess(ctx context.Context, tx *store.Tx, in ProcessInput, row store.AMQPProcess, there []store.AMQPProcess) error {
	state, err := a.profile.InForce(ctx)
	if err != nil {
		return err
	}
	wrong := in.check(state.AMQPSubjects, row.Subject)
	if own, err := tx.AMQPParty(ctx, in.OwnPartyID); err != nil || !own.Own {
		wrong.Add("ownPartyId", "amqp.process.own-party-bad")
	}
	if in.HandlerID != "" {
		e, err := tx.Endpoint(ctx, in.HandlerID)
		own, errOwn := tx.OwnPartner(ctx)
		wrong.AddIf(err != nil || errOwn != nil || e.PartnerID != own.ID || e.Kind != store.EndpointWebhook || e.Status == store.EndpointEnded,
			"handlerId", "amqp.process.handler-bad")
	}
	for _, other := range there {
		in.checkBeside(other, row.ID, wrong)
	}
	if err := in.checkRecipient(ctx, tx, row, wrong); err != nil {
		return err
	}
	return wrong.Err()
}

// checkBeside keeps it plain which process a message belongs to.
func (in ProcessInput) checkBeside(other store.AMQPProcess, id string, wrong registry.Problems) {
	if other.ID == id {
		return
	}
	wrong.AddIf(in.Sends != "" && other.Sends == in.Sends, "sends", i18n.M("amqp.process.sends-taken", other.Name))
	wrong.AddIf(in.Receives != "" && other.Receives != "" && other.OwnPartyID == in.OwnPartyID && other.Subject == in.Subject && other.Mode == in.Mode,
		"subject", i18n.M("amqp.process.subject-taken", other.Name))
}

// check judges input by itself. A subject that is there already may stay when the setting no longer has it.
func (in ProcessInput) check(subjects []string, was string) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	wrong.AddIf((in.Subject != was || was == "") && !slices.Contains(subjects, in.Subject),
		"subject", "amqp.process.subject-bad")
	wrong.AddIf(in.Mode != store.AMQPAsync && in.Mode != store.AMQPSync, "mode", "amqp.process.mode-bad")
	for field, text := range map[string]string{"service": in.Service, "action": in.Action, "cpaId": in.CPAID, "fromRole": in.FromRole, "toRole": in.ToRole} {
		wrong.Add(field, registry.CheckLine(text, 0, 200))
	}
	in.checkTypes(wrong)
	return wrong
}

func (in ProcessInput) checkTypes(wrong registry.Problems) {
	for field, name := range map[string]string{"sends": in.Sends, "receives": in.Receives} {
		wrong.AddIf(name != "" && !registry.ValidEventType(name), field, "amqp.process.type-bad")
	}
	switch {
	case in.Sends == "" && in.Receives == "":
		wrong.Add("sends", "amqp.process.type-missing")
	case in.HandlerID != "" && in.Mode != store.AMQPSync:
		wrong.Add("handlerId", "amqp.process.handler-async")
	case in.HandlerID != "" && in.Receives == "":
		wrong.Add("receives", "amqp.process.handler-receives")
	}
}

func (in ProcessInput) fill(row *store.AMQPProcess) {
	row.OwnPartyID, row.Name, row.Subject, row.Mode = in.OwnPartyID, strings.TrimSpace(in.Name), in.Subject, in.Mode
	row.Service, row.Action, row.CPAID, row.FromRole, row.ToRole = in.Service, in.Action, in.CPAID, in.FromRole, in.ToRole
	row.Sends, row.Receives, row.HandlerID = in.Sends, in.Receives, in.HandlerID
}

func processDetails(p store.AMQPProcess) registry.Details {
	return registry.Details{"from": p.Name, "subject": p.Subject, "mode": p.Mode, "sends": p.Sends, "receives": p.Receives, "cpaId": p.CPAID}
}

// checkRecipient refuses a process that makes events of what comes in while nobody is subscribed to them. What comes in is
// acknowledged on behalf of a recipient (AMQP-16), so there must be one when the process is agreed.
func (in ProcessInput) checkRecipient(ctx context.Context, tx *store.Tx, row store.AMQPProcess, wrong registry.Problems) error {
	if in.Receives == "" || in.Mode == store.AMQPSync && in.HandlerID != "" || len(wrong) > 0 {
		return nil
	}
	if row.ID != "" && in.Receives == row.Receives && in.Mode == row.Mode && in.HandlerID == row.HandlerID {
		return nil // what else is changed of it makes it no worse
	}
	party, err := tx.AMQPParty(ctx, row.PartyID)
	if err != nil {
		return fmt.Errorf("find party: %w", err)
	}
	there, err := tx.HasRecipient(ctx, in.Receives, party.PartnerID)
	if err != nil {
		return fmt.Errorf("look for recipient: %w", err)
	}
	wrong.AddIf(!there,
		"receives", "amqp.process.no-recipient")
	return nil
}

// Orphan is a process whose messages nobody would get.
type Orphan struct {
	store.AMQPProcess

	Party string // name of the counterpart
}

// Orphans lists the processes within a scope that make events nobody is subscribed to: their messages are held, or rejected
// where the settings say so.
func (a *AMQP) Orphans(ctx context.Context, scope registry.Scope) ([]Orphan, error) {
	id, ok := scope.Narrow("")
	if !ok {
		return nil, nil
	}
	return orphans(ctx, &a.cfg.DB.Queries, id)
}

func orphans(ctx context.Context, q *store.Queries, partnerID string) ([]Orphan, error) {
	rows, err := q.AMQPWithoutRecipient(ctx, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list processes without a recipient: %w", err)
	}
	list := make([]Orphan, len(rows))
	for i, row := range rows {
		party, err := q.AMQPParty(ctx, row.PartyID)
		if err != nil {
			return nil, fmt.Errorf("find party: %w", err)
		}
		list[i] = Orphan{row, party.Name}
	}
	return list, nil
}

// KeepRecipients makes a change of an administrator that ends something for good, and refuses it when it takes the last recipient
// from a process. A suspension is not refused: it can be taken back, and meanwhile messages are held. Nor is a partner that leaves.
func KeepRecipients(ctx context.Context, tx *store.Tx, actor registry.Actor, change func() error) error {
	if !actor.Administrator {
		return change()
	}
	before, err := orphans(ctx, &tx.Queries, "")
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := orphans(ctx, &tx.Queries, "")
	if err != nil {
		return err
	}
	for _, one := range after {
		if !slices.ContainsFunc(before, func(b Orphan) bool { return b.ID == one.ID }) {
			return registry.Conflict("amqp.process.last-recipient",
				one.Name, one.Party, one.Receives)
		}
	}
	return nil
}
