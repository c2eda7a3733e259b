package export

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/store"
	"schakel/templates/i18n"
)

// View identifies the reader of a dataset: the own organisation, or a partner with a subscription to it.
type View struct {
	Dataset   store.Dataset
	PartnerID string
	Follower  *store.MutationFollower // nil: it gets everything
}

// Offer describes a delta or a snapshot as a reader gets it.
type Offer struct {
	Delta     store.MutationDelta    // zero for a snapshot
	Name      string                 // of the delta, as the reader knows it
	Previous  string                 // name of the delta before it; empty: it is the first
	Includes  string                 // of a snapshot: name of the last delta that it includes
	Snapshot  store.MutationSnapshot // zero for a delta
	Ready     bool                   // its file is there; when not, it is being made
	Failed    string                 // why it cannot be made, or empty
	Manifest  archive.Manifest       // of what the reader gets; zero when it is not ready
	FileID    string
	ExpiresAt time.Time // the last moment of a delta; zero for a snapshot
}

// whole is everything of a delta or snapshot.
type whole struct {
	deltaID, snapshotID string
	lineage             string
	manifest, fileID    string
}

// wants reads what the reader's subscription is to. An area that cannot be read is no error here: what is offered says so.
func (e *Exporter) wants(ctx context.Context, v View) (part, error) {
	if v.Follower == nil {
		return part{}, nil
	}
	p, err := partOf(ctx, e.cfg.DB, v.Dataset, v.Follower.AreaID, "", v.Follower.ObjectTypes)
	if err != nil && unreadable(err) {
		return part{unread: err}, nil
	}
	return p, err
}

// Lineage is the lineage of what a reader gets (MUT-38). It answers ErrUnreadable when its area cannot be read.
func (e *Exporter) Lineage(ctx context.Context, v View) (string, error) {
	wants, err := e.wants(ctx, v)
	if err != nil {
		return "", err
	}
	return wants.lineage(v.Dataset.Lineage)
}

// fill completes an offer with what is there for the reader. When ask is set and nobody asked for the reader's part yet, it
// does.
func (e *Exporter) fill(ctx context.Context, v View, wants part, of whole, o *Offer, ask bool) (err error) {
	if wants.all() {
		o.Ready, o.FileID = true, of.fileID
		o.Manifest, err = Manifest(of.manifest)
		return err
	}
	if wants.unread != nil {
		o.Failed = string(i18n.M("datasets.failed.area-unreadable", wants.unread.Error()))
		return nil
	}
	lineage, err := wants.lineage(of.lineage)
	if err != nil {
		return err
	}
	key := store.MutationDownloadKey{DeltaID: of.deltaID, SnapshotID: of.snapshotID, Lineage: lineage, Mark: namesOf(lineage, of.lineage).mark}
	row, err := e.cfg.DB.SubscribedDownload(ctx, key, v.Follower.SubscriptionID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.GoneAt.IsZero() {
		if !ask {
			return nil
		}
		return e.askPart(ctx, v, of)
	}
	if err != nil {
		return fmt.Errorf("find part: %w", err)
	}
	switch row.Status {
	case store.MutationFailed:
		o.Failed = row.Error
	case store.MutationCompleted:
		o.Ready, o.FileID = true, row.FileID
		o.Manifest, err = Manifest(row.Manifest)
	}
	return err
}

func (e *Exporter) askPart(ctx context.Context, v View, of whole) error {
	row := store.MutationDownload{DeltaID: of.deltaID, SnapshotID: of.snapshotID, SubscriptionID: v.Follower.SubscriptionID, PartnerID: v.PartnerID}
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return e.want(ctx, tx, v.Dataset, of.lineage, *v.Follower, nil, &row) })
	if err != nil {
		return fmt.Errorf("ask for part: %w", err)
	}
	return nil
}

// Names are the names under which a reader knows deltas. Who gets everything knows them by their ids. To the id of a part's delta
// a mark of the part's lineage is added: a follower that goes on by a name of its old part, after its area or object types were
// changed, gets an error, and does not get deltas of the new part for those of the old one (MUT-38, MUT-49).
type Names struct {
	mark string
	any  bool // what the reader gets cannot be read, so no name is refused for its mark
}

// idLength holds for ids of deltas: UUIDs.
const idLength = 36

// namesOf gives the names of deltas in a lineage, that of a part or, when it is equal, the whole one.
func namesOf(lineage, whole string) Names {
	if lineage == whole {
		return Names{}
	}
	mark := strings.ReplaceAll(lineage, "-", "")
	return Names{mark: mark[:min(len(mark), 12)]}
}

// NameOf gives the name of a delta under a mark; an empty mark leaves the id as it is.
func NameOf(id, mark string) string {
	if id == "" || mark == "" {
		return id
	}
	return id + "-" + mark
}

// Of gives the name of a delta; there is none for an empty id.
func (n Names) Of(id string) string { return NameOf(id, n.mark) }

// splitName is the reverse of NameOf.
func splitName(name string) (id, mark string) {
	if len(name) > idLength && name[idLength] == '-' {
		return name[:idLength], name[idLength+1:]
	}
	return name, ""
}

// Names maps deltas to the ids that a reader knows now.
func (e *Exporter) Names(ctx context.Context, v View) (Names, error) {
	_, names, err := e.reads(ctx, v)
	return names, err
}

// reads gives the part of a dataset that a reader gets, and the names under which it knows deltas.
func (e *Exporter) reads(ctx context.Context, v View) (part, Names, error) {
	wants, err := e.wants(ctx, v)
	if err != nil {
		return wants, Names{}, err
	}
	lineage, err := wants.lineage(v.Dataset.Lineage)
	if errors.Is(err, ErrUnreadable) {
		return wants, Names{any: true}, nil
	}
	return wants, namesOf(lineage, v.Dataset.Lineage), err
}

// fit reports whether a name with a mark is one that a reader may go on by.
func (n Names) fit(v View, d store.MutationDelta, mark string) bool {
	return n.any || mark == n.mark || mark == "" && v.Follower != nil && d.Number <= v.Follower.BareUntil
}
