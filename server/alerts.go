package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/store"
	"schakel/templates/i18n"
)

// AlertFlags set when administrators are told that something is wrong.
type AlertFlags struct {
	AlertAfter      time.Duration `default:"5m" help:"How long a problem that the checks of the installation find must last before administrators are mailed, and be gone before they are told that it is over. 0 mails nothing."`
	AlertNoProgress time.Duration `default:"15m" help:"Alert when nothing was delivered for this long while deliveries wait. 0 for never."`
	AlertBacklogAge time.Duration `default:"1h" help:"Alert when a delivery waits for longer than this. 0 for never."`
}

// CheckFlags checks what flags cannot say one by one.
func (f AlertFlags) CheckFlags() error {
	if f.AlertAfter < 0 || f.AlertNoProgress < 0 || f.AlertBacklogAge < 0 {
		return errors.New("--alert-after, --alert-no-progress and --alert-backlog-age cannot be negative")
	}
	if f.AlertNoProgress > 50*time.Minute {
		return errors.New("--alert-no-progress can be at most 50m: deliveries are counted by the minute for an hour")
	}
	return nil
}

// The events that tell the own organisation of alerts.
const (
	alertRaisedType = "nl.schakel.alert.raised.v1"
	alertEndedType  = "nl.schakel.alert.ended.v1"
)

// alertSetting holds the open alerts as JSON, for all nodes together.
const alertSetting = "alerts.open"

// alerts tells administrators by mail, and subscribers of the own organisation by event, what is wrong with the installation.
//
// Mails are written in the transaction that notes what was told, so each is sent once. An event is told before that, under an id that is
// the same each time; one that cannot be stored, as on a full disk, is left out, since the mail must go.
type alerts struct {
	flags  AlertFlags
	db     *store.DB
	mails  *mail.Mails
	accept func(context.Context, outbox.Submission) (outbox.Receipt, error)
	base   string
	now    func() time.Time
	log    *slog.Logger
	more   func() []installation.Finding // of what no check of the installation looks at; may be nil
}

// turn mails and publishes what changed since the last turn of any node.
func (a *alerts) turn(ctx context.Context, findings []installation.Finding) error {
	if a.flags.AlertAfter == 0 {
		return nil
	}
	moved, err := a.deliveries(ctx)
	if err != nil {
		return err
	}
	findings = append(findings, moved...)
	if a.more != nil {
		findings = append(findings, a.more()...)
	}
	now := a.now()
	kept, err := a.db.Setting(ctx, alertSetting)
	if err != nil {
		return fmt.Errorf("read the open alerts: %w", err)
	}
	for _, change := range stepAlerts(kept, findings, now, a.flags.AlertAfter).changes {
		if err := a.tell(ctx, change); err != nil {
			a.log.WarnContext(ctx, "an alert is not told as an event", "code", change.Code, "error", err)
		}
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		kept, err := tx.Setting(ctx, alertSetting)
		if err != nil {
			return err
		}
		step := stepAlerts(kept, findings, now, a.flags.AlertAfter)
		for _, change := range step.changes {
			if err := a.mail(ctx, tx, change); err != nil {
				return err
			}
		}
		if step.text == kept {
			return nil
		}
		return tx.SetSetting(ctx, alertSetting, step.text)
	})
}

// alertStep holds the outcome of one look.
type alertStep struct {
	changes []installation.AlertChange
	text    string // the alerts that are open now, as they are stored
}

// stepAlerts brings the stored alerts forward. Ones that cannot be read are begun anew.
func stepAlerts(kept string, findings []installation.Finding, now time.Time, after time.Duration) alertStep {
	var open map[string]installation.Alert
	_ = json.Unmarshal([]byte(kept), &open)
	next, changes := installation.StepAlerts(open, findings, now, after)
	text, err := json.Marshal(next)
	if err != nil || len(next) == 0 {
		text = nil
	}
	return alertStep{changes, string(text)}
}

