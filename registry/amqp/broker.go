package amqp

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// CreateBroker adds a broker. Fields: name, dialect, url, namespace, sasl, username, password, ca, certificate, privateKey.
func (a *AMQP) CreateBroker(ctx context.Context, actor registry.Actor, in BrokerInput) (store.AMQPBroker, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPBroker{}, err
	}
	row := store.AMQPBroker{CreatedBy: actor.Name}
	err := a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := a.fillBroker(in.clean(), &row); err != nil {
			return err
		}
		all, err := tx.AMQPBrokers(ctx)
		if err != nil {
			return fmt.Errorf("count brokers: %w", err)
		}
		if len(all) >= maxBrokers {
			return registry.Conflict("There are %d brokers, which is the most.", maxBrokers)
		}
		if err := tx.InsertAMQPBroker(ctx, &row); err != nil {
			return brokerTaken(err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionBrokerAdded, brokerObject(row), brokerDetails(row))
	})
	return withoutSecrets(row), err
}

// UpdateBroker changes a broker. Fields: as CreateBroker.
func (a *AMQP) UpdateBroker(ctx context.Context, actor registry.Actor, id string, in BrokerInput) (store.AMQPBroker, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPBroker{}, err
	}
	var row store.AMQPBroker
	err := a.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if row, err = registry.Locked(ctx, tx, "broker", "amqp_broker", id, tx.AMQPBroker); err != nil {
			return err
		}
		if err := a.fillBroker(in.clean(), &row); err != nil {
			return err
		}
		if err := tx.UpdateAMQPBroker(ctx, &row); err != nil {
			return brokerTaken(err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionBrokerChanged, brokerObject(row), brokerDetails(row))
	})
	return withoutSecrets(row), err
}

// RemoveBroker removes a broker that no party uses, with its secrets.
func (a *AMQP) RemoveBroker(ctx context.Context, actor registry.Actor, id string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return a.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.AMQPBroker(ctx, id)
		if err != nil {
			return registry.Found("broker", err)
		}
		err = tx.DeleteAMQPBroker(ctx, id)
		if errors.Is(err, store.ErrConflict) {
			return registry.Conflict("There are parties at %s. Move them to another broker first, or switch this one off.", row.Name)
		}
		if err != nil {
			return registry.Found("broker", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionBrokerRemoved, brokerObject(row), nil)
	})
}

// fillBroker checks input against a broker as it is now and writes it there; a zero row is a new one.
func (a *AMQP) fillBroker(in BrokerInput, row *store.AMQPBroker) error {
	wrong := a.checkBroker(in, *row)
	client, key := in.clientCertificate(*row, wrong)
	if err := wrong.Err(); err != nil {
		return err
	}
	row.Name, row.Dialect, row.URL, row.Namespace = in.Name, in.Dialect, in.URL, in.Namespace
	row.SASL, row.Username, row.CA, row.Enabled = in.SASL, in.Username, in.CA, in.Enabled
	switch {
	case in.SASL != store.AMQPPlain:
		row.Secret, row.Username = "", ""
	case in.Password != "":
		row.Secret = a.cfg.Vault.Seal(brokerPasswordPurpose, []byte(in.Password))
	}
	if client == "" {
		row.Certificate, row.PrivateKey = "", ""
		return nil
	}
	row.Certificate = client
	if key == nil {
		return nil
	}
	sealed, err := a.cfg.Vault.SealKey(brokerKeyPurpose, key)
	row.PrivateKey = sealed
	return err
}

func brokerTaken(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return registry.Invalid(registry.Problems{"name": "There is a broker with this name already."})
	}
	return fmt.Errorf("save broker: %w", err)
}

func brokerObject(b store.AMQPBroker) registry.Object {
	return registry.ObjectOf("amqp-broker", b.ID, b.Name, "")
}

func brokerDetails(b store.AMQPBroker) registry.Details {
	return registry.Details{
		"url": b.URL, "dialect": b.Dialect, "sasl": b.SASL, "username": b.Username, "namespace": b.Namespace, "enabled": b.Enabled,
		"password": b.Secret != "", "certificate": b.Certificate != "",
	}
}
