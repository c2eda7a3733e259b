package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/store"
	"schakel/templates/i18n"
)

// maxQuarantined bounds the requests of one client that wait in the quarantine; more are rejected, as without one.
const maxQuarantined = 1000

// Errors of what people do with quarantined requests; the texts may be shown.
var (
	// ErrDecided: somebody released or discarded the request before.
	ErrDecided = refusal("outbox.decided")
	// ErrAllKnown: a release would add nothing, because the client's events are known by these ids already (G4).
	ErrAllKnown = refusal("outbox.all-known")
	// ErrSenderStopped: the partner that sent the request is not approved now.
	ErrSenderStopped = refusal("outbox.sender-stopped")
	// ErrClientStopped: the client that sent the request was revoked.
	ErrClientStopped = refusal("outbox.client-stopped")
	// ErrNotGranted: intake would reject an event of the request today, for the reason that follows in the error.
	ErrNotGranted = refusal("outbox.not-granted")
)

// quarantine stores a request whose key was used for something else (error E11). The same request again gets the same receipt.
func (e *Engine) quarantine(ctx context.Context, s Submission) (Receipt, error) {
	stored, err := e.insertQuarantine(ctx, s)
	if errors.Is(err, store.ErrConflict) { // the same request, at the same moment
		stored, err = e.cfg.DB.QuarantineOf(ctx, s.ClientID, s.Key, s.Fingerprint)
	}
	if errors.Is(err, ErrKeyReused) {
		return Receipt{}, err
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("%w: quarantine request: %w", ErrUnavailable, err)
	}
	return Receipt{Events: []Accepted{}, Quarantined: stored.ID}, nil
}

func (e *Engine) insertQuarantine(ctx context.Context, s Submission) (stored store.Quarantine, err error) {
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		stored, err = tx.QuarantineOf(ctx, s.ClientID, s.Key, s.Fingerprint)
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return err
		}
		_, waiting, err := tx.Quarantines(ctx, store.QuarantineFilter{ClientID: s.ClientID, Status: store.QuarantineOpen, Page: store.Page{Number: 1, Size: 1}})
		if err != nil {
			return err
		}
		if waiting >= maxQuarantined {
			return ErrKeyReused
		}
		first, err := tx.Key(ctx, s.ClientID, operation, s.Key)
		if err != nil {
			return fmt.Errorf("read first use of key: %w", err)
		}
		stored = store.Quarantine{
			PartnerID: s.PartnerID, ClientID: s.ClientID, IdempotencyKey: s.Key, Fingerprint: s.Fingerprint,
			FirstAnswer: first.ResponseBody, ReleaseKey: uuid.NewString(),
		}
		if err := tx.InsertQuarantine(ctx, &stored, s.quarantineRows()); err != nil {
			return err
		}
		return errors.Join(linkQuarantined(ctx, tx, s.Objects, stored.ID), e.notifyQuarantined(ctx, tx, stored, waiting == 0))
	})
	return stored, err
}

// quarantineRows makes the rows of the events of a quarantined submission.
func (s *Submission) quarantineRows() []store.QuarantinedEvent {
	rows := make([]store.QuarantinedEvent, len(s.Events))
	for i := range s.Events {
		ev := &s.Events[i]
		rows[i] = store.QuarantinedEvent{Attributes: ev.Attributes, DataKind: int64(ev.DataKind), Data: ev.Data, ContractVersions: s.versions(i)}
		if len(s.Objects) > 0 {
			rows[i].ObjectID = s.Objects[i]
		}
	}
	return rows
}

func linkQuarantined(ctx context.Context, tx *store.Tx, objects []string, id string) error {
	for _, object := range objects {
		if object == "" {
			continue
		}
		if err := tx.LinkObject(ctx, object, id); err != nil {
			return fmt.Errorf("link object of quarantined event: %w", err)
		}
	}
	return nil
}

