package amqp

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"schakel/delivery/amqp/link"
	"schakel/store"
)

// directory holds the parties and processes that exchange messages, as read last. It is the local cache of certificates (AMQP-57).
type directory struct {
	version    string // of the rows it was made of
	brokers    map[string]store.AMQPBroker
	parties    map[string]*party
	byHer      map[int64]*party
	byEndpoint map[string]*party
	processes  []store.AMQPProcess
}

// party is a party with its certificates, the newest first (AMQP-64).
type party struct {
	store.AMQPParty
	certificates []certificate
	keys         []Key   // of an own party
	unfit        []Unfit // of its certificates
}

type certificate struct {
	store.AMQPCertificate
	leaf  *x509.Certificate
	chain []*x509.Certificate
}

// of lists the certificates for a purpose, the newest first.
func (p *party) of(purpose string) []certificate {
	var list []certificate
	for _, c := range p.certificates {
		if c.Purpose == purpose {
			list = append(list, c)
		}
	}
	return list
}

func (b *Bridge) load(ctx context.Context) error {
	b.loading.Lock()
	defer b.loading.Unlock()
	return b.loadNow(ctx)
}

// fresh sees to it that the directory is no older than this call: somebody may just have been added.
func (b *Bridge) fresh(ctx context.Context) error {
	asked := b.loads.Load()
	b.loading.Lock()
	defer b.loading.Unlock()
	if b.loads.Load() > asked {
		return nil // another began after we asked
	}
	return b.loadNow(ctx)
}

// loadNow is load; b.loading is held. Nothing is read when nothing changed.
func (b *Bridge) loadNow(ctx context.Context) error {
	b.loads.Add(1)
	version, err := b.cfg.DB.AMQPVersion(ctx)
	if err != nil {
		return fmt.Errorf("look at parties: %w", err)
	}
	if version == b.dir.Load().version {
		return nil
	}
	rows, err := b.cfg.DB.AMQPDirectory(ctx)
	if err != nil {
		return fmt.Errorf("read parties: %w", err)
	}
	d := &directory{
		version: version, processes: rows.Processes,
		brokers: map[string]store.AMQPBroker{}, parties: map[string]*party{}, byHer: map[int64]*party{}, byEndpoint: map[string]*party{},
	}
	for _, row := range rows.Brokers {
		d.brokers[row.ID] = row
	}
	for _, row := range rows.Parties {
		b.loadParty(ctx, d, row, rows.Certificates[row.ID])
	}
	b.dir.Store(d)
	return nil
}

func (b *Bridge) loadParty(ctx context.Context, d *directory, row store.AMQPParty, certificates []store.AMQPCertificate) {
	p := &party{AMQPParty: row}
	for _, c := range certificates {
		leaf, chain, err := parsePEM(c.Certificate)
		if err != nil {
			b.cfg.Log.ErrorContext(ctx, "a stored certificate cannot be read", "party", row.ID, "certificate", c.ID, "error", err)
			continue
		}
		p.certificates = append(p.certificates, certificate{c, leaf, chain})
	}
	var err error
	if p.keys, err = b.keysOf(ctx, p); err != nil {
		b.cfg.Log.ErrorContext(ctx, "the private keys of a party cannot be read", "party", row.ID, "error", err)
	}
	d.parties[row.ID] = p
	if row.HerID > 0 {
		d.byHer[row.HerID] = p
	}
	if row.EndpointID != "" {
		d.byEndpoint[row.EndpointID] = p
	}
}

func parsePEM(text string) (leaf *x509.Certificate, chain []*x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, err
		}
		if leaf == nil {
			leaf = c
		} else {
			chain = append(chain, c)
		}
	}
	if leaf == nil {
		return nil, nil, fmt.Errorf("no certificate in it")
	}
	return leaf, chain, nil
}

// receives finds the process by which a party's message with a subject is taken in (AMQP-100).
func (d *directory) receives(from, own *party, subject, mode string) (store.AMQPProcess, bool) {
	for _, p := range d.processes {
		if p.PartyID == from.ID && p.OwnPartyID == own.ID && p.Subject == subject && p.Mode == mode && p.Receives != "" {
			return p, true
		}
	}
	return store.AMQPProcess{}, false
}

// sends finds the process by which events of a type go to a party from an own party; ownID may be empty when there is
// no telling yet.
func (d *directory) sends(to *party, ownID, eventType string) (store.AMQPProcess, bool) {
	for _, p := range d.processes {
		if p.PartyID == to.ID && p.Sends == eventType && (ownID == "" || p.OwnPartyID == ownID) {
			return p, true
		}
	}
	return store.AMQPProcess{}, false
}

type queue struct {
	broker string // id
	party  string // id, whose queue it is
	role   string
	name   string
}

// What comes in by a queue.
const (
	roleAsync = "async"
	roleSync  = "sync"
	roleReply = "reply"
	roleError = "error"
	roleDead  = "dead"
	roleEvent = "event" // CloudEvents of a party of no health exchange
)

// queues lists what is to be read, by broker. Where every queue has a dead-letter queue below it, those of queues that are read for
// good are read too; those of synchronous exchange are not used (AMQP-50, AMQP-91).
func (d *directory) queues() map[string][]queue {
	all := map[string][]queue{}
	add := func(p *party, role, registered string) {
		b, ok := d.brokers[p.BrokerID]
		if !ok || !b.Enabled || registered == "" {
			return
		}
		dialect, err := link.ParseDialect(b.Dialect)
		below := err == nil && dialect.DeadLetterBelow()
		q := queue{p.BrokerID, p.ID, role, store.AMQPQueueName(registered)}
		if below && slices.ContainsFunc(all[b.ID], func(other queue) bool { return strings.EqualFold(other.name, q.name) }) {
			return // names on such a broker have no case
		}
		all[b.ID] = append(all[b.ID], q)
		if below && (role == roleAsync || role == roleError || role == roleEvent) {
			q.role, q.name = roleDead, dialect.DeadLetter(q.name)
			all[b.ID] = append(all[b.ID], q)
		}
	}
	for _, p := range d.parties {
		if !p.Own {
			add(p, roleEvent, p.InboundQueue)
			continue
		}
		add(p, roleAsync, p.AsyncQueue)
		add(p, roleSync, p.SyncQueue)
		add(p, roleReply, p.ReplyQueue)
		add(p, roleError, p.ErrorQueue)
		add(p, roleDead, p.DeadQueue)
	}
	return all
}

// watch reads the directory again when asked and now and then, and reads from the queues that are in it.
func (b *Bridge) watch(ctx context.Context) {
	for b.pauseOr(ctx, b.reload) {
		before := b.dir.Load()
		if err := b.load(ctx); err != nil {
			if ctx.Err() == nil {
				b.cfg.Log.WarnContext(ctx, "parties cannot be read; this is tried again", "error", err)
			}
			continue
		}
		if !reflect.DeepEqual(before.brokers, b.dir.Load().brokers) || !reflect.DeepEqual(before.queueSet(), b.dir.Load().queueSet()) {
			b.align(ctx)
		}
	}
}

func (d *directory) queueSet() map[queue]bool {
	set := map[queue]bool{}
	for _, list := range d.queues() {
		for _, q := range list {
			set[q] = true
		}
	}
	return set
}

// pauseOr waits for a poll or a signal, and reports whether to go on.
func (b *Bridge) pauseOr(ctx context.Context, woken <-chan struct{}) bool {
	ctx2, cancel := context.WithTimeout(ctx, b.cfg.Poll)
	defer cancel()
	select {
	case <-ctx2.Done():
	case <-woken:
	}
	return ctx.Err() == nil
}
