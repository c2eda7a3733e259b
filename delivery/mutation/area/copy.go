package area

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Bounds of what Copy has in hand.
const (
	batchBytes = 512 << 10 // of states, after which a batch is full
	batchCount = 1000      // groups
	inHand     = 24 << 20  // bytes of states between reading and writing; one larger batch goes alone
)

// batch is a run of groups that is filtered in one go.
type batch struct {
	groups []*format.Group
	seen   int64 // groups read
	weight int64
	done   chan struct{}
}

// Copy filters a delivery from one zip into another, in order. Reading, filtering and writing go on at the same time,
// and memory does not grow with the delivery. After each batch progress, which may be nil, receives how many groups have
// been dealt with. A stopped context is seen when the reader next answers. The writer is not closed: its Close gives the manifest. After an error what was written is of no use.
func Copy(ctx context.Context, in *archive.DeliveryReader, out *archive.DeliveryWriter, f *Filter, progress func(groups int64)) error {
	work, ctx := errgroup.WithContext(ctx)
	c := &copying{
		filter: f, room: semaphore.NewWeighted(inHand),
		filtering: make(chan *batch, 32), writing: make(chan *batch, 32),
	}
	work.Go(func() error { return c.read(ctx, in) })
	for range max(2, runtime.GOMAXPROCS(0)) {
		work.Go(func() error { return c.filterAll(ctx) })
	}
	work.Go(func() error { return c.write(ctx, out, progress) })
	return work.Wait()
}

type copying struct {
	filter             *Filter
	room               *semaphore.Weighted
	filtering, writing chan *batch
}

// read makes batches, and hands each both to who filters and to who writes it once it is filtered.
func (c *copying) read(ctx context.Context, in *archive.DeliveryReader) error {
	defer close(c.filtering)
	defer close(c.writing)
	for {
		b, err := readBatch(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the delivery: %w", err)
		}
		if len(b.groups) > 0 {
			b.weight = min(b.weight, inHand)
			if err := c.room.Acquire(ctx, b.weight); err != nil {
				return err
			}
			for _, to := range []chan *batch{c.filtering, c.writing} {
				select {
				case to <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		if err != nil {
			return nil
		}
	}
}

func readBatch(in *archive.DeliveryReader) (*batch, error) {
	b := &batch{done: make(chan struct{})}
	for b.weight < batchBytes && len(b.groups) < batchCount {
		g, _, err := in.Next()
		if err != nil {
			return b, err
		}
		b.groups = append(b.groups, g)
		b.seen++
		b.weight += weigh(g)
	}
	return b, nil
}

func weigh(g *format.Group) int64 {
	total := int64(200)
	for i := range g.Mutations {
		total += 300
		for _, s := range []*format.State{g.Mutations[i].Was, g.Mutations[i].Wordt} {
			if s != nil {
				total += int64(len(s.XML))
			}
		}
	}
	return total
}

func (c *copying) filterAll(ctx context.Context) error {
	for b := range c.filtering {
		for i, g := range b.groups {
			b.groups[i] = c.filter.Group(g)
		}
		close(b.done)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (c *copying) write(ctx context.Context, out *archive.DeliveryWriter, progress func(groups int64)) error {
	total := int64(0)
	for b := range c.writing {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, g := range b.groups {
			if g == nil {
				continue
			}
			if err := out.WriteGroup(g); err != nil {
				return fmt.Errorf("write the delivery: %w", err)
			}
		}
		c.room.Release(b.weight)
		if total += b.seen; progress != nil {
			progress(total)
		}
	}
	return ctx.Err()
}