// notifyQuarantined writes an audit entry, and notifies people of the first request of a client that waits.
func (e *Engine) notifyQuarantined(ctx context.Context, tx *store.Tx, q store.Quarantine, first bool) error {
	client, err := tx.Client(ctx, q.ClientID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := e.audit(ctx, tx, "quarantine.added", "quarantine", q.ID, client.Name, q.PartnerID, ""); err != nil || !first {
		return err
	}
	return e.cfg.Notifier.RequestQuarantined(ctx, tx, q)
}

// DiscardQuarantined decides that a quarantined request is never accepted; the reason is stored.
func (e *Engine) DiscardQuarantined(ctx context.Context, actor Actor, id, reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return ErrReasonMissing
	}
	return e.decide(ctx, actor, id, store.QuarantineDiscarded, reason)
}

func (e *Engine) decide(ctx context.Context, actor Actor, id, status, reason string) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		q, err := tx.Quarantine(ctx, id)
		if err != nil {
			return err
		}
		err = tx.DecideQuarantine(ctx, id, status, reason, actor.Name)
		if errors.Is(err, store.ErrConflict) {
			return errDecidedBy(ctx, &tx.Queries, id)
		}
		if err != nil {
			return fmt.Errorf("decide quarantined request: %w", err)
		}
		if status == store.QuarantineDiscarded {
			if err := e.takeReleaseKey(ctx, tx, q); err != nil {
				return err
			}
		}
		client, err := tx.Client(ctx, q.ClientID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		entry := store.Audit{Action: "quarantine." + status, ObjectKind: "quarantine", ObjectID: id, ObjectName: client.Name, PartnerID: q.PartnerID}
		return actor.audit(ctx, tx, entry, map[string]any{"reason": reason})
	})
}

// errDecidedBy returns ErrDecided with the name of the decider.
func errDecidedBy(ctx context.Context, db *store.Queries, id string) error {
	q, err := db.Quarantine(ctx, id)
	if err != nil || q.DecidedBy == "" {
		return ErrDecided
	}
	return &Refusal{Message: i18n.M("outbox.decided-by", q.DecidedBy), of: ErrDecided}
}

// takeReleaseKey uses up the key of a release, with a fingerprint that no request has. When the release has used it already,
// its events are accepted and the discard comes too late.
func (e *Engine) takeReleaseKey(ctx context.Context, tx *store.Tx, q store.Quarantine) error {
	fresh, err := tx.InsertKeys(ctx, []store.IdempotencyKey{{
		ClientID: q.ClientID, Operation: operation, Key: q.ReleaseKey, Fingerprint: []byte(store.QuarantineDiscarded), StatusCode: 202,
		ResponseBody: []byte("{}"), CreatedAt: tx.Now, ExpiresAt: e.keyExpiry(tx.Now.Time),
	}})
	if err == nil && len(fresh) == 0 {
		err = ErrDecided
	}
	return err
}

