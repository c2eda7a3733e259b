package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/rabbitmq"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/identity"
	"schakel/server/cli"
	"schakel/server/demo"
	"schakel/server/mutationcmd"
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

// How the demonstration of a dataset goes: something happens to a building every few seconds, a delta goes out each
// minute, and the copy is brought up to date a little less often, so that it is now and then behind.
const (
	buildingsPace  = 15 * time.Second
	buildingsFetch = 100 * time.Second
	buildingsRetry = 3 * time.Second
)

// buildings shows a dataset that changes and a copy that follows a part of it, and prints where to look.
func (d *demonstration) buildings(ctx context.Context, out io.Writer, log *slog.Logger) {
	feed := &demo.BuildingsFeed{
		System: &demo.Trickle{Base: d.a.base, Client: d.made.Buildings.Publisher, Scope: identity.ScopeMutationsPublish, Now: cli.Clock, Log: log},
		Every:  buildingsPace,
	}
	err := feed.Load(ctx)
	if err == nil {
		err = d.chainA.Datasets.AskSnapshot(ctx, d.chainA.Admin, demo.BuildingsID)
	}
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(out, "The dataset is not shown: %.400s\n", err.Error())
		}
		return
	}
	go feed.Run(ctx)
	copyAt := filepath.Join(d.dir, demo.BuildingsID+"-copy.db")
	who := d.made.Buildings.Follower
	fmt.Fprintf(out, "A dataset changes, and a partner's copy of its area follows: see %s/admin/datasets/%s. Follow it too with:\n"+
		"  SCHAKEL_CLIENT_SECRET=%s schakel mutations follow --url %s --client-id %s --database sqlite:copy.db\n",
		d.a.base, demo.BuildingsID, who.Secret, d.buildingsURL(), who.ID)
	d.follow(ctx, copyAt, log)
}

func (d *demonstration) buildingsURL() string {
	return d.a.base + "/mutations/v1/datasets/" + demo.BuildingsID
}

// follow keeps a copy as the partner would, with the command for that, until the context ends.
func (d *demonstration) follow(ctx context.Context, copyAt string, log *slog.Logger) {
	cmd := mutationcmd.Follow{
		CopyFlags: mutationcmd.CopyFlags{Database: "sqlite:" + copyAt},
		FollowSourceFlags: mutationcmd.FollowSourceFlags{
			URL: d.buildingsURL(), Kind: "auto",
			Credentials: mutationcmd.Credentials{ClientCredentials: cli.ClientCredentials{ClientID: d.made.Buildings.Follower.ID, ClientSecret: d.made.Buildings.Follower.Secret}},
		},
		FollowCopyFlags: mutationcmd.FollowCopyFlags{Match: "id", Verify: "off"},
		FollowAreaFlags: mutationcmd.FollowAreaFlags{CRS: 28992, GeometryElement: []string{"geometrie"}, OnReenter: "accept"},
	}
	for ctx.Err() == nil {
		pause := buildingsFetch
		if err := cmd.Run(ctx, cli.Streams{Out: io.Discard, Err: io.Discard}, slog.New(slog.DiscardHandler)); err != nil {
			log.DebugContext(ctx, "the copy of the demonstration waits", "error", err)
			pause = buildingsRetry
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// receiverService serves the receiver of the demonstration on a listener that is open.
func receiverService(listener net.Listener, handler http.Handler, log *slog.Logger, fail func(error)) Service {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return funcService{
		name: "receiver",
		start: func(context.Context) error {
			go func() {
				if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					fail(err)
				}
			}()
			return nil
		},
		stop: func(ctx context.Context) error {
			if err := server.Shutdown(ctx); err != nil {
				return server.Close()
			}
			return nil
		},
	}
}
