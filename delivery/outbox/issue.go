package outbox

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
)

// causeOf names why an attempt failed, as the key of an issue: the kind of failure when there was no usable answer ("dns", "connect",
// "tls", "timeout", "token", …), and the HTTP status otherwise ("http-503"). It holds no ids, times or words of the receiver, so that the
// same failure has the same cause. What arrived, what we stopped ourselves, and a 401 after which another token is tried have none.
func causeOf(r *Result) string {
	switch kind := r.Attempt.ErrorKind; {
	case r.Status == store.DeliveryDelivered, r.Untried, r.Reason == webhook.ReasonTokenRenewed, kind == outbound.KindCanceled:
		return ""
	case kind == string(webhook.KindRequest): // a transport tells more of it by its reason
		return cmp.Or(r.Reason, kind)
	case kind != "":
		return kind
	case r.Attempt.StatusCode != 0:
		return "http-" + strconv.FormatInt(r.Attempt.StatusCode, 10)
	}
	return r.Reason
}

// resolveIssues resolves the issues of endpoints that deliveries arrived at since the last time, on this node. After a restart the next
// delivery that arrives starts it again.
func (e *Engine) resolveIssues(ctx context.Context) error {
	arrived := make(map[string]store.Time)
	e.mu.Lock()
	for id, q := range e.queues {
		if !q.arrivedAt.IsZero() {
			arrived[id], q.arrivedAt = q.arrivedAt, store.Time{}
		}
	}
	e.mu.Unlock()
	for id, at := range arrived {
		open, err := e.cfg.DB.HasOpenIssues(ctx, id)
		if err != nil {
			return err
		}
		if !open {
			continue
		}
		err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.ResolveIssues(ctx, id, at)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// How soon people are notified of issues. What fails once and arrives at the next attempt is no news.
const (
	issueGather = 5 * time.Minute // after an issue was opened or reopened, while it is so still
	issueLatest = "issues.notified"
)

// notifyIssues notifies people of issues that stay open; of the same issue once in noticeEach at most, and of any once in noticeAny.
func (e *Engine) notifyIssues(ctx context.Context) error {
	raised, told := store.At(e.cfg.Now().Add(-issueGather)), store.At(e.cfg.Now().Add(-noticeEach))
	due, err := e.cfg.DB.HasRaisedIssues(ctx, raised, told)
	if err != nil || !due {
		return err
	}
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		last, err := tx.Setting(ctx, issueLatest)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339Nano, last); err == nil && tx.Now.Sub(at) < noticeAny && !tx.Now.Before(at) {
			return nil
		}
		issues, err := tx.RaisedIssues(ctx, raised, told, noticeMost)
		if err != nil || len(issues) == 0 {
			return err
		}
		if err := e.cfg.Notifier.IssuesOpened(ctx, tx, issues); err != nil {
			return err
		}
		for _, i := range issues {
			if err := tx.IssuesTold(ctx, i.EndpointID); err != nil {
				return err
			}
		}
		return tx.SwapSetting(ctx, issueLatest, last, tx.Now.Format(time.RFC3339Nano))
	})
	if errors.Is(err, store.ErrConflict) { // another node notified people at this moment
		return nil
	}
	return err
}
