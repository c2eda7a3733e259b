package amqp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// ConfirmParty names a change of where messages of a party go, or of who can read them, which may wait for a second person.
const ConfirmParty = "amqp.party"

// What an administrator asks to change of a party.
const (
	asksParty        = "party"
	asksCounterpart  = "counterpart"
	asksCertificates = "certificates"
	asksImport       = "import"
)

// partyAsk is a change of a party as it waits for a second person.
type partyAsk struct {
	Change       string     `json:"change"`
	Input        PartyInput `json:"input,omitzero"`
	Certificates string     `json:"certificates,omitempty"`
	Document     []byte     `json:"document,omitempty"`
	HerID        int64      `json:"herId,omitempty"`
}

// Confirmed makes the change of a party that a second person confirmed.
func (a *AMQP) Confirmed(ctx context.Context, actor registry.Actor, asked store.Confirmation) error {
	var in partyAsk
	err := json.Unmarshal([]byte(asked.Args), &in)
	if err != nil {
		return fmt.Errorf("read change of party that was asked for: %w", err)
	}
	switch in.Change {
	case asksCounterpart:
		_, err = a.CreateCounterpart(ctx, actor, asked.ObjectID, in.Input)
	case asksCertificates:
		_, err = a.AddCertificates(ctx, actor, asked.ObjectID, in.Certificates, "")
	case asksImport:
		_, err = a.TakeImport(ctx, actor, in.Document, in.HerID)
	default:
		_, err = a.UpdateParty(ctx, actor, asked.ObjectID, in.Input)
	}
	return err
}

// hold makes a change of a counterpart by do, or makes that wait: by setting (sending.new_destination) no administrator alone sends messages elsewhere
// where approvals take two people, as none changes the destination of a webhook alone. after is the party as the change makes it, but for
// more, which lists what else it adds.
func (a *AMQP) hold(ctx context.Context, actor registry.Actor, object registry.Object, asked partyAsk, lock string, row, after store.AMQPParty, more []i18n.Message, do func(context.Context) error) error {
	set, err := a.profile.InForce(ctx)
	if err != nil {
		return registry.Wrap("read whether a destination waits", err)
	}
	if !actor.Administrator || row.Own {
		return do(ctx)
	}
	describe := func(ctx context.Context) ([]i18n.Message, string, error) {
		was := partyState{AMQPParty: row}
		if row.ID != "" {
			now, err := a.cfg.DB.AMQPParty(ctx, row.ID)
			if err != nil {
				return nil, "", registry.Found("party", err)
			}
			if was, err = stateOf(ctx, &a.cfg.DB.Queries, now); err != nil {
				return nil, "", err
			}
		}
		is, err := stateOf(ctx, &a.cfg.DB.Queries, after)
		if err != nil {
			return nil, "", err
		}
		owner, err := a.cfg.DB.Partner(ctx, after.PartnerID)
		if err != nil {
			return nil, "", registry.Found("partner", err)
		}
		lines := []i18n.Message{i18n.M("amqp.confirm.party", after.Name, owner.Name)}
		for _, change := range partyChanges(was, is) {
			lines = append(lines, change.Line())
		}
		state, err := registry.Fingerprint(InputOfParty(was.AMQPParty), was.certificates, owner.Status)
		return append(lines, more...), state, err
	}
	lines, _, err := describe(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound): // a broker that is not there, which do refuses
		return do(ctx)
	case err != nil:
		return err
	}
	return a.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: ConfirmParty, Object: object, Args: asked, Lock: lock, Describe: describe,
		Free: set.NewDestination == registry.DestinationAtOnce || len(lines) == 1, // the one line names the party: nothing goes elsewhere
	}, do)
}

// ConfirmBroker names a change of a broker, which may wait for a second person.
const ConfirmBroker = "amqp.broker"

// brokerAskPurpose binds the sealed secrets of a change of a broker that waits.
const brokerAskPurpose = "amqp-broker-change"

// brokerAsk is a change of a broker as it waits for a second person, its secrets apart and sealed.
type brokerAsk struct {
	Input   BrokerInput `json:"input"`
	Secrets string      `json:"secrets,omitempty"`
}

type brokerSecrets struct{ Password, PrivateKey string }

// ConfirmedBroker makes the change of a broker that a second person confirmed.
func (a *AMQP) ConfirmedBroker(ctx context.Context, actor registry.Actor, asked store.Confirmation) error {
	var in brokerAsk
	if err := json.Unmarshal([]byte(asked.Args), &in); err != nil {
		return fmt.Errorf("read change of broker that was asked for: %w", err)
	}
	text, err := a.cfg.Vault.Open(brokerAskPurpose, in.Secrets)
	if err != nil {
		return registry.Conflict("amqp.confirm.secrets") // sealed by a key that was removed since
	}
	var secrets brokerSecrets
	if err := json.Unmarshal(text, &secrets); err != nil {
		return fmt.Errorf("read secrets of broker: %w", err)
	}
	in.Input.Password, in.Input.PrivateKey = secrets.Password, secrets.PrivateKey
	_, err = a.UpdateBroker(ctx, actor, asked.ObjectID, in.Input)
	return err
}

// holdBroker changes a broker by do, or makes that wait as hold does.
func (a *AMQP) holdBroker(ctx context.Context, actor registry.Actor, before, after store.AMQPBroker, in BrokerInput, do func(context.Context) error) error {
	set, err := a.profile.InForce(ctx)
	if err != nil {
		return registry.Wrap("read whether a destination waits", err)
	}
	changes := brokerChanges(before, after)
	text, err := json.Marshal(brokerSecrets{in.Password, in.PrivateKey})
	if err != nil {
		return fmt.Errorf("keep secrets of broker: %w", err)
	}
	asked := brokerAsk{in, a.cfg.Vault.Seal(brokerAskPurpose, text)}
	asked.Input.Password, asked.Input.PrivateKey = "", ""
	return a.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: ConfirmBroker, Object: brokerObject(before), Args: asked, Lock: "amqp_broker",
		Free: set.NewDestination == registry.DestinationAtOnce || len(changes) == 0,
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			now, err := a.cfg.DB.AMQPBroker(ctx, before.ID)
			if err != nil {
				return nil, "", registry.Found("broker", err)
			}
			lines := []i18n.Message{i18n.M("amqp.confirm.broker", now.Name)}
			for _, change := range changes {
				lines = append(lines, change.Line())
			}
			state, err := registry.Fingerprint(InputOfBroker(now), now.Secret, now.PrivateKey)
			return lines, state, err
		},
	}, do)
}

// certificateLine tells which certificates are added.
func certificateLine(list []enterprise) []i18n.Message {
	var names []string
	for _, e := range list {
		names = append(names, e.leaf.Subject.String()+" ("+thumbprint(e.leaf)+")")
	}
	if len(names) == 0 {
		return nil
	}
	return []i18n.Message{i18n.M("amqp.confirm.certificates", strings.Join(names, ", "))}
}
