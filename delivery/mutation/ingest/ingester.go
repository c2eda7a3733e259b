// Package ingest takes mutations in: it writes what is published into the history of a dataset.
//
// A publication is a stream of groups, from a file or a zip of the format, or from JSON. Groups are taken in order, each
// wholly or not at all (MUT-22), many in a transaction, with the progress of the publication in the same one. Every state
// gets an id here, a UUID that is never given twice (MUT-10, MUT-11); what its publisher calls it is stored beside it, and a
// later WAS may name either, or tell the fields alone (MUT-12, MUT-15). A WAS must refer to exactly one state that is there
// now: so histories never go wrong silently, and are right from top to bottom (MUT-13, MUT-26).
//
// A request that was cut off is sent again from its beginning with the same key: a hash that runs over the groups tells that
// they are the same, and what is in is passed over.
package ingest

import (
	"context"
	"strings"

	"schakel/delivery/mutation/format"
	"schakel/store"
)

// Config holds the dependencies of an Ingester.
type Config struct {
	DB *store.DB
}

// Ingester publishes mutations. It is safe for concurrent use; several nodes may publish in one dataset at once.
type Ingester struct{ db *store.DB }

// New makes an Ingester.
func New(c Config) *Ingester { return &Ingester{db: c.DB} }

// MostStates is up to how many mutations a receipt lists the ids that states got.
const MostStates = 1000

// Request asks to publish what a source gives.
type Request struct {
	Dataset  string
	ClientID string // who publishes, or the account of who imports
	By       string // the name of who does it
	ByKind   string // "client" or "account", for the audit trail
	// Key tells this publication from others of the client; sent again it goes on behind what is in. Empty: it cannot.
	Key string
	// Kind is one of store.PublicationGroups, PublicationDelta and PublicationInitial; empty: as the header of the file says.
	Kind       string
	Name       string // of the file, to show
	BytesTotal int64  // of the input, 0 when it is not known
	Source     Source
	// Replace is a reason, in words: all that is in the dataset is replaced by this initial load, under a new lineage, so that
	// every copy is rebuilt (MUT-38), which the audit trail tells. Sent again with its key it replaces nothing more.
	Replace string
}

// Receipt reports the outcome of a publication.
type Receipt struct {
	Publication store.MutationPublication
	States      []store.PublishedState // which id each state got; nil when there are more than MostStates mutations
	Replayed    bool                   // everything was in already
}

// Publish takes in what the source gives, and returns when all of it is durable. What is in stays in when it fails; how much
// that is [Refused] tells, or the publication itself.
//
// The source is read here and not elsewhere: Publish ends no sooner than a read that waits, so bound those.
//
// Errors: [*Refused] for what breaks a rule; store.ErrNotFound for no such dataset; [ErrEnded], [ErrNotEmpty], [ErrKind],
// [ErrOtherContent], [ErrElsewhere], [ErrCancelled], [ErrReplaced]; else what the source answered, such as
// format.ErrTruncated, after which the same may be sent again.
func (i *Ingester) Publish(ctx context.Context, req Request) (Receipt, error) {
	d, err := i.db.Dataset(ctx, req.Dataset)
	if err != nil {
		return Receipt{}, err
	}
	header, err := req.Source.Header()
	if err == nil {
		err = checkHeader(&req, d, header)
	}
	if err != nil {
		return Receipt{}, refusedSource(err)
	}
	if req.Replace != "" {
		if req.Source, err = lookAhead(req.Source, d, req.Kind); err != nil {
			return Receipt{}, err
		}
	}
	r := &run{db: i.db, req: req, queue: newQueue()}
	if err := r.begin(ctx); err != nil {
		return Receipt{}, err
	}
	if err := r.do(ctx, d); err != nil {
		return Receipt{}, r.failed(ctx, err)
	}
	return i.receipt(ctx, r)
}

func (i *Ingester) receipt(ctx context.Context, r *run) (Receipt, error) {
	out := Receipt{Publication: r.pub, Replayed: r.replay}
	if r.pub.Adds+r.pub.Changes+r.pub.Deletes > MostStates {
		return out, nil
	}
	var err error
	out.States, err = i.db.PublishedStates(ctx, r.pub, MostStates)
	return out, err
}

// checkHeader holds the header of a file against the dataset, and learns the kind from it.
func checkHeader(req *Request, d store.Dataset, h *format.Header) error {
	if req.Kind == "" {
		switch {
		case h == nil:
			req.Kind = store.PublicationGroups
		case h.Type == format.Initial:
			req.Kind = store.PublicationInitial
		case h.Type == format.Delta:
			req.Kind = store.PublicationDelta
		default:
			return ErrKind
		}
	}
	req.Replace = strings.TrimSpace(req.Replace)
	if err := checkReason(req); err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	return compareHeader(req, d, h)
}
