package amqp

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
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
			return registry.Conflict("amqp.broker.too-many", maxBrokers)
		}
		if err := tx.InsertAMQPBroker(ctx, &row); err != nil {
			return brokerTaken(err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionBrokerAdded, brokerObject(row), brokerDetails(row)); err != nil {
			return err
		}
		return a.mailBroker(ctx, tx, actor, store.AMQPBroker{}, row)
	})
	return withoutSecrets(row), err
}

// UpdateBroker changes a broker. Fields: as CreateBroker.
func (a *AMQP) UpdateBroker(ctx context.Context, actor registry.Actor, id string, in BrokerInput) (store.AMQPBroker, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.AMQPBroker{}, err
	}
	before, err := a.cfg.DB.AMQPBroker(ctx, id)
	if err != nil {
		return store.AMQPBroker{}, registry.Found("broker", err)
	}
	after := before
	if err := a.fillBroker(in.clean(), &after); err != nil {
		return store.AMQPBroker{}, err
	}
	err = a.holdBroker(ctx, actor, before, after, in, func(ctx context.Context) (err error) {
		after, err = a.updateBroker(ctx, actor, id, in)
		return err
	})
	return withoutSecrets(after), err
}

func (a *AMQP) updateBroker(ctx context.Context, actor registry.Actor, id string, in BrokerInput) (row store.AMQPBroker, err error) {
	err = a.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if row, err = registry.Locked(ctx, tx, "broker", "amqp_broker", id, tx.AMQPBroker); err != nil {
			return err
		}
		before := row
		if err := a.fillBroker(in.clean(), &row); err != nil {
			return err
		}
		if err := tx.UpdateAMQPBroker(ctx, &row); err != nil {
			return brokerTaken(err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionBrokerChanged, brokerObject(row), brokerDetails(row)); err != nil {
			return err
		}
		return a.mailBroker(ctx, tx, actor, before, row)
	})
	return row, err
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
			return registry.Conflict("amqp.broker.in-use", row.Name)
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
		return registry.Invalid(registry.Problems{"name": "amqp.broker.name-taken"})
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

// BrokerInput holds the input for a broker.
type BrokerInput struct {
	Name    string
	Dialect string // rabbitmq4, rabbitmq310 or servicebus
	// URL is amqps:// with a host; amqp:// only to this machine itself.
	URL       string
	Namespace string // as the address registry writes it before a queue, such as DigitalDialog
	SASL      string // plain, external or anonymous
	Username  string // for plain
	// Password goes in and never comes out: empty on an update keeps what is there.
	Password string
	CA       string // PEM of the authorities that are trusted; empty for those of the system
	// Certificate is ours, in PEM with its chain, and PrivateKey its key. An empty key on an update keeps what is there,
	// as long as it fits.
	Certificate, PrivateKey string
	Enabled                 bool
}

// InputOfBroker is a broker as it is, to be changed; without its secrets.
func InputOfBroker(b store.AMQPBroker) BrokerInput {
	return BrokerInput{
		Name: b.Name, Dialect: b.Dialect, URL: b.URL, Namespace: b.Namespace, SASL: b.SASL, Username: b.Username, CA: b.CA,
		Certificate: b.Certificate, Enabled: b.Enabled,
	}
}

func (in BrokerInput) clean() BrokerInput {
	in.Name = registry.CleanName(in.Name)
	for _, s := range []*string{&in.URL, &in.Namespace, &in.Username, &in.CA, &in.Certificate, &in.PrivateKey} {
		*s = strings.TrimSpace(*s)
	}
	return in
}

func (a *AMQP) checkBroker(in BrokerInput, old store.AMQPBroker) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	wrong.AddIf(!slices.Contains([]string{store.AMQPRabbitMQ4, store.AMQPRabbitMQ310, store.AMQPServiceBus}, in.Dialect),
		"dialect", "amqp.broker.kind-bad")
	wrong.Add("url", checkBrokerURL(in.URL, a.cfg.AllowOpenEndpoints))
	wrong.Add("namespace", checkQueue(in.Namespace, true))
	switch in.SASL {
	case store.AMQPPlain:
		wrong.Add("username", registry.CheckLine(in.Username, 1, 255))
		wrong.Add("password", checkBrokerPassword(in, old))
	case store.AMQPExternal:
		wrong.AddIf(in.Certificate == "", "certificate", "amqp.broker.login-certificate")
		wrong.AddIf(strings.HasPrefix(in.URL, "amqp:"), "sasl", "amqp.broker.login-unencrypted")
	case store.AMQPAnonymous:
	default:
		wrong.Add("sasl", "amqp.broker.login-bad")
	}
	if in.CA != "" {
		if _, err := readCertificates(in.CA); err != nil {
			wrong.Add("ca", whyUnread(err))
		}
	}
	return wrong
}

// checkBrokerPassword asks the password again when another host than before would get it: who took over a session must
// not be able to have it sent to a server of its own.
func checkBrokerPassword(in BrokerInput, old store.AMQPBroker) i18n.Message {
	switch {
	case in.Password != "":
		return registry.CheckLine(in.Password, 1, 1000)
	case old.Secret == "":
		return "amqp.broker.password-missing"
	case registry.Origin(in.URL) != registry.Origin(old.URL):
		return "amqp.broker.password-host"
	}
	return ""
}

// checkBrokerURL judges the address of a broker. An address without encryption is only taken for this machine itself,
// unless openly is set.
func checkBrokerURL(raw string, openly bool) i18n.Message {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "amqp.broker.url-missing"
	case err != nil || len(raw) > 2048 || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "amqp" && u.Scheme != "amqps":
		return "amqp.broker.url-bad"
	case u.User != nil:
		return "amqp.broker.url-login"
	case strings.ContainsAny(raw, "#?"):
		return "amqp.broker.url-query"
	case u.Path != "" && u.Path != "/":
		return "amqp.broker.url-path"
	case u.Scheme == "amqp" && !openly && !loopback(u.Hostname()):
		return "amqp.broker.url-open"
	}
	return ""
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// clientCertificate reads our certificate for a broker; the key is nil when the stored one stays.
func (in BrokerInput) clientCertificate(old store.AMQPBroker, wrong registry.Problems) (chain string, key crypto.Signer) {
	if in.Certificate == "" {
		wrong.AddIf(in.PrivateKey != "", "certificate", "amqp.broker.certificate-of-key")
		return "", nil
	}
	list, err := readCertificates(in.Certificate)
	switch {
	case err != nil:
		wrong.Add("certificate", whyUnread(err))
		return "", nil
	case len(list) != 1:
		wrong.Add("certificate", "amqp.broker.one-certificate")
		return "", nil
	}
	chain = writeChain(list[0])
	if in.PrivateKey == "" {
		wrong.AddIf(chain != old.Certificate || old.PrivateKey == "", "privateKey", "amqp.broker.key-missing")
		wrong.AddIf(registry.Origin(in.URL) != registry.Origin(old.URL) && old.ID != "",
			"privateKey", "amqp.broker.key-host")
		return chain, nil
	}
	return chain, keyThatFits(in.PrivateKey, list[0], "privateKey", wrong)
}

func keyThatFits(text string, c certificateChain, field string, wrong registry.Problems) crypto.Signer {
	keys, err := readKeys(text)
	if err != nil {
		wrong.Add(field, whyUnread(err))
		return nil
	}
	for _, key := range keys {
		if fits(key, c.leaf) {
			return key
		}
	}
	wrong.Add(field, i18n.M("amqp.certificate.key-of-other", c.leaf.Subject.CommonName))
	return nil
}
