package partners

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// Erasure describes the effect of erasing what a partner sent. Counts go up to [store.ListBound] + 1.
type Erasure struct {
	Possible bool // the partner ended, and there is a key to erase
	Events   int  // whose data becomes unreadable
	Plain    int  // that were stored before data was encrypted, and stay readable until retention removes them
	Open     int  // deliveries of its events that have not ended; they become dead letters
	// DoneAt is when data of the partner was erased last, zero for never, and DoneBy names the actor; empty once the audit trail does not
	// hold it any more. Of one that erased itself, by setting, it is the name of the system.
	DoneAt store.Time
	DoneBy string
}

// Erasure reports what erasing the data of a partner would do.
func (p *Partners) Erasure(ctx context.Context, partner store.Partner) (e Erasure, err error) {
	if partner.Status != store.PartnerEnded || partner.Own {
		return e, nil
	}
	keys, err := p.cfg.DB.DataKeys(ctx, partner.ID)
	for _, k := range keys {
		e.Possible = e.Possible || k.ErasedAt.IsZero()
		if k.ErasedAt.After(e.DoneAt.Time) {
			e.DoneAt = k.ErasedAt
		}
	}
	if err != nil {
		return e, registry.Wrap("list data keys", err)
	}
	if !e.DoneAt.IsZero() {
		by, err := p.cfg.DB.NewestAudits(ctx, store.AuditFilter{ObjectKind: "partner", ObjectID: partner.ID, Action: registry.ActionDataErased}, 1)
		if err != nil {
			return e, registry.Wrap("find who erased data", err)
		}
		if len(by) > 0 {
			e.DoneBy = by[0].ActorName
		}
	}
	if e.Events, e.Plain, err = p.cfg.DB.EncryptedEvents(ctx, partner.ID); err != nil || !e.Possible {
		return e, registry.Wrap("count events", err)
	}
	e.Open, err = p.cfg.DB.OpenDataOf(ctx, partner.ID, store.ListBound+1)
	return e, registry.Wrap("count deliveries", err)
}

// EraseData destroys the key of the data that a partner sent, once the partner ended. Nobody can read that data any more: deliveries that
// still need it become dead letters when they are tried. It cannot be undone, but by restoring a backup that holds the key.
func (p *Partners) EraseData(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	if err := registry.CheckReason(reason, true); err != nil {
		return err
	}
	return p.erase(ctx, actor, id, reason)
}

func (p *Partners) erase(ctx context.Context, actor registry.Actor, id, reason string) error {
	err := p.change(ctx, actor, id, func(tx *store.Tx, row *store.Partner) error {
		if row.Own || row.Status != store.PartnerEnded {
			return registry.Conflict("partners.partner.erase-not-ended")
		}
		n, err := tx.EraseDataKeys(ctx, row.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNothingToErase
		}
		messages, err := tx.DropAMQPFrom(ctx, row.ID)
		if err != nil {
			return fmt.Errorf("remove messages by AMQP: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionDataErased, partnerObject(*row), registry.Details{"reason": reason, "messages": messages})
	})
	if err == nil {
		store.AfterCommit(ctx, func() {
			if err := p.cfg.DB.ForgetDataKeys(context.WithoutCancel(ctx), id); err != nil {
				p.cfg.Log.WarnContext(ctx, "a data key was erased, and its sealed form may be in old pages of the database for a while", "partner", id, "error", err)
			}
		})
	}
	return err
}

// errNothingToErase says that a partner has no key of data.
var errNothingToErase = registry.Conflict("partners.partner.erase-nothing")

// eraseAtOnce bounds the partners that one call of EraseEnded looks at.
const eraseAtOnce = 100

// EraseEnded erases the data of partners that ended and of whose events no delivery is left to do, and returns how many.
func (p *Partners) EraseEnded(ctx context.Context) (done int, err error) {
	for after := ""; ; {
		page, err := p.cfg.DB.EndedWithDataKeys(ctx, after, eraseAtOnce)
		if err != nil {
			return done, registry.Wrap("list partners that ended", err)
		}
		for _, row := range page {
			after = row.ID
			open, err := p.cfg.DB.OpenDataOf(ctx, row.ID, 1)
			if err != nil {
				return done, registry.Wrap("count deliveries", err)
			}
			if open > 0 {
				continue
			}
			err = p.erase(ctx, registry.SystemActor(), row.ID, "")
			if errors.Is(err, errNothingToErase) { // another node was quicker
				continue
			}
			if err != nil {
				return done, fmt.Errorf("erase data of a partner that ended: %w", err)
			}
			done++
		}
		if len(page) < eraseAtOnce {
			return done, nil
		}
	}
}
