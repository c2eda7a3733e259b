package replica

import (
	"context"
	"errors"
	"io"
)

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
