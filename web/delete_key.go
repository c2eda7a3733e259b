package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
)

// deleteOnce gives a repeated DELETE with the same Idempotency-Key the answer of
// the first (IDEM-05, IDEM-14), and refuses one without a key where the profile
// asks for it. Only what was done is kept, so a refused request can be mended and
// repeated under its key (E17). It stands behind withCaller.
//
// The answer is kept just after the deletion and not in its transaction: a crash
// between the two makes the repeated request find that it is gone already.
func (m *machineAPI) deleteOnce(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.caller(c)
		if err != nil {
			return err
		}
		ctx := c.Request().Context()
		set, err := m.Registry.Profile.Current(ctx)
		if err != nil {
			return err
		}
		key, err := m.sentKey(c, set)
		switch {
		case err != nil:
			return err
		case key == "" && set.DeleteKey == registry.PolicyRequire:
			return m.keyMissing()
		case key == "":
			return next(c)
		}
		sum := sha256.Sum256([]byte(c.Request().URL.Path))
		kept := store.IdempotencyKey{
			ClientID: who.client.ID, Operation: "DELETE " + c.Path(), Key: key, Fingerprint: sum[:],
			ExpiresAt: store.At(m.app.cfg.Now().Add(set.KeyLifetime)),
		}
		if done, err := m.answerDelete(c, kept); done || err != nil {
			return err
		}
		return m.deleteAndKeep(c, next, kept)
	}
}

// answerDelete answers from what was kept; false when nothing was.
func (m *machineAPI) answerDelete(c echo.Context, wanted store.IdempotencyKey) (bool, error) {
	stored, err := m.DB.Key(c.Request().Context(), wanted.ClientID, wanted.Operation, wanted.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read idempotency key: %w", err)
	case !m.app.cfg.Now().Before(stored.ExpiresAt.Time):
		return false, nil
	case !bytes.Equal(stored.Fingerprint, wanted.Fingerprint):
		return false, m.keyReused()
	case len(stored.ResponseBody) == 0:
		return true, c.NoContent(int(stored.StatusCode))
	}
	return true, c.JSONBlob(int(stored.StatusCode), stored.ResponseBody)
}

// deleteAndKeep runs the handler and keeps the answer to what it did.
func (m *machineAPI) deleteAndKeep(c echo.Context, next echo.HandlerFunc, kept store.IdempotencyKey) error {
	copied := &copiedBody{ResponseWriter: c.Response().Writer}
	c.Response().Writer = copied
	if err := next(c); err != nil {
		return err
	}
	status := c.Response().Status
	if status < 200 || status > 299 {
		return nil
	}
	kept.StatusCode, kept.ResponseBody = int64(status), append([]byte{}, copied.body.Bytes()...) // never nil
	ctx := context.WithoutCancel(c.Request().Context())                                          // it is done, also for a client that went away
	return m.DB.Write(ctx, func(tx *store.Tx) error {
		kept.CreatedAt = tx.Now
		_, err := tx.InsertKeys(ctx, []store.IdempotencyKey{kept})
		return err
	})
}

// copiedBody keeps a copy of what a handler answers; answers to a DELETE are small.
type copiedBody struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write implements io.Writer.
func (b *copiedBody) Write(p []byte) (int, error) {
	b.body.Write(p)
	return b.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (b *copiedBody) Unwrap() http.ResponseWriter { return b.ResponseWriter }
