package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/web/site"
)

// Once gives a repeated request with the same Idempotency-Key the answer of the
// first, which is stored in the transaction of what it tells (IDEM-01, IDEM-14,
// IDEM-17). Every operation that changes something has it as its last middleware,
// behind withCaller; POST /events has the like in the engine, and the verbs of
// pull subscriptions are made repeatable by their lock tokens.
//
// The key is looked at before the body (IDEM-18). Keys are apart for each client
// and operation (IDEM-16, E13).
func (m *API) Once(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.Caller(c)
		if err != nil {
			return err
		}
		set, err := m.Registry.Profile.Current(c.Request().Context())
		if err != nil {
			return err
		}
		key, err := m.writeKey(c, set)
		if err != nil {
			return err
		}
		if key == "" {
			return next(c)
		}
		sum, err := requestFingerprint(c.Request())
		if err != nil {
			return err
		}
		o := &keyedOperation{m: m, lifetime: set.KeyLifetime, row: store.IdempotencyKey{
			ClientID: who.Client.ID, Operation: c.Request().Method + " " + c.Path(), Key: key, Fingerprint: sum,
		}}
		return o.run(c, next)
	}
}

// writeKey is the key of a request that changes something, "" when it has none and
// needs none (IDEM-03, IDEM-05).
func (m *API) writeKey(c echo.Context, set *profile.ProfileState) (string, error) {
	key, err := m.SentKey(c, set)
	if err != nil || key != "" {
		return key, err
	}
	policy := set.WriteKey
	if c.Request().Method == http.MethodDelete {
		policy = set.DeleteKey
	}
	if policy == registry.PolicyRequire {
		return "", m.KeyMissing()
	}
	return "", nil
}

// requestFingerprint is the SHA-256 over what a request asks (IDEM-08): its path and query, its media type, its condition
// and its body, which the handler reads again.
func requestFingerprint(r *http.Request) ([]byte, error) {
	body, err := ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", r.URL.RequestURI(), r.Header.Values("Content-Type"))
	if condition := r.Header.Values("If-Match"); len(condition) > 0 {
		fmt.Fprintf(h, "If-Match %q\n", condition)
	}
	h.Write(body)
	return h.Sum(nil), nil
}

// errKeyTaken ends a transaction whose key another request has completed.
var errKeyTaken = errors.New("another request completed this Idempotency-Key")

// keyedOperation is one request under a key.
type keyedOperation struct {
	m        *API
	lifetime time.Duration
	row      store.IdempotencyKey
}

// run answers with the stored outcome, or runs the handler and stores its answer. While
// it runs, the same key is answered 409.
func (o *keyedOperation) run(c echo.Context, next echo.HandlerFunc) error {
	if !o.m.running.enter(o.row.Name()) {
		return o.m.KeyInUse()
	}
	defer o.m.running.leave(o.row.Name())
	if done, err := o.answerStored(c); done || err != nil {
		return err
	}
	return o.perform(c, next)
}

// perform runs the handler in one transaction with the key. The unique insert of
// the key is the lock (E8): it comes first in the transaction, so of two nodes one
// waits for the other and then finds the key taken.
func (o *keyedOperation) perform(c echo.Context, next echo.HandlerFunc) error {
	request := c.Request()
	ctx, operation := o.m.DB.Operation(request.Context(), o.claim(request.Context()))
	defer operation.Rollback()
	c.SetRequest(request.WithContext(ctx))
	got, err := o.m.App.Record(c, next)
	c.SetRequest(request)
	if err != nil && !errors.Is(err, errKeyTaken) {
		return err
	}
	if err == nil && !got.Completed() {
		return got.Send(c)
	}
	if err == nil {
		err = operation.Commit(o.storeAnswer(request.Context(), got))
	}
	if errors.Is(err, errKeyTaken) {
		_, err := o.answerStored(c)
		return err
	}
	if err != nil {
		return fmt.Errorf("complete operation: %w", err)
	}
	return got.Send(c)
}

// runningKeys are the operations under way on this node.
type runningKeys struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func newRunningKeys() *runningKeys { return &runningKeys{names: make(map[string]struct{})} }

func (r *runningKeys) enter(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.names[name]; busy {
		return false
	}
	r.names[name] = struct{}{}
	return true
}

func (r *runningKeys) leave(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, name)
}

// KeyInUse answers a request whose Idempotency-Key belongs to a request under way.
func (m *API) KeyInUse() error {
	return site.RetryLater(http.StatusConflict, "key-in-use", "api.key-in-use", time.Second)
}

// KeyReused answers a request whose Idempotency-Key belongs to other content.
func (m *API) KeyReused() error {
	return site.NewProblem(http.StatusUnprocessableEntity, "key-reused", "api.key-reused")
}

// claim inserts the key of an operation, before what the operation writes.
func (o *keyedOperation) claim(ctx context.Context) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		row := o.row
		row.CreatedAt, row.ExpiresAt = tx.Now, store.At(tx.Now.Add(o.lifetime))
		free, err := tx.ClaimKey(ctx, &row)
		if err != nil {
			return fmt.Errorf("claim idempotency key: %w", err)
		}
		if !free {
			return errKeyTaken
		}
		return nil
	}
}

// storeAnswer stores the answer beside the key, in the same transaction.
func (o *keyedOperation) storeAnswer(ctx context.Context, got *site.RecordedAnswer) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		headers, err := json.Marshal(got.Header)
		if err != nil {
			return err
		}
		row := o.row
		row.StatusCode, row.Headers, row.ResponseBody = int64(got.Status), string(headers), append([]byte{}, got.Body...)
		return tx.SetKeyOutcome(ctx, &row)
	}
}

// answerStored answers with the stored outcome; false when there is none. A key whose time
// is over counts as new (IDEM-07).
func (o *keyedOperation) answerStored(c echo.Context) (bool, error) {
	stored, err := o.m.DB.Key(c.Request().Context(), o.row.ClientID, o.row.Operation, o.row.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read idempotency key: %w", err)
	case !o.m.App.Cfg.Now().Before(stored.ExpiresAt.Time):
		return false, nil
	case !bytes.Equal(stored.Fingerprint, o.row.Fingerprint):
		return false, o.m.KeyReused()
	}
	got := &site.RecordedAnswer{Status: int(stored.StatusCode), Body: stored.ResponseBody}
	if stored.Headers != "" {
		if err := json.Unmarshal([]byte(stored.Headers), &got.Header); err != nil {
			return false, fmt.Errorf("read stored headers: %w", err)
		}
	}
	return true, got.Send(c)
}
