package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"schakel/store"
)

// run is one publication on its way in.
type run struct {
	db     *store.DB
	req    Request
	queue  *queue
	pub    store.MutationPublication // as the database has it
	replay bool                      // everything is in: the source is only compared
	began  string                    // the lineage that began with this run, in place of another history
}

func (r *run) begin(ctx context.Context) error {
	return r.db.Write(ctx, func(tx *store.Tx) error {
		d, err := tx.LockDataset(ctx, r.req.Dataset)
		if err != nil {
			return err
		}
		r.pub, err = tx.PublicationByKey(ctx, d.ID, r.req.ClientID, r.req.Key)
		if !errors.Is(err, store.ErrNotFound) {
			return errors.Join(err, r.again(d))
		}
		if d.Status == store.DatasetEnded {
			return ErrEnded
		}
		if err := r.room(ctx, tx, d); err != nil {
			return err
		}
		r.pub = store.MutationPublication{
			DatasetID: d.ID, ClientID: r.req.ClientID, RequestKey: r.req.Key, Kind: r.req.Kind, Name: r.req.Name, Status: store.MutationRunning,
			BytesTotal: r.req.BytesTotal, Hash: make([]byte, sha256.Size), CreatedBy: r.req.By,
		}
		if err := tx.InsertPublication(ctx, &r.pub); err != nil || r.req.Replace == "" {
			return err
		}
		return r.audit(ctx, tx, d)
	})
}

// audit writes the actor and reason of a replaced history; d is the dataset as it was.
func (r *run) audit(ctx context.Context, tx *store.Tx, d store.Dataset) error {
	now, err := tx.Dataset(ctx, d.ID)
	if err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]any{
		"reason": r.req.Replace, "lineage": now.Lineage, "lineageBefore": d.Lineage, "publication": r.pub.ID, "name": r.pub.Name,
	})
	if err != nil {
		return err
	}
	return tx.InsertAudit(ctx, store.Audit{
		ActorKind: r.req.ByKind, ActorID: r.req.ClientID, ActorName: r.req.By, Action: "dataset.history-replaced",
		ObjectKind: "dataset", ObjectID: d.ID, ObjectName: d.Title, Detail: string(detail),
	})
}

// again looks at what the key has brought.
func (r *run) again(d store.Dataset) error {
	switch {
	case r.pub.Status == store.MutationCancelled:
		return ErrCancelled
	case r.pub.Kind != r.req.Kind:
		return ErrOtherContent
	}
	if r.replay = r.pub.Status == store.MutationDone; r.replay {
		return nil
	}
	return r.replaced(d)
}

// replaced makes sure that what the publication brought so far is a part of the history still.
func (r *run) replaced(d store.Dataset) error {
	if r.pub.Groups > 0 && r.pub.FirstSeq <= d.ReplacedSeq {
		return ErrReplaced
	}
	return nil
}

// room makes sure that an initial load begins with nothing.
func (r *run) room(ctx context.Context, tx *store.Tx, d store.Dataset) error {
	if r.req.Kind != store.PublicationInitial {
		return nil
	}
	if r.req.Replace != "" {
		r.began = uuid.NewString()
		return tx.SetDatasetLineage(ctx, d.ID, r.began, r.req.Replace, true)
	}
	return empty(ctx, tx, d)
}

func empty(ctx context.Context, tx *store.Tx, d store.Dataset) error {
	filled, err := tx.HasStates(ctx, d)
	if err == nil && filled {
		err = ErrNotEmpty
	}
	return err
}

// do reads the source here and writes beside it.
func (r *run) do(ctx context.Context, d store.Dataset) error {
	written, begun := make(chan error, 1), r.pub // the writer moves the other on
	go func() {
		err := r.write(ctx)
		r.queue.stop()
		written <- err
	}()
	r.queue.end(r.read(&preparer{dataset: d, kind: r.req.Kind, places: newLocator(d), skip: begun.Groups}, begun))
	return <-written
}

// read gives the groups behind what is in to the queue; begun is the publication as it was before this run.
func (r *run) read(p *preparer, begun store.MutationPublication) error {
	chain := make([]byte, sha256.Size)
	for skip := begun.Groups; ; {
		in, at, err := r.req.Source.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return whole(p.count, begun, chain)
		}
		if err != nil {
			return refusedSource(err)
		}
		g, problems := p.prepare(in, at)
		if len(problems) > 0 {
			return &Refused{Problems: problems}
		}
		g.read = r.req.Source.Bytes()
		if p.count <= skip {
			if chain = link(chain, g); p.count == skip && string(chain) != string(begun.Hash) {
				return ErrOtherContent
			}
			continue
		}
		if r.replay {
			return ErrOtherContent
		}
		if !r.queue.put(g) {
			return nil // the writer tells why
		}
	}
}

