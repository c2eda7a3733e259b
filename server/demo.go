package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"schakel/server/cli"
	"schakel/server/demo"
)

// runDemo serves two Schakels and what they need around them until the context
// ends, and removes the scratch folder when it made it.
func runDemo(ctx context.Context, c DemoCmd, streams cli.Streams, log *slog.Logger) (err error) {
	log = calm(ctx, log)
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "schakel-demo-"); err != nil {
			return fmt.Errorf("make scratch folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	broker, err := findBroker(dir, filepath.Join(".cache", "rabbitmq4"))
	if err != nil {
		return err
	}
	d, err := buildDemo(ctx, c, dir, broker, log, fail)
	if err != nil {
		return err
	}
	if err := d.seed(ctx); err != nil {
		return errors.Join(err, d.a.db.Close(), d.b.db.Close())
	}
	if err := d.group.Start(ctx); err != nil {
		return errors.Join(err, d.stop(ctx))
	}
	if err := d.tell(ctx, streams); err != nil {
		return errors.Join(err, d.stop(ctx))
	}
	d.trickle(ctx, log)
	go d.buildings(ctx, streams.Out, log)
	d.dialogue(ctx, streams.Out, log)
	<-ctx.Done()
	err = d.stop(ctx)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// calm keeps a line for every request from burying the addresses and logins; --log-level=debug shows all.
func calm(ctx context.Context, log *slog.Logger) *slog.Logger {
	if log.Enabled(ctx, slog.LevelDebug) {
		return log
	}
	return slog.New(warnings{log.Handler()})
}

// warnings passes on what is at least a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }

// demonstration is two Schakels and the receiver, built but not started.
type demonstration struct {
	dir      string
	a, b     *program
	receiver *demo.Receiver
	control  string // address of the receiver's page
	group    *Group
	password string
	made     demo.Seeded
	broker   *demoBroker

	chainA, chainB *demo.Chain
}

func buildDemo(ctx context.Context, c DemoCmd, dir string, broker *demoBroker, log *slog.Logger, fail func(error)) (*demonstration, error) {
	// The listener is opened first: the address goes into the endpoints.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the receiver: %w", err)
	}
	d := &demonstration{
		dir: dir, broker: broker, control: "http://" + listener.Addr().String(), group: NewGroup(log),
		password: "demo-" + rand.Text()[:12],
	}
	d.receiver = demo.NewReceiver(d.control, cli.Clock)
	if err := d.buildBoth(ctx, c, log, fail); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	d.group.Add(d.broker, receiverService(listener, d.receiver.Handler(), log, fail),
		asService("first Schakel", d.a.group), asService("second Schakel", d.b.group))
	return d, nil
}

// buildBoth builds the two Schakels; the second holds what comes by AMQP against schemas of its own.
func (d *demonstration) buildBoth(ctx context.Context, c DemoCmd, log *slog.Logger, fail func(error)) (err error) {
	a, b := demoConfig(d.dir, "a", c.Addr, demo.OwnA()), demoConfig(d.dir, "b", c.PartnerAddr, demo.OwnB())
	if a.AMQPFlags, err = d.broker.flags(false); err != nil {
		return err
	}
	if b.AMQPFlags, err = d.broker.flags(true); err != nil {
		return err
	}
	if d.a, err = build(ctx, a, log.With("schakel", "a"), fail); err != nil {
		return err
	}
	if d.b, err = build(ctx, b, log.With("schakel", "b"), fail); err != nil {
		return errors.Join(err, d.a.db.Close())
	}
	return nil
}

// asService makes a group a part of another one.
func asService(name string, g *Group) Service {
	start := func(ctx context.Context) error {
		if err := g.Start(ctx); err != nil {
			return errors.Join(err, g.Stop(ctx))
		}
		return nil
	}
	return funcService{name: name, start: start, stop: g.Stop}
}

// demoConfig is a Schakel that may deliver over plain HTTP to this machine, shows
// its mails to everybody, and gives up on a delivery within ten seconds.
func demoConfig(dir, name, addr string, own demo.Organisation) ServeCmd {
	return ServeCmd{
		DatabaseFlags: DatabaseFlags{
			Database:      "sqlite:" + filepath.Join(dir, name+".db"),
			SecretKeyFile: filepath.Join(dir, name+".key"),
		},
		OrganisationFlags: OrganisationFlags{Organisation: own.Name, OIN: own.OIN()},
		HTTPFlags:         HTTPFlags{Addr: addr, AdminAddr: "127.0.0.1:0"},
		OutboundFlags: cli.OutboundFlags{
			AllowOutbound: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, PlainHTTP: true,
		},
		DeliveryFlags: DeliveryFlags{
			RetryWaits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, RetryAttempts: 4, KeyLifetime: 7 * 24 * time.Hour,
		},
		Mailbox: true,
	}
}

// seed fills both Schakels before they start.
func (d *demonstration) seed(ctx context.Context) (err error) {
	d.chainA = &demo.Chain{Services: d.a.registry, Password: d.password}
	d.chainB = &demo.Chain{Services: d.b.registry, Password: d.password}
	d.made, err = demo.Seed(ctx, d.chainA, d.chainB, d.a.base, d.b.base, d.receiver)
	if err != nil {
		return fmt.Errorf("fill the demonstration: %w", err)
	}
	if err := demo.SeedTraffic(ctx, d.a.db, cli.Clock()); err != nil {
		return err
	}
	if d.made.Buildings, err = d.chainA.SeedBuildings(ctx); err != nil {
		return fmt.Errorf("fill the demonstration: %w", err)
	}
	d.made.Partners = append(d.made.Partners, d.made.Buildings.Login)
	return nil
}

func (d *demonstration) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return d.group.Stop(ctx)
}

