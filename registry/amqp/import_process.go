package amqp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schakel/registry/amqp/cpa"
	"schakel/store"
)

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
		p.Changes = append(p.Changes, "The process "+row.Name+" gets the ids and roles of the agreement.")
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