// whole looks at the end of the source.
func whole(count int64, begun store.MutationPublication, chain []byte) error {
	if count < begun.Groups || count == begun.Groups && string(chain) != string(begun.Hash) {
		return ErrOtherContent
	}
	return nil
}

// link goes on with the hash that runs over the groups.
func link(chain []byte, g *group) []byte {
	sum := sha256.New()
	sum.Write(chain)
	sum.Write(g.hash[:])
	return sum.Sum(nil)
}

// write takes groups from the queue until the last is durable.
func (r *run) write(ctx context.Context) error {
	for {
		batch, last, failure := r.queue.take(ctx)
		if r.replay {
			return failure // nothing is written of what is in
		}
		if len(batch) > 0 || last && failure == nil {
			if err := r.commit(ctx, batch, last && failure == nil); err != nil {
				return err
			}
		}
		if last {
			return failure
		}
	}
}

// failed notes why a publication did not end well, unless another request goes on with it or nothing was to be changed.
func (r *run) failed(ctx context.Context, failure error) error {
	var refused *Refused
	if errors.As(failure, &refused) {
		defer func() { refused.Publication = r.pub }()
	}
	if r.replay || errors.Is(failure, ErrOtherContent) {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if errors.Is(failure, errOvertaken) {
		failure = r.overtaken(ctx)
	} else {
		p := r.pub
		p.Status, p.Error = store.MutationFailed, failureText(failure)
		err := r.db.Write(ctx, func(tx *store.Tx) error {
			p.FinishedAt = tx.Now
			return tx.StepPublication(ctx, &p, r.pub.Groups, r.pub.Status)
		})
		switch {
		case err == nil:
			r.pub = p
		case !errors.Is(err, store.ErrConflict):
			failure = errors.Join(failure, fmt.Errorf("note the failure: %w", err))
		}
	}
	return failure
}

// overtaken gives the error of a publication that another request changed.
func (r *run) overtaken(ctx context.Context) error {
	now, err := r.db.Publication(ctx, r.pub.ID)
	if err != nil {
		return err
	}
	if now.Status == store.MutationCancelled {
		return ErrCancelled
	}
	return ErrElsewhere
}

// How much waits for the database, and how much it gets in one transaction: little enough that nobody waits long for it.
const (
	queueBytes = 4 << 20
	batchBytes = 1 << 20
	batchCount = 300 // mutations
)

// queue is groups between who reads them and who writes them. Who writes takes all there is, so that a fast source has large
// transactions, and of a slow one nothing waits.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	groups []*group
	bytes  int
	ended  bool  // nothing more comes
	err    error // why
	over   bool  // nothing more is taken
}

func newQueue() *queue {
	q := &queue{}
	q.change = sync.NewCond(&q.mu)
	return q
}

// put adds a group, and reports whether more is taken. It waits while there is much.
func (q *queue) put(g *group) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > queueBytes && !q.over {
		q.change.Wait()
	}
	q.groups, q.bytes = append(q.groups, g), q.bytes+g.size
	q.change.Broadcast()
	return !q.over
}

// end says that nothing more comes, and why: nil after the whole of the source.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.err = true, err
	q.change.Broadcast()
}

// stop says that nothing more is taken.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.change.Broadcast()
}

// take waits for groups and takes as many as one transaction should have. last is true with the last ones, of which there may
// be none; err is why nothing follows.
func (q *queue) take(ctx context.Context) (batch []*group, last bool, err error) {
	defer context.AfterFunc(ctx, func() { q.mu.Lock(); q.change.Broadcast(); q.mu.Unlock() })()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.groups) == 0 && !q.ended && ctx.Err() == nil {
		q.change.Wait()
	}
	if ctx.Err() != nil {
		return nil, true, ctx.Err()
	}
	n, mutations, bytes := 0, 0, 0
	for n < len(q.groups) && (n == 0 || mutations+len(q.groups[n].mutations) <= batchCount && bytes+q.groups[n].size <= batchBytes) {
		mutations, bytes = mutations+len(q.groups[n].mutations), bytes+q.groups[n].size
		n++
	}
	batch = q.groups[:n:n]
	q.groups, q.bytes = q.groups[n:], q.bytes-bytes
	q.change.Broadcast()
	if q.ended && len(q.groups) == 0 {
		return batch, true, q.err
	}
	return batch, false, nil
}
