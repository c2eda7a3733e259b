package endpointcheck

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/store"
)

// RunnerConfig configures a Runner. Every field must be set.
type RunnerConfig struct {
	DB      *store.DB
	Checker *Checker
	// Open unseals the secret of an endpoint's token client, Signatures its keys.
	Open       func(e store.Endpoint) (string, error)
	Signatures func(ctx context.Context, e store.Endpoint) (webhook.Signatures, error)
	// Certificate opens the client certificate that an endpoint is shown now; nil for none.
	Certificate func(e store.Endpoint) (*outbound.Certificate, time.Time, error)
	// Encrypter encrypts the data of events as that of real ones of their type is.
	Encrypter *jwe.Service
	Now       func() time.Time
	Log       *slog.Logger
}

// Runner checks endpoints in the background and stores the reports. It is safe for concurrent use.
type Runner struct {
	cfg   RunnerConfig
	turns chan struct{}
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

const (
	atOnce  = 4               // checks that this process runs
	longest = 2 * time.Minute // of one check, from its turn on
)

// NewRunner makes a Runner; Close ends it.
func NewRunner(cfg RunnerConfig) *Runner {
	r := &Runner{cfg: cfg, turns: make(chan struct{}, atOnce)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close stops the checks that run and waits for them; they are stored as stopped.
func (r *Runner) Close() {
	r.stop()
	r.tasks.Wait()
}

// Errors of Start, whose texts may be shown.
var (
	ErrRuns     error = &outbox.Refusal{Message: "check.refused.runs"}     // a check of this endpoint is under way
	ErrNothing  error = &outbox.Refusal{Message: "check.refused.nothing"}  // nothing is sent to this endpoint
	ErrWaits    error = &outbox.Refusal{Message: "check.refused.waits"}    // its receiver asked for a pause
	ErrStranger error = &outbox.Refusal{Message: "check.refused.stranger"} // its partner is not approved
)

// Start begins a check of an endpoint by somebody and returns before it is done. source is that of the events, example one that fits a
// contract; without one the events are test events. Another partner's endpoint is store.ErrNotFound.
func (r *Runner) Start(ctx context.Context, by outbox.Actor, endpointID, source string, example []byte) (store.EndpointCheck, error) {
	var e store.Endpoint
	var c store.EndpointCheck
	err := r.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		if e, err = tx.Endpoint(ctx, endpointID); err != nil {
			return err
		}
		partner, err := tx.Partner(ctx, e.PartnerID)
		if err != nil {
			return err
		}
		switch {
		case by.PartnerID != "" && by.PartnerID != e.PartnerID:
			return store.ErrNotFound
		case e.Kind != store.EndpointWebhook || e.Status == store.EndpointEnded:
			return ErrNothing
		case partner.Status != store.PartnerApproved:
			return ErrStranger
		case e.WaitsAt(tx.Now.Time):
			return ErrWaits
		}
		c = store.EndpointCheck{EndpointID: e.ID, StartedBy: by.Name, ConfigVersion: e.ConfigVersion}
		if err := tx.BeginEndpointCheck(ctx, &c); err != nil {
			return err
		}
		return tx.InsertAudit(ctx, store.Audit{
			ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Action: "endpoint.checked",
			ObjectKind: "endpoint", ObjectID: e.ID, ObjectName: e.Name, PartnerID: e.PartnerID,
		})
	})
	if errors.Is(err, store.ErrConflict) {
		err = ErrRuns
	}
	if err != nil {
		return c, err
	}
	r.tasks.Go(func() { r.run(e, c, source, example) })
	return c, nil
}

func (r *Runner) run(e store.Endpoint, c store.EndpointCheck, source string, example []byte) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-r.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(r.ctx, longest)
	defer cancel()
	report, err := r.check(ctx, e, source, example)
	text, _ := json.Marshal(report) // it holds texts and numbers alone
	c.Result, c.Faults, c.Advice, c.Report = string(report.Result), int64(report.Count(Fault)), int64(report.Count(Advice)), string(text)
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "check of endpoint stopped", slog.String("endpoint", e.ID), slog.Any("error", err))
		c.Result = store.CheckStopped
	}
	// Also when it was stopped: somebody looks at the page.
	storing, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := r.cfg.DB.Write(storing, func(tx *store.Tx) error { return tx.FinishEndpointCheck(storing, &c) }); err != nil {
		r.cfg.Log.ErrorContext(storing, "report of check not stored", slog.String("endpoint", e.ID), slog.Any("error", err))
	}
}

// check makes the target of an endpoint and checks it.
func (r *Runner) check(ctx context.Context, e store.Endpoint, source string, example []byte) (Report, error) {
	t := Target{
		URL: e.URL, Mode: e.ContentMode, Batches: e.BatchEvents > 1, Timeout: time.Duration(e.TimeoutMS) * time.Millisecond, Event: example, Source: source,
	}
	if e.RatePerSecond > 0 {
		t.Pause = time.Second / time.Duration(e.RatePerSecond)
	}
	if r.cfg.Certificate != nil {
		var err error
		if t.Certificate, _, err = r.cfg.Certificate(e); err != nil {
			return Report{}, err
		}
	}
	if e.TokenAuthMethod != "" && e.TokenAuthMethod != webhook.AuthNone {
		secret, err := r.cfg.Open(e)
		if err != nil {
			return Report{}, err
		}
		t.Token = &webhook.TokenConfig{
			ConfigVersion: strconv.FormatInt(e.ConfigVersion, 10), TokenURL: e.TokenURL, ClientID: e.TokenClientID, Scope: e.TokenScope,
			AuthMethod: e.TokenAuthMethod, Secret: webhook.Secret(secret), Certificate: t.Certificate,
		}
	}
	var err error
	if t.Sign, err = r.cfg.Signatures(ctx, e); err != nil {
		return Report{}, err
	}
	sendings, err := r.cfg.DB.Sendings(ctx)
	if err != nil {
		return Report{}, err
	}
	if encryption := sendings[e.ID].ForTest(typeOf(example)); encryption != nil {
		t.Encrypt = func(ctx context.Context, ev *event.Event) (event.Event, error) {
			return r.cfg.Encrypter.Encrypt(ctx, encryption, ev.ID, ev)
		}
	}
	return r.cfg.Checker.Run(ctx, t)
}

// typeOf gives the type of an example event, or of the test event that is sent without one.
func typeOf(example []byte) string {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(example, &e) != nil { // without one, too
		return outbox.TestEventType
	}
	return e.Type
}

// Wait waits a little for the end of a check and returns it as it is then.
func (r *Runner) Wait(ctx context.Context, c store.EndpointCheck, patience time.Duration) (store.EndpointCheck, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return c, nil
		case <-r.ctx.Done():
			return c, nil
		case <-tick.C:
		}
		now, err := r.cfg.DB.EndpointCheck(ctx, c.EndpointID, c.ID)
		if ctx.Err() != nil {
			return c, nil
		}
		if err != nil || now.Result != store.CheckRuns {
			return now, err
		}
		c = now
	}
}

// ReadReport reads a report as it is stored.
func ReadReport(c store.EndpointCheck) (r Report, err error) {
	if c.Report == "" {
		return r, nil
	}
	err = json.Unmarshal([]byte(c.Report), &r)
	return r, err
}