// trickle publishes events at both until the context ends.
func (d *demonstration) trickle(ctx context.Context, log *slog.Logger) {
	for _, t := range []*demo.Trickle{
		{Base: d.a.base, Own: demo.OwnA(), Client: d.made.PublisherA, Types: demo.EventTypes(), Every: 700 * time.Millisecond},
		{Base: d.b.base, Own: demo.OwnB(), Client: d.made.PublisherB, Types: []string{demo.TypeEnrolled, demo.TypeUnenrolled}, Every: 5 * time.Second},
	} {
		t.Now, t.Log = cli.Clock, log
		go t.Run(ctx)
	}
}

// tell prints where to go and who can log in.
func (d *demonstration) tell(ctx context.Context, streams cli.Streams) error {
	state, err := d.a.registry.Profile.Load(ctx)
	if err != nil {
		return err
	}
	out := streams.Out
	fmt.Fprintf(out, "\nSchakel of %s   %s\n", demo.OwnA().Name, d.a.base)
	fmt.Fprintf(out, "  administrator   %s\n", demo.OwnA().Email)
	for _, login := range d.made.Partners {
		fmt.Fprintf(out, "  partner         %s (%s)\n", login.Email, login.Shows)
	}
	fmt.Fprintf(out, "  mails           %s/mailbox\n", d.a.base)
	fmt.Fprintf(out, "Schakel of %s   %s\n", demo.OwnB().Name, d.b.base)
	fmt.Fprintf(out, "  administrator   %s\n", demo.OwnB().Email)
	fmt.Fprintf(out, "Password of every account: %s\n", d.password)
	fmt.Fprintf(out, "Receiver of the partners: %s (break it and mend it there)\n", d.control)
	fmt.Fprintf(out, "Events flow. Some fail: see %s/admin/dead-letters within a minute, and resend them.\n", d.a.base)
	for _, r := range state.Relaxations() {
		fmt.Fprintf(out, "For this demonstration a setting is less strict than rule %s. %s: %s.\n", strings.Join(r.Relaxes(), ", "), r.Title, r.Text(r.After))
	}
	fmt.Fprintln(out, "For this demonstration administrators need no second factor; the settings page asks for one by default.")
	fmt.Fprintf(out, "All data is in %s. Stop with Ctrl-C.\n", d.dir)
	return nil
}
