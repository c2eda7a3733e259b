package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/site"
)

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
