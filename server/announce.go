package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/server/cli"
	"schakel/store"
)

// typeContractPublished is the event that tells partners of a contract version.
const typeContractPublished = "nl.schakel.contracts.contract-published.v1"

const (
	announceEvery   = 5 * time.Second
	announceOverlap = 10 * time.Minute // longer than any transaction takes
	announceSetting = "contracts.announced-through"
)

// announcer informs partners of contract versions that are published, deprecated or
// withdrawn, as an event like any other. What happened stands in the audit trail,
// written in the transaction that did it, so that nothing is lost when the program
// stops in between; the id of an event is that of its entry, so that telling it
// twice, also by several nodes, is one event (guarantee G4).
type announcer struct {
	db     *store.DB
	accept func(context.Context, outbox.Submission) (outbox.Receipt, error)
	base   string
	now    func() time.Time
	log    *slog.Logger

	told   map[string]time.Time // entries told by this node lately
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// announcer informs partners of the contracts of this Schakel.
func (p *program) announcer(log *slog.Logger) *announcer {
	return &announcer{db: p.db, accept: p.engine.Accept, base: p.base, now: cli.Clock, log: log, told: map[string]time.Time{}}
}

// Name implements Service.
func (a *announcer) Name() string { return "announcer" }

// Start implements Service. What happened before the first start is not told.
func (a *announcer) Start(ctx context.Context) error {
	if _, err := a.through(ctx); err != nil {
		return err
	}
	ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.done.Go(func() {
		for cli.Pause(ctx, announceEvery) {
			if err := a.turn(ctx); err != nil && ctx.Err() == nil {
				a.log.WarnContext(ctx, "contract events wait; they are tried again", "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service: what is not told yet is told after the next start.
func (a *announcer) Stop(context.Context) error {
	a.cancel()
	a.done.Wait()
	return nil
}

// through reads until when everything was told; it begins at the first start.
func (a *announcer) through(ctx context.Context) (time.Time, error) {
	kept, err := a.db.Setting(ctx, announceSetting)
	if err != nil {
		return time.Time{}, fmt.Errorf("read what was announced: %w", err)
	}
	if kept == "" {
		begin := a.now().UTC().Add(announceOverlap) // so that looking back ends now
		return begin, a.keep(ctx, "", begin)
	}
	return time.Parse(time.RFC3339Nano, kept)
}

func (a *announcer) keep(ctx context.Context, before string, through time.Time) error {
	err := a.db.Write(ctx, func(tx *store.Tx) error {
		return tx.SwapSetting(ctx, announceSetting, before, through.Format(time.RFC3339Nano))
	})
	if err != nil && !errors.Is(err, store.ErrConflict) { // another node was faster
		return fmt.Errorf("keep what was announced: %w", err)
	}
	return nil
}

// turn announces what happened since the last turn.
func (a *announcer) turn(ctx context.Context) error {
	through, err := a.through(ctx)
	if err != nil {
		return err
	}
	began := a.now().UTC()
	for action, status := range map[string]string{
		registry.ActionContractPublished: store.VersionPublished, registry.ActionContractDeprecated: store.VersionDeprecated,
		registry.ActionContractWithdrawn: store.VersionWithdrawn,
	} {
		if err := a.tellAll(ctx, action, status, through.Add(-announceOverlap)); err != nil {
			return err
		}
	}
	for id, at := range a.told {
		if at.Before(began.Add(-3 * announceOverlap)) {
			delete(a.told, id)
		}
	}
	if began.Sub(through) < announceOverlap/2 {
		return nil // a write now and then will do
	}
	return a.keep(ctx, through.Format(time.RFC3339Nano), began)
}

func (a *announcer) tellAll(ctx context.Context, action, status string, from time.Time) error {
	f := store.AuditFilter{ObjectKind: "contract", Action: action, From: store.At(from), Page: store.Page{Number: 1, Size: 500}}
	for {
		rows, _, err := a.db.Audits(ctx, f)
		if err != nil {
			return fmt.Errorf("read audit trail: %w", err)
		}
		for _, row := range rows {
			if _, done := a.told[row.ID]; done {
				continue
			}
			if err := a.tell(ctx, row, status); err != nil {
				return fmt.Errorf("announce contract %s: %w", row.ObjectID, err)
			}
			a.told[row.ID] = row.At.Time
		}
		if len(rows) < f.Size {
			return nil
		}
		f.Number++
	}
}

// contractChanged is the data of the event.
type contractChanged struct {
	ContractID string `json:"contractId"`
	Version    string `json:"version"`
	Status     string `json:"status"`
	Digest     string `json:"digest"`
	URL        string `json:"url"`
}

// audience returns who may know of a contract when the event is made: with the visibility named or internal only the partners
// it is shown to by name, and the one that owns it. Who is named later gets nothing of before (EDU-06d, EDU-07).
func (a *announcer) audience(ctx context.Context, about store.Contract) (store.Audience, error) {
	var named []string
	switch about.Visibility {
	case store.VisibilityPublic, store.VisibilityPartners:
		return "", nil
	case store.VisibilityNamed:
		var err error
		if named, err = a.db.ContractPartners(ctx, about.ID); err != nil {
			return "", fmt.Errorf("list named partners: %w", err)
		}
	}
	if about.OwnerPartnerID != "" && !slices.Contains(named, about.OwnerPartnerID) {
		named = append(named, about.OwnerPartnerID)
	}
	return store.OnlyFor(named...), nil
}

// tell hands one event to the engine, for those who may see the contract.
func (a *announcer) tell(ctx context.Context, row store.Audit, status string) error {
	var detail struct{ Version string }
	if err := json.Unmarshal([]byte(row.Detail), &detail); err != nil || detail.Version == "" {
		return err // an entry of before this was told
	}
	about, err := a.db.Contract(ctx, row.ObjectID)
	if err != nil {
		return err
	}
	audience, err := a.audience(ctx, about)
	if err != nil {
		return err
	}
	v, err := a.db.ContractVersion(ctx, row.ObjectID, detail.Version)
	if err != nil {
		return err
	}
	s, err := ownEvent(ctx, a.db, a.base, audience, map[string]any{
		"id": row.ID, "type": typeContractPublished, "subject": about.ID,
		"time": row.At.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": contractChanged{about.ID, v.Version, status, "sha256:" + v.Digest, a.base + "/contracts/" + url.PathEscape(about.ID) + "/versions/" + url.PathEscape(v.Version)},
	})
	if err != nil {
		return err
	}
	_, err = a.accept(ctx, s)
	return err
}

// sourceOf is the source of the events of an organisation with an OIN.
func sourceOf(oin string) string { return "urn:nld:oin:" + oin + ":systeem:schakel" }

// ownEvent makes what hands in one event of this Schakel: its attributes and data but for specversion and source.
func ownEvent(ctx context.Context, db *store.DB, base string, to store.Audience, members map[string]any) (outbox.Submission, error) {
	own, err := db.OwnPartner(ctx)
	if err != nil {
		return outbox.Submission{}, fmt.Errorf("find own organisation: %w", err)
	}
	members["specversion"], members["source"] = "1.0", base
	if own.OIN != "" {
		members["source"] = sourceOf(own.OIN)
	}
	body, err := json.Marshal(members)
	if err != nil {
		return outbox.Submission{}, fmt.Errorf("write event: %w", err)
	}
	_, events, err := event.Read(http.Header{"Content-Type": {event.MediaType}}, body, event.Limits{})
	if err != nil {
		return outbox.Submission{}, fmt.Errorf("make event: %w", err)
	}
	return outbox.Submission{ClientID: "schakel", PartnerID: own.ID, FromOwn: true, Events: events, Audience: to}, nil
}
