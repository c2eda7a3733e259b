package demo

import (
	"context"
	"fmt"
	"time"

	registryamqp "schakel/registry/amqp"
	"schakel/registry/contracts"
	"schakel/registry/partners"
	"schakel/store"
)

// agreed holds the side of one Schakel in an exchange.
type agreed struct{ broker, party string }

// join makes a Schakel a party of the exchange, whose system gets what comes in.
func (x *Exchange) join(ctx context.Context, c *Chain, me Identity) (agreed, error) {
	if err := publishContract(ctx, c.Services, c.Admin, contracts.ContractInput{
		ID: DialogueContract, Kind: "asyncapi", Title: "Dialoogberichten (example)",
		Description:    "Example, made for this demonstration: events whose data is a business message of a health exchange.",
		Classification: "personal data, confidential",
	}, "dialoog-events.yaml", dialogueDocument); err != nil {
		return agreed{}, err
	}
	broker, err := c.AMQP.CreateBroker(ctx, c.Admin, x.Broker)
	if err != nil {
		return agreed{}, fmt.Errorf("add broker: %w", err)
	}
	party, err := c.AMQP.CreateOwnParty(ctx, c.Admin, partyInput(me, broker.ID))
	if err != nil {
		return agreed{}, fmt.Errorf("add own party: %w", err)
	}
	certificates, keys, err := me.PEM()
	if err != nil {
		return agreed{}, err
	}
	if _, err := c.AMQP.AddCertificates(ctx, c.Admin, party.ID, certificates, keys); err != nil {
		return agreed{}, fmt.Errorf("add own certificates: %w", err)
	}
	_, err = c.Subscribe(ctx, c.Admin, x.Receiver.Target("Dialogue system", "dialogue"), TypeMessageReceived, TypeQuestionReplied)
	return agreed{broker.ID, party.ID}, err
}

func partyInput(i Identity, broker string) registryamqp.PartyInput {
	return registryamqp.PartyInput{BrokerID: broker, Kind: store.AMQPHealth, Name: i.Name, HerID: int64(i.HerID), Enabled: true}
}

// counterpart holds the agreements with another party.
type counterpart struct {
	Identity
	subscribes []string
	processes  []registryamqp.ProcessInput
	wait       time.Duration
}

// meet makes a partner a counterpart: an endpoint of queues, its party with certificates, processes and a subscription.
func (x *Exchange) meet(ctx context.Context, mine agreed, c *Chain, number string, with counterpart) error {
	found, _, err := c.Partners.List(ctx, c.Admin, store.PartnerFilter{Search: number})
	if err != nil || len(found) != 1 {
		return fmt.Errorf("find %s: %d partners, %w", with.Name, len(found), err)
	}
	endpoint, err := c.Endpoints.Create(ctx, c.Admin, found[0].ID, partners.EndpointInput{Name: "Health exchange", Kind: store.EndpointAMQP})
	if err != nil {
		return fmt.Errorf("add endpoint of %s: %w", with.Name, err)
	}
	in := partyInput(with.Identity, mine.broker)
	in.AnswerWait = with.wait
	party, err := c.AMQP.CreateCounterpart(ctx, c.Admin, endpoint.ID, in)
	if err != nil {
		return fmt.Errorf("add party of %s: %w", with.Name, err)
	}
	certificates, _, err := with.PEM()
	if err != nil {
		return err
	}
	if _, err := c.AMQP.AddCertificates(ctx, c.Admin, party.ID, certificates, ""); err != nil {
		return fmt.Errorf("add certificates of %s: %w", with.Name, err)
	}
	for _, process := range with.processes {
		process.OwnPartyID = mine.party
		if _, err := c.AMQP.AddProcess(ctx, c.Admin, party.ID, process); err != nil {
			return fmt.Errorf("add process %s with %s: %w", process.Name, with.Name, err)
		}
	}
	sub, err := c.Request(ctx, c.Admin, endpoint.ID, with.subscribes...)
	if err != nil {
		return err
	}
	return c.Subscriptions.Approve(ctx, c.Admin, sub.ID)
}
