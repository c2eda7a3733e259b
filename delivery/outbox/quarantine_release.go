package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/delivery/event"
	"schakel/store"
)

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
			return fmt.Errorf("%w: %s", ErrNotGranted, strings.TrimSuffix(why, "."))
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
