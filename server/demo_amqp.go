package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/rabbitmq"
	registryamqp "schakel/registry/amqp"
	"schakel/server/cli"
	"schakel/server/demo"
	"schakel/store"
)

// demoBroker is the RabbitMQ of the demonstration with its three parties; nil parts when there is none.
type demoBroker struct {
	installation rabbitmq.Installation
	authority    *demo.Authority
	dir          string
	ready        chan struct{} // closed once node and failed are known
	node         *rabbitmq.Node
	failed       error
}

// newDemoBroker is one that was not found.
func newDemoBroker(dir string) *demoBroker {
	return &demoBroker{dir: dir, ready: make(chan struct{}), failed: fmt.Errorf("RabbitMQ %w", rabbitmq.ErrAbsent)}
}

// findBroker looks for a RabbitMQ on this machine, also in folders that hold a whole Debian: the newest one that can be run.
// With it goes an authority for the certificates of the parties.
func findBroker(dir string, roots ...string) (*demoBroker, error) {
	b := newDemoBroker(dir)
	for i, root := range roots {
		var err error
		if roots[i], err = filepath.Abs(root); err != nil {
			return nil, fmt.Errorf("look for RabbitMQ: %w", err)
		}
	}
	roots = append(roots, os.Getenv("SCHAKEL_RABBITMQ4_ROOT"))
	for _, v := range rabbitmq.Versions() {
		i, err := rabbitmq.Find(v, roots...)
		if err != nil {
			continue // it is as if it were not there
		}
		b.installation, b.failed = i, nil
		b.authority, err = demo.NewAuthority(cli.Clock)
		return b, err
	}
	return b, nil
}

// found reports whether there is a RabbitMQ to start.
func (b *demoBroker) found() bool { return b.authority != nil }

// flags returns the flags of a Schakel that trusts the certificates of the parties; one with schemas refuses what they refuse.
func (b *demoBroker) flags(schemas bool) (AMQPFlags, error) {
	if !b.found() {
		return AMQPFlags{}, nil
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return AMQPFlags{}, fmt.Errorf("make folder of the demonstration: %w", err)
	}
	f := AMQPFlags{AMQPTrust: filepath.Join(b.dir, "amqp-ca.pem"), AMQPNoRevocation: true}
	if err := os.WriteFile(f.AMQPTrust, b.authority.PEM(), 0o600); err != nil {
		return f, fmt.Errorf("write certificate authority: %w", err)
	}
	if schemas {
		f.AMQPSchemas = filepath.Join(b.dir, "amqp-schemas")
		return f, demo.WriteSchemas(f.AMQPSchemas)
	}
	return f, nil
}

// Name implements Service.
func (b *demoBroker) Name() string { return "RabbitMQ" }

// Start implements Service: it begins to start the node, which takes some seconds that the rest does not wait for.
func (b *demoBroker) Start(context.Context) error {
	if !b.found() {
		close(b.ready)
		return nil
	}
	if b.node, b.failed = rabbitmq.New(b.installation, b.dir, nil); b.failed != nil {
		close(b.ready)
		return nil // the demonstration goes on without
	}
	go func() {
		defer close(b.ready)
		b.failed = b.node.Start()
	}()
	return nil
}

// Stop implements Service.
func (b *demoBroker) Stop(context.Context) error {
	if b.node == nil {
		return nil
	}
	return b.node.End()
}

// queues makes those of the parties.
func (b *demoBroker) queues(ctx context.Context) error {
	for _, her := range []int{demo.HerA, demo.HerB, demo.HerQuiet} {
		if _, err := b.node.Party(ctx, her); err != nil {
			return fmt.Errorf("make queues of %d: %w", her, err)
		}
		if err := b.node.Queue(ctx, fmt.Sprint(her, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000}); err != nil {
			return fmt.Errorf("make queues of %d: %w", her, err)
		}
	}
	return nil
}

// input is the broker as it is entered in the portal.
func (b *demoBroker) input() registryamqp.BrokerInput {
	dialect := store.AMQPRabbitMQ4
	if b.installation.Version == rabbitmq.Version310 {
		dialect = store.AMQPRabbitMQ310
	}
	return registryamqp.BrokerInput{
		Name: "RabbitMQ " + string(b.installation.Version), Dialect: dialect, URL: b.node.URL, SASL: store.AMQPPlain,
		Username: rabbitmq.User, Password: rabbitmq.Password, Enabled: true,
	}
}

// dialogue shows the exchange by AMQP once the broker is ready, and says so, or why not and how to get one.
func (d *demonstration) dialogue(ctx context.Context, out io.Writer, log *slog.Logger) {
	select {
	case <-d.broker.ready:
	case <-ctx.Done():
		return
	}
	err := d.broker.failed
	var talk *demo.Dialogue
	if err == nil {
		talk, err = d.exchange(ctx, log)
	}
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, rabbitmq.ErrAbsent):
		fmt.Fprintf(out, "No RabbitMQ was found, so the exchange by AMQP is not shown. Get one with: apt-get install rabbitmq-server\n")
		return
	case err != nil:
		fmt.Fprintf(out, "The exchange by AMQP is not shown: %.400s\n", err.Error()) // a node that does not start says much
		return
	}
	fmt.Fprintf(out, "A dialogue by AMQP flows over a RabbitMQ %s at %s: see %s/admin/amqp. Some of it fails.\n",
		d.broker.installation.Version, d.broker.node.URL, d.a.base)
	talk.Run(ctx)
}

// exchange agrees the dialogue in both Schakels.
func (d *demonstration) exchange(ctx context.Context, log *slog.Logger) (*demo.Dialogue, error) {
	if err := d.broker.queues(ctx); err != nil {
		return nil, err
	}
	x, err := demo.NewExchange(d.broker.authority, d.broker.input(), d.chainA, d.chainB, d.receiver)
	if err != nil {
		return nil, err
	}
	if err := x.Seed(ctx); err != nil {
		return nil, fmt.Errorf("agree the dialogue: %w", err)
	}
	d.a.bridge.Reload()
	d.b.bridge.Reload()
	if err := d.foreign(ctx, x); err != nil {
		return nil, err
	}
	system := func(base string, own demo.Organisation, client demo.Credentials) *demo.Trickle {
		return &demo.Trickle{Base: base, Own: own, Client: client, Now: cli.Clock, Log: log}
	}
	return &demo.Dialogue{
		Exchange: x, Every: 3 * time.Second, Log: log,
		A: system(d.a.base, demo.OwnA(), d.made.PublisherA), B: system(d.b.base, demo.OwnB(), d.made.PublisherB),
	}, nil
}

// foreign writes what the systems of others get wrong.
func (d *demonstration) foreign(ctx context.Context, x *demo.Exchange) error {
	c, err := link.New(link.Config{
		URL: d.broker.node.URL, Dialect: d.broker.installation.Version.Dialect(), Username: rabbitmq.User, Password: rabbitmq.Password, Clock: cli.Clock,
	})
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	return errors.Join(x.Foreign(ctx, c, cli.Clock()), c.Stop(context.WithoutCancel(ctx)))
}