// Release accepts the events of a quarantined request after all, under a new key, and delivers them to the present
// subscribers. It rejects what intake would reject today. A crash in the middle accepts them once: a second release finds them
// accepted. Of two decisions at the same moment the first holds, and the other gets ErrDecided: a discard takes the key of the
// release, so that no event is both discarded and delivered.
func (e *Engine) Release(ctx context.Context, actor Actor, id string) (Receipt, error) {
	s, err := e.storedSubmission(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	if err := e.checkRelease(ctx, &s); err != nil {
		return Receipt{}, err
	}
	receipt, err := e.Accept(ctx, s)
	if errors.Is(err, ErrKeyReused) { // discarded a moment ago
		return Receipt{}, errDecidedBy(ctx, &e.cfg.DB.Queries, id)
	}
	if err != nil {
		return Receipt{}, err
	}
	if err := e.decide(ctx, actor, id, store.QuarantineReleased, ""); err != nil {
		return Receipt{}, err
	}
	return receipt, nil
}

// storedSubmission rebuilds the submission of an open request.
func (e *Engine) storedSubmission(ctx context.Context, id string) (Submission, error) {
	q, err := e.cfg.DB.Quarantine(ctx, id)
	if err != nil {
		return Submission{}, err
	}
	if q.Status != store.QuarantineOpen {
		return Submission{}, errDecidedBy(ctx, &e.cfg.DB.Queries, id)
	}
	partner, err := e.cfg.DB.Partner(ctx, q.PartnerID)
	if err != nil {
		return Submission{}, fmt.Errorf("find sender: %w", err)
	}
	rows, err := e.cfg.DB.QuarantinedEvents(ctx, id)
	if err != nil {
		return Submission{}, fmt.Errorf("read quarantined events: %w", err)
	}
	s := Submission{ClientID: q.ClientID, PartnerID: q.PartnerID, FromOwn: partner.Own, Key: q.ReleaseKey, Fingerprint: q.Fingerprint, Wait: true}
	for _, row := range rows {
		if row.Unread != nil {
			if errors.Is(row.Unread, store.ErrErased) {
				return Submission{}, ErrDataErased
			}
			return Submission{}, fmt.Errorf("read quarantined event: %w", row.Unread)
		}
		ev, err := event.FromParts(row.Attributes, event.DataKind(row.DataKind), row.Data)
		if err != nil {
			return Submission{}, fmt.Errorf("read quarantined event: %w", err)
		}
		s.Events, s.Objects = append(s.Events, ev), append(s.Objects, row.ObjectID)
		s.Versions = append(s.Versions, row.ContractVersions)
	}
	return s, nil
}

// checkRelease rejects a release that is not allowed, or would add nothing. It looks at the key of the release last: the key
// is written in one transaction with the events, so a release that saw the events of another one sees its key as well, and
// returns the answer of that.
func (e *Engine) checkRelease(ctx context.Context, s *Submission) error {
	rejection := e.checkSender(ctx, s)
	if rejection == nil {
		rejection = e.checkAnyNew(ctx, s)
	}
	if rejection == nil {
		return nil
	}
	_, err := e.cfg.DB.Key(ctx, s.ClientID, operation, s.Key)
	switch {
	case err == nil:
		return nil // accepted already: by another release, or by one that broke off
	case errors.Is(err, store.ErrNotFound):
		return rejection
	}
	return fmt.Errorf("read key of release: %w", err)
}

// checkSender applies the present rules of intake to the sender of a quarantined request.
func (e *Engine) checkSender(ctx context.Context, s *Submission) error {
	partner, err := e.cfg.DB.Partner(ctx, s.PartnerID)
	if err != nil {
		return fmt.Errorf("find sender: %w", err)
	}
	if partner.Status != store.PartnerApproved {
		return ErrSenderStopped
	}
	client, err := e.cfg.DB.Client(ctx, s.ClientID)
	if errors.Is(err, store.ErrNotFound) || err == nil && client.Status != store.ClientActive {
		return ErrClientStopped
	}
	if err != nil {
		return fmt.Errorf("find client of sender: %w", err)
	}
	for i := range s.Events {
		why, err := e.cfg.WhyNot(ctx, client, s.Events[i].Type, s.Events[i].Source)
		if err != nil {
			return fmt.Errorf("judge quarantined event: %w", err)
		}
		if why != "" {
			return &Refusal{Message: i18n.M("outbox.not-granted-why", why), of: ErrNotGranted}
		}
	}
	return nil
}

// checkAnyNew returns ErrAllKnown unless accepting a submission would add an event.
func (e *Engine) checkAnyNew(ctx context.Context, s *Submission) error {
	for i := range s.Events {
		_, err := e.cfg.DB.EventIDByIdentity(ctx, s.ClientID, s.Events[i].Source, s.Events[i].ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find event sent before: %w", err)
		}
	}
	return ErrAllKnown
}
