package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// run applies one delivery. One goroutine unpacks and reads, another one writes to the database.
type run struct {
	f      *Follower
	d      *Delivery
	zip    *archive.DeliveryReader
	area   Area
	start  UnderWay // where it goes on
	report *Report
	counts Counts // of this run
	sum    string // of a file that was read to its end: its SHA-256, hexadecimal
}

// all reads the delivery to its end, or to what is wrong with it.
func (r *run) all(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the reading side then ends, at the latest when the source is closed
	batches := make(chan *batch, 1)
	go r.read(ctx, batches)
	for b := range batches {
		if err := r.take(ctx, b); err != nil {
			r.done(false)
			return err
		}
		if b.end != nil {
			r.done(true)
			return nil
		}
	}
	return ctx.Err() // the reading side ends without a last batch when it was stopped
}

func (r *run) done(whole bool) {
	if whole {
		for _, text := range r.zip.Notes() {
			r.report.note(fmt.Sprintf("%s: %s", r.d.name(), text))
		}
	}
	r.report.Counts.plus(r.counts)
	if whole || r.counts.Groups > 0 {
		r.report.Deliveries = append(r.report.Deliveries, Applied{ID: r.d.ID, Type: r.d.Type, Resumed: r.start.Counts.Groups, Counts: r.counts})
	}
}

// take brings a batch into the copy, and ends the delivery when it is the last one.
func (r *run) take(ctx context.Context, b *batch) error {
	switch {
	case b.end == nil:
		return r.commit(ctx, b, false)
	case errors.Is(b.end, errOther):
		return errors.Join(fault(ErrChanged, "it is not what it was up to group %d of file %d", r.start.Group, r.start.File), r.f.restart(ctx))
	case !errors.Is(b.end, io.EOF):
		return errors.Join(fmt.Errorf("%s: %w", r.d.name(), b.end), r.commit(ctx, b, false))
	}
	if r.d.content != nil {
		var err error
		if r.sum, err = r.d.content.whole(); err != nil {
			return errors.Join(err, r.commit(ctx, b, false))
		}
	}
	if m := r.d.Manifest; m != nil {
		if err := m.Check(r.zip.Seen()); err != nil {
			err = fmt.Errorf("%w: delivery %s: %w", ErrManifest, r.d.ID, err)
			return errors.Join(err, r.commit(ctx, b, false), r.f.restart(ctx))
		}
	}
	return r.commit(ctx, b, true)
}