// deliveries judges what moved lately by the counts behind the charts.
func (a *alerts) deliveries(ctx context.Context) ([]installation.Finding, error) {
	points, err := a.db.Traffic(ctx, []string{store.AllEndpoints}, store.LastHour, store.At(a.now()))
	if err != nil {
		return nil, fmt.Errorf("read what moved lately: %w", err)
	}
	var d installation.Deliveries
	sampled := false
	for i := len(points) - 1; i >= 0; i-- {
		if a.now().Sub(points[i].At) <= a.flags.AlertNoProgress+time.Minute {
			d.Delivered += points[i].Delivered
		}
		if points[i].Pending >= 0 && !sampled {
			d.Oldest, sampled = points[i].Oldest, true
		}
	}
	return installation.JudgeDeliveries(d, installation.DeliveryBounds{NoProgress: a.flags.AlertNoProgress, BacklogAge: a.flags.AlertBacklogAge}), nil
}

// mail tells the administrators of a change. That a disk runs full they were mailed when it did.
func (a *alerts) mail(ctx context.Context, tx *store.Tx, c installation.AlertChange) error {
	switch {
	case c.What == installation.AlertEnded:
		return a.mails.AlertEnded(ctx, tx, c.Text, c.Since, c.Gone)
	case c.What == installation.AlertRaised && strings.HasPrefix(c.Code, "disk-"):
		return nil
	}
	return a.mails.AlertRaised(ctx, tx, c.Text, c.Remedy, c.Href, c.Since, c.What == installation.AlertContinue)
}

// replaced tells by an event that a key was replaced by schedule; the mail is queued with the change. Several may be at once, so the id names the key
// or its endpoint.
func (a *alerts) replaced(ctx context.Context, id string, text i18n.Message) {
	const code = "rotation-replaced"
	now := a.now()
	err := a.hand(ctx, map[string]any{
		"id": fmt.Sprintf("alert-%s-%s-%d", code, id, now.Unix()), "type": alertRaisedType, "subject": code, "partitionkey": code,
		"time": now.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": alertData{Code: code, Severity: installation.Warning, Text: text.String(), Remedy: i18n.M("installation.rotation.remedy").String(), Since: store.At(now)},
	})
	if err != nil {
		a.log.WarnContext(ctx, "an alert is not told as an event", "code", code, "error", err)
	}
}

// alertData is the data of an event.
type alertData struct {
	Code     string                `json:"code"`
	Severity installation.Severity `json:"severity"`
	Text     string                `json:"text"`
	Remedy   string                `json:"remedy"`
	Since    store.Time            `json:"since"`
	Ends     store.Time            `json:"ends,omitzero"` // of a certificate or key
}

// tell hands an event of a change to the engine, for subscribers of the own organisation alone.
func (a *alerts) tell(ctx context.Context, c installation.AlertChange) error {
	kind, at := alertRaisedType, c.Told
	switch c.What {
	case installation.AlertContinue:
		return nil // a reminder is for people
	case installation.AlertEnded:
		kind, at = alertEndedType, c.Gone
	}
	return a.hand(ctx, map[string]any{
		"id":   fmt.Sprintf("alert-%s-%s-%d", c.Code, c.What, c.Since.Unix()),
		"type": kind, "subject": c.Code, "partitionkey": c.Code, "time": at.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": alertData{Code: c.Code, Severity: c.Severity, Text: c.Text.String(), Remedy: c.Remedy.String(), Since: store.At(c.Since)},
	})
}

// hand makes an event of its attributes and data, and hands it to the engine, for subscribers of the own organisation alone.
func (a *alerts) hand(ctx context.Context, members map[string]any) error {
	s, err := ownEvent(ctx, a.db, a.base, store.OnlyFor(), members)
	if err == nil {
		_, err = a.accept(ctx, s)
	}
	return err
}
