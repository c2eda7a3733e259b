package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"schakel/store"
)

// jobStep is the number of deliveries that one transaction of a job handles.
const jobStep = 200

// stepJob takes the next step of a job and stores its progress in the same transaction. It returns the endpoints that have more to
// send by it; nil when others may have too.
func (e *Engine) stepJob(ctx context.Context, id string) (endpoints map[string]struct{}, err error) {
	return endpoints, e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil || j.Status != store.JobRunning || j.Stage != "" {
			return err
		}
		most, next := allowance(j, tx.Now)
		if most == 0 {
			return nil // another node took this step
		}
		var f store.DeliveryFilter
		if err := json.Unmarshal([]byte(j.Filter), &f); err != nil {
			return fmt.Errorf("read filter: %w", err)
		}
		f.AfterID = j.Cursor
		ids, err := tx.DeliveryIDs(ctx, f, most)
		if err != nil {
			return err
		}
		settle, err := tx.LockOrder(ctx, ids)
		if err != nil {
			return err
		}
		refused, resent := JobRefusals(j), map[string]string(nil)
		if j.Action == ActionResend {
			if resent, err = e.resendMany(ctx, tx, j.ID, ids); err != nil {
				return err
			}
		}
		if len(resent) == len(ids) {
			endpoints = make(map[string]struct{})
		}
		for _, id := range ids {
			j.Cursor = id
			if endpoint, done := resent[id]; done {
				j.Done++
				if endpoints != nil {
					endpoints[endpoint] = struct{}{}
				}
				continue
			}
			reason, err := e.jobItem(ctx, tx, j, id)
			if err != nil {
				return err
			}
			if reason == "" {
				j.Done++
			} else {
				j.Refused++
				refused[reason]++
			}
		}
		if err := settle(ctx); err != nil {
			return err
		}
		j.NextAt, j.Refusals = next(len(ids)), encodeRefusals(refused)
		if len(ids) < most {
			j.Status, j.FinishedAt = store.JobDone, tx.Now
		}
		return tx.UpdateResendJob(ctx, &j)
	})
}

// resendMany resends those of a step that need no look at each by itself, and returns their endpoints by their ids. What is
// missing is left to jobItem.
func (e *Engine) resendMany(ctx context.Context, tx *store.Tx, jobID string, ids []string) (map[string]string, error) {
	rows, err := tx.Resendable(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read deliveries to resend: %w", err)
	}
	var taken []store.Delivery
	var keys []string
	endpoints := make(map[string]string, len(rows))
	for i := range rows {
		if d := &rows[i]; !d.Expired(tx.Now) {
			taken, keys, endpoints[d.ID] = append(taken, *d), append(keys, resendKey(d, tx.Now.Time)), d.EndpointID
		}
	}
	done, err := tx.ResendMany(ctx, jobID, taken, keys, e.keyExpiry(tx.Now.Time))
	if err != nil {
		return nil, fmt.Errorf("resend deliveries: %w", err)
	}
	resent := make(map[string]string, len(done))
	for _, id := range done {
		resent[id] = endpoints[id]
	}
	return resent, nil
}

// jobItem handles one delivery and returns why it could not; "" when it could.
func (e *Engine) jobItem(ctx context.Context, tx *store.Tx, j store.ResendJob, id string) (reason string, err error) {
	if j.Action == ActionDiscard {
		done, err := tx.Discard(ctx, id, j.Reason)
		if !done {
			reason = RefusedChanged
		}
		return reason, err
	}
	d, err := tx.Delivery(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return RefusedGone, tx.InsertRefusal(ctx, store.ResendRefusal{JobID: j.ID, DeliveryID: id, Reason: RefusedGone})
	}
	if err != nil {
		return "", err
	}
	done, err := e.resend(ctx, tx, d)
	if err != nil {
		return "", err
	}
	if done {
		return "", tx.MarkResent(ctx, d, j.ID)
	}
	if reason, err = refusedFor(ctx, tx, d); err != nil {
		return "", err
	}
	return reason, tx.InsertRefusal(ctx, store.ResendRefusal{JobID: j.ID, DeliveryID: id, Reason: reason})
}