// commit writes the groups of a batch in one transaction, or those before the one that cannot be taken. The last batch of a
// delivery that proves whole finishes it.
func (r *run) commit(ctx context.Context, b *batch, last bool) error {
	var stopped *stop
	var did *plan
	err := r.f.change(ctx, func(t *transaction, c *Copy) error {
		stopped = nil
		var err error
		if did, stopped, err = r.write(t, c, b.units); err != nil {
			return err
		}
		if last && stopped == nil {
			return r.finish(t, c)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("apply delivery %s: %w", r.d.ID, err)
	}
	r.counts.plus(did.counts)
	if room := mostMismatches - len(r.report.Mismatches); room > 0 {
		r.report.Mismatches = append(r.report.Mismatches, did.mismatches[:min(room, len(did.mismatches))]...)
	}
	r.tell()
	if stopped != nil {
		u := b.units[stopped.unit]
		return &GroupError{Delivery: r.d.ID, File: u.at.File, Line: stopped.line, Group: u.at.Group, Err: r.explain(stopped, b)}
	}
	if last && r.d.Type == format.Initial {
		r.report.Rebuilt = true
		return r.f.sweep(ctx)
	}
	return nil
}

// explain tells of a WAS that refers to what comes later, which no file may have (MUT-26).
func (r *run) explain(s *stop, b *batch) error {
	if !errors.Is(s.err, ErrUnknown) {
		return s.err
	}
	var was string
	for _, it := range b.units[s.unit].items {
		if it.Line == s.line {
			was = it.was
		}
	}
	for _, u := range b.units[s.unit:] {
		for _, it := range u.items {
			if it.wordt == was && was != "" && it.Line >= s.line {
				return fmt.Errorf("%w; it is given only later, in group %d, line %d (MUT-26)", s.err, u.at.Group, it.Line)
			}
		}
	}
	return s.err
}

func (r *run) tell() {
	p := Progress{Delivery: r.d.ID, Type: r.d.Type, Groups: r.start.Counts.Groups + r.counts.Groups, Counts: r.report.Counts}
	p.Counts.plus(r.counts)
	if u := r.f.copy.UnderWay; u != nil {
		p.At = archive.Position{Index: u.File, Group: u.Group}
	}
	r.f.o.Progress(p)
}

// write plans groups and writes what comes of it, with how far that is.
func (r *run) write(t *transaction, c *Copy, units []unit) (*plan, *stop, error) {
	if err := c.loadNamespaces(t); err != nil {
		return nil, nil, err
	}
	u := c.UnderWay
	generation := c.Generation
	if u.Type == format.Initial {
		generation = u.Generation
	}
	table := &rows{transaction: t, copy: c, table: c.table(generation), byID: r.f.o.Match.byID()}
	p, stopped, err := r.plan(table, units)
	if err != nil {
		return nil, nil, err
	}
	if stopped != nil {
		units = units[:stopped.unit]
	}
	if err := table.delete(p.deletes); err != nil {
		return nil, nil, err
	}
	if err := table.insert(p.surviving()); err != nil {
		return nil, nil, err
	}
	if err := table.remember(p.left, r.f.o.Reenter, r.f.o.Now()); err != nil {
		return nil, nil, err
	}
	if err := table.saveDoubts(p.doubts); err != nil {
		return nil, nil, err
	}
	if p.reinit != "" {
		c.Reinitialise = p.reinit
	}
	if n := len(units); n > 0 {
		last := units[n-1]
		u.File, u.Group, u.Hash = last.at.Index, last.at.Group, last.hash
		u.Counts.plus(p.counts)
	}
	return p, stopped, nil
}

// plan loads what the groups refer to and works through them; through those before the one that cannot be taken, when
// there is such a one.
func (r *run) plan(table *rows, units []unit) (*plan, *stop, error) {
	var found []*entry
	var inDoubt map[string]bool
	tombs := map[objectKey]bool{}
	initial := r.d.Type == format.Initial
	if !initial {
		var err error
		if found, err = table.find(refsOf(units), r.f.o.Verify != VerifyOff); err != nil {
			return nil, nil, err
		}
		if inDoubt, err = table.loadDoubts(refsOf(units), r.f.copy.UnderWay.Replay); err != nil {
			return nil, nil, err
		}
		if r.f.o.Tombstones {
			if tombs, err = table.tombstones(objectsOf(units)); err != nil {
				return nil, nil, err
			}
		}
	}
	fresh := func() *plan {
		p := &plan{
			o: &r.f.o, area: r.area, initial: initial, replay: r.f.copy.UnderWay.Replay, tombs: tombs, body: table.body,
			live: make(map[string][]*entry, len(found)), left: map[objectKey]bool{},
		}
		if inDoubt != nil {
			p.doubts = &doubts{known: inDoubt, changed: map[string]bool{}}
		}
		for _, e := range found {
			e.gone = false
			p.live[e.ref] = append(p.live[e.ref], e)
		}
		return p
	}
	p := fresh()
	err := p.take(units)
	stopped, isStop := errors.AsType[*stop](err)
	if err == nil || !isStop {
		return p, nil, err
	}
	before := fresh()
	if err := before.take(units[:stopped.unit]); err != nil {
		return nil, nil, fmt.Errorf("take the groups before: %w", err)
	}
	before.mismatches = p.mismatches // the one that stopped it is among them
	return before, stopped, nil
}

// refsOf gives the references of the states of groups, each once, sorted so that neighbours in the index come together.
func refsOf(units []unit) []string {
	seen := make(map[string]bool, len(units))
	for i := range units {
		for j := range units[i].items {
			it := &units[i].items[j]
			if it.was != "" {
				seen[it.was] = true
			}
			if it.wordt != "" {
				seen[it.wordt] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func objectsOf(units []unit) []objectKey {
	seen := map[objectKey]bool{}
	for i := range units {
		for j := range units[i].items {
			if it := &units[i].items[j]; it.Wordt != nil {
				seen[objectKey{it.Type(), it.ObjectID}] = true
			}
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// errOther is met when what was read before is other now.
var errOther = errors.New("the delivery is other than it was")

// read unpacks and reads groups, leaves out those that are in, and hands the others on in batches. The last batch says why
// it is the last.
func (r *run) read(ctx context.Context, out chan<- *batch) {
	defer close(out)
	b := &batch{}
	send := func() bool {
		select {
		case out <- b:
			b = &batch{}
			return true
		case <-ctx.Done():
			return false
		}
	}
	resuming, hash := !r.start.fresh(), uint64(0)
	for {
		g, at, err := r.zip.Next()
		if err == nil && resuming {
			hash = chain(hash, g)
			there := at.Index == r.start.File && at.Group == r.start.Group
			past := at.Index > r.start.File || at.Index == r.start.File && at.Group > r.start.Group
			resuming = !there
			if there && hash == r.start.Hash || !there && !past {
				continue
			}
			err = errOther
		}
		if err != nil {
			if resuming && errors.Is(err, io.EOF) {
				err = errOther // it ends before the place where it was left
			}
			b.end = err
			send()
			return
		}
		hash = chain(hash, g)
		u, size := r.f.o.prepare(g, at, hash)
		b.units, b.mutations, b.bytes = append(b.units, u), b.mutations+len(u.items), b.bytes+size
		if (b.mutations >= r.f.o.Mutations || b.bytes >= r.f.o.Bytes) && !send() {
			return
		}
	}
}
