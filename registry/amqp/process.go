package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/store"
)

// AMQPProcessInput is what a counterpart and an own party do together: both chose to support it (AMQP-09).
type AMQPProcessInput struct {
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
func InputOfProcess(p store.AMQPProcess) AMQPProcessInput {
	return AMQPProcessInput{
		OwnPartyID: p.OwnPartyID, Name: p.Name, Subject: p.Subject, Mode: p.Mode, Service: p.Service, Action: p.Action, CPAID: p.CPAID,
		FromRole: p.FromRole, ToRole: p.ToRole, Sends: p.Sends, Receives: p.Receives, HandlerID: p.HandlerID,
	}
}

// AddProcess agrees a process with a counterpart. Fields: ownPartyId, name, subject, mode, service, action, cpaId, fromRole,
// toRole, sends, receives, handlerId.
func (a *AMQP) AddProcess(ctx context.Context, actor Actor, partyID string, in AMQPProcessInput) (store.AMQPProcess, error) {
	row := store.AMQPProcess{PartyID: partyID, Source: store.AMQPEntered}
	err := a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		if err := a.checkProcess(ctx, tx, in, row, there); err != nil {
			return err
		}
		if len(there) >= mostAMQPProcesses {
			return conflict("There are %d processes with this party, which is the most.", mostAMQPProcesses)
		}
		in.fill(&row)
		if err := tx.InsertAMQPProcess(ctx, &row); err != nil {
			return fmt.Errorf("add process: %w", err)
		}
		return record(ctx, tx, actor, ActionProcessAdded, partyObject(p), processDetails(row))
	})
	return row, err
}

// UpdateProcess changes a process of a counterpart. Fields: as AddProcess.
func (a *AMQP) UpdateProcess(ctx context.Context, actor Actor, partyID, id string, in AMQPProcessInput) (store.AMQPProcess, error) {
	var row store.AMQPProcess
	err := a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		i := slices.IndexFunc(there, func(one store.AMQPProcess) bool { return one.ID == id })
		if i < 0 {
			return notFound("process")
		}
		row = there[i]
		if err := a.checkProcess(ctx, tx, in, row, there); err != nil {
			return err
		}
		in.fill(&row)
		if err := tx.UpdateAMQPProcess(ctx, &row); err != nil {
			return fmt.Errorf("update process: %w", err)
		}
		return record(ctx, tx, actor, ActionProcessChanged, partyObject(p), processDetails(row))
	})
	return row, err
}

// RemoveProcess ends a process: nothing is sent or taken by it any more.
func (a *AMQP) RemoveProcess(ctx context.Context, actor Actor, partyID, id string) error {
	return a.changeProcesses(ctx, actor, partyID, func(tx *store.Tx, p store.AMQPParty, there []store.AMQPProcess) error {
		i := slices.IndexFunc(there, func(one store.AMQPProcess) bool { return one.ID == id })
		if i < 0 {
			return notFound("process")
		}
		if err := tx.DeleteAMQPProcess(ctx, partyID, id); err != nil {
			return found("process", err)
		}
		return record(ctx, tx, actor, ActionProcessRemoved, partyObject(p), processDetails(there[i]))
	})
}

// changeProcesses hands an administrator the processes of a counterpart, kept from change by others meanwhile.
func (a *AMQP) changeProcesses(ctx context.Context, actor Actor, partyID string, fn func(*store.Tx, store.AMQPParty, []store.AMQPProcess) error) error {
	if err := actor.requireAdministrator(); err != nil {
		return err
	}
	_, err := a.changeParty(ctx, actor, partyID, func(tx *store.Tx, p *store.AMQPParty) error {
		if p.Own || p.Kind != store.AMQPHealth {
			return conflict("Processes are agreed with a partner's party that follows the health profile.")
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
func (a *AMQP) checkProcess(ctx context.Context, tx *store.Tx, in AMQPProcessInput, row store.AMQPProcess, there []store.AMQPProcess) error {
	state, err := a.profile.InForce(ctx)
	if err != nil {
		return err
	}
	wrong := in.check(state.AMQPSubjects, row.Subject)
	if own, err := tx.AMQPParty(ctx, in.OwnPartyID); err != nil || !own.Own {
		wrong.add("ownPartyId", "Choose from our own parties.")
	}
	if in.HandlerID != "" {
		e, err := tx.Endpoint(ctx, in.HandlerID)
		own, errOwn := tx.OwnPartner(ctx)
		if err != nil || errOwn != nil || e.PartnerID != own.ID || e.Kind != store.EndpointWebhook || e.Status == store.EndpointEnded {
			wrong.add("handlerId", "Choose a webhook of the own organisation.")
		}
	}
	for _, other := range there {
		in.checkBeside(other, row.ID, wrong)
	}
	if err := in.checkRecipient(ctx, tx, row, wrong); err != nil {
		return err
	}
	return wrong.err()
}

// checkBeside keeps it plain which process a message belongs to.
func (in AMQPProcessInput) checkBeside(other store.AMQPProcess, id string, wrong problems) {
	if other.ID == id {
		return
	}
	if in.Sends != "" && other.Sends == in.Sends {
		wrong.add("sends", "Events of this type go out by the process "+other.Name+" already.")
	}
	if in.Receives != "" && other.Receives != "" && other.OwnPartyID == in.OwnPartyID && other.Subject == in.Subject && other.Mode == in.Mode {
		wrong.add("subject", "What comes in with this subject belongs to the process "+other.Name+" already.")
	}
}

// check judges input by itself. A subject that is there already may stay when the setting no longer has it.
func (in AMQPProcessInput) check(subjects []string, was string) problems {
	wrong := problems{}
	wrong.add("name", line(in.Name, 2, 120))
	if (in.Subject != was || was == "") && !slices.Contains(subjects, in.Subject) {
		wrong.add("subject", "Choose a code that the setting “Subjects of AMQP messages” has.")
	}
	if in.Mode != store.AMQPAsync && in.Mode != store.AMQPSync {
		wrong.add("mode", "Choose asynchronous or synchronous.")
	}
	for field, text := range map[string]string{"service": in.Service, "action": in.Action, "cpaId": in.CPAID, "fromRole": in.FromRole, "toRole": in.ToRole} {
		wrong.add(field, line(text, 0, 200))
	}
	in.checkTypes(wrong)
	return wrong
}

func (in AMQPProcessInput) checkTypes(wrong problems) {
	for field, name := range map[string]string{"sends": in.Sends, "receives": in.Receives} {
		if name != "" && !validEventType(name) {
			wrong.add(field, "Fill in one event type, such as no.example.dialogue.sent.")
		}
	}
	switch {
	case in.Sends == "" && in.Receives == "":
		wrong.add("sends", "Fill in the event type that goes out, the one of what comes in, or both.")
	case in.HandlerID != "" && in.Mode != store.AMQPSync:
		wrong.add("handlerId", "Only a synchronous process has someone who answers at once.")
	case in.HandlerID != "" && in.Receives == "":
		wrong.add("receives", "Fill in the event type that is handed to who answers.")
	}
}

func (in AMQPProcessInput) fill(row *store.AMQPProcess) {
	row.OwnPartyID, row.Name, row.Subject, row.Mode = in.OwnPartyID, strings.TrimSpace(in.Name), in.Subject, in.Mode
	row.Service, row.Action, row.CPAID, row.FromRole, row.ToRole = in.Service, in.Action, in.CPAID, in.FromRole, in.ToRole
	row.Sends, row.Receives, row.HandlerID = in.Sends, in.Receives, in.HandlerID
}

func processDetails(p store.AMQPProcess) details {
	return details{"from": p.Name, "subject": p.Subject, "mode": p.Mode, "sends": p.Sends, "receives": p.Receives, "cpaId": p.CPAID}
}
