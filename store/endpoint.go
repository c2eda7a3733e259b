package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kinds and states of an endpoint, and states of its circuit.
const (
	EndpointWebhook = "webhook"
	EndpointPull    = "pull"
	EndpointAMQP    = "amqp"
	EndpointFiles   = "files"
	EndpointInbox   = "inbox" // a test inbox: this program receives for its partner

	EndpointActive    = "active"
	EndpointPaused    = "paused"    // by a person
	EndpointSuspended = "suspended" // by the engine (403) or an administrator
	EndpointEnded     = "ended"

	CircuitClosed   = "closed"
	CircuitOpen     = "open"
	CircuitHalfOpen = "half-open"
)

// Schemes and algorithms of the signatures on requests to an endpoint.
const (
	SignNone     = ""                        // the default: TLS and the access token prove the sender
	SignStandard = "standard-webhooks"       // the headers of Standard Webhooks, over the body
	SignMessage  = "http-message-signatures" // RFC 9421 with Content-Digest (RFC 9530), over request line, headers and body

	SignHMAC    = "hmac-sha256"
	SignEd25519 = "ed25519"
)

// DefaultBatchBytes bounds a batch where an endpoint does not.
const DefaultBatchBytes = 1 << 20

// Endpoint locates where a partner receives. Circuit and limits live here, so that they survive a restart.
type Endpoint struct {
	ID               string `db:"id"`
	PartnerID        string `db:"partner_id"`
	Name             string `db:"name"`
	Kind             string `db:"kind"`
	URL              string `db:"url"`
	ContentMode      string `db:"content_mode"` // structured or binary
	TokenURL         string `db:"token_url"`
	TokenClientID    string `db:"token_client_id"`
	TokenSecret      string `db:"token_secret"` // sealed
	TokenScope       string `db:"token_scope"`
	TokenAuthMethod  string `db:"token_auth_method"` // none, client_secret_basic, client_secret_post, private_key_jwt
	Status           string `db:"status"`
	StatusReason     string `db:"status_reason"`
	StatusAt         Time   `db:"status_at"`       // when Status became what it is; zero when that is not known
	PausedBy         string `db:"paused_by"`       // the name of the administrator who paused it; empty when its partner did
	RatePerSecond    int64  `db:"rate_per_second"` // 0 is no limit
	MaxConcurrency   int64  `db:"max_concurrency"`
	TimeoutMS        int64  `db:"timeout_ms"`    // of one attempt, milliseconds
	Windows          string `db:"windows"`       // when it may be sent to, JSON of delivery/window, or empty for always
	BatchEvents      int64  `db:"batch_events"`  // events in one request at most; 0 is one by one (EDU-11)
	BatchBytes       int64  `db:"batch_bytes"`   // of one batch at most; 0 is DefaultBatchBytes
	BatchWaitMS      int64  `db:"batch_wait_ms"` // how long a batch waits to be filled, milliseconds
	ContractID       string `db:"contract_id"`   // of the receiver's own API, or empty
	ContractVersion  string `db:"contract_version"`
	BatchStated      bool   `db:"batch_stated"` // the partner states that it takes batches; no contract shows it
	Circuit          string `db:"circuit"`
	CircuitFailures  int64  `db:"circuit_failures"` // failures in a row
	CircuitOpenedAt  Time   `db:"circuit_opened_at"`
	CircuitProbeAt   Time   `db:"circuit_probe_at"`   // when the next single probe may go
	CircuitPlannedAt Time   `db:"circuit_planned_at"` // when that would have been, had nobody asked for it at once; else zero
	WaitUntil        Time   `db:"wait_until"`         // before it the receiver wants no request (Retry-After, EDU-10)
	ProbeOwner       string `db:"probe_owner"`        // the node that tries after that; then WaitUntil is when another may
	UnaskedAt        Time   `db:"unasked_at"`         // when it sent what no request asked for; since then no connection is used twice
	InboxAnswer      string `db:"inbox_answer"`       // what a test inbox answers, one of the Inbox constants; empty for other kinds
	Certificates     string `db:"certificates"`       // client certificates, JSON of registry/partners, keys sealed; empty for none
	SignScheme       string `db:"sign_scheme"`        // of signatures; empty for none
	SignKeys         string `db:"sign_keys"`          // JSON of registry/partners, secrets sealed; empty for none
	SignOverlapHours int64  `db:"sign_overlap_hours"` // in which the key before signs beside a new one
	ConfigVersion    int64  `db:"config_version"`     // counts changes, so that caches know
	CreatedAt        Time   `db:"created_at"`
	UpdatedAt        Time   `db:"updated_at"`
}

// WaitsAt reports whether the receiver wants no request at a moment (Retry-After, EDU-10).
func (e Endpoint) WaitsAt(now time.Time) bool { return e.ProbeOwner == "" && e.WaitUntil.After(now) }

// InsertEndpoint adds an endpoint under a new id, and tells all nodes: a test event may be for it before any subscription is.
func (tx *Tx) InsertEndpoint(ctx context.Context, e *Endpoint) error {
	e.ID, e.CreatedAt, e.UpdatedAt, e.StatusAt, e.ConfigVersion, e.Circuit = tx.NewID("ept"), tx.Now, tx.Now, tx.Now, 1, CircuitClosed
	if err := tx.insert(ctx, "endpoint", e); err != nil {
		return err
	}
	if err := tx.noteChange(ctx, e.ID, ChangeStatus, e.Status); err != nil {
		return err
	}
	return tx.bumpFanout(ctx)
}

// UpdateEndpoint writes the settings and status of an endpoint (not its circuit or wait) and raises its ConfigVersion.
func (tx *Tx) UpdateEndpoint(ctx context.Context, e *Endpoint) error {
	e.UpdatedAt = tx.Now
	e.ConfigVersion++
	// A receiver at another address did not ask for the wait, and has not answered unasked.
	_, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = NULL, probe_owner = '', unasked_at = NULL
		WHERE id = ? AND url <> ? AND (wait_until IS NOT NULL OR unasked_at IS NOT NULL)`, e.ID, e.URL)
	if err != nil {
		return err
	}
	if err := tx.noteAddress(ctx, e.ID, e.URL); err != nil {
		return err
	}
	if e.Status == EndpointEnded {
		if err := tx.withdrawMoves(ctx, e.ID); err != nil {
			return err
		}
	}
	changed, err := tx.exec(ctx, `UPDATE endpoint SET status_at = ? WHERE id = ? AND status <> ?`, tx.Now, e.ID, e.Status)
	if err != nil {
		return err
	}
	if changed > 0 {
		e.StatusAt = tx.Now
		if err := tx.noteChange(ctx, e.ID, ChangeStatus, e.Status); err != nil {
			return err
		}
	}
	err = tx.update(ctx, "endpoint", e, "name", "url", "content_mode", "token_url", "token_client_id", "token_secret", "token_scope",
		"token_auth_method", "status", "status_reason", "paused_by", "rate_per_second", "max_concurrency", "timeout_ms",
		"windows", "batch_events", "batch_bytes", "batch_wait_ms", "contract_id", "contract_version", "batch_stated",
		"sign_scheme", "sign_keys", "sign_overlap_hours", "certificates", "config_version", "updated_at")
	if err != nil {
		return err
	}
	return tx.refreshSubscriptions(ctx, "endpoint_id", e.ID)
}

// SaveCircuit writes the circuit of an endpoint and tells all nodes that it changed.
func (tx *Tx) SaveCircuit(ctx context.Context, e *Endpoint) error {
	if err := tx.noteCircuit(ctx, e.ID, e.Circuit); err != nil {
		return err
	}
	if err := tx.update(ctx, "endpoint", e, "circuit", "circuit_failures", "circuit_opened_at", "circuit_probe_at", "circuit_planned_at"); err != nil {
		return err
	}
	return tx.bumpFanout(ctx)
}

// ProbeNow makes an endpoint whose circuit is open half-open at once, tells all nodes, and returns the delivery that goes with it, or "" for none:
// of those that wait the one that is due first becomes due now.
func (tx *Tx) ProbeNow(ctx context.Context, e *Endpoint) (delivery string, err error) {
	if e.CircuitPlannedAt.IsZero() {
		e.CircuitPlannedAt = e.CircuitProbeAt
	}
	e.CircuitProbeAt = tx.Now
	if err := tx.update(ctx, "endpoint", e, "circuit_probe_at", "circuit_planned_at"); err != nil {
		return "", err
	}
	found, err := listOf[string](ctx, &tx.Queries, `UPDATE delivery SET due_at = CASE WHEN due_at < ? THEN due_at ELSE ? END, updated_at = ? WHERE id = (
		SELECT d.id FROM delivery d WHERE d.endpoint_id = ? AND d.behind = FALSE AND d.status IN ('pending', 'retrying') AND d.lease_owner = ''
		AND d.key_expires_at > ? AND `+unexpired+`
		AND (d.subscription_id = '' OR EXISTS (SELECT 1 FROM subscription s WHERE s.id = d.subscription_id AND s.sending))
		ORDER BY d.due_at LIMIT 1) RETURNING id`, tx.Now, tx.Now, tx.Now, e.ID, tx.Now, tx.Now)
	if err != nil {
		return "", fmt.Errorf("make a delivery due: %w", err)
	}
	if len(found) > 0 {
		delivery = found[0]
	}
	return delivery, tx.bumpFanout(ctx)
}

// Endpoint finds an endpoint.
func (q *Queries) Endpoint(ctx context.Context, id string) (Endpoint, error) {
	return getOne[Endpoint](ctx, q, `SELECT * FROM endpoint WHERE id = ?`, id)
}

// Endpoints lists the endpoints of a partner, or of all when partnerID is empty, newest first; ended ones are left out.
func (q *Queries) Endpoints(ctx context.Context, partnerID string) ([]Endpoint, error) {
	w := where{}
	w.text(`partner_id = ?`, partnerID)
	w.add(`status <> 'ended'`)
	return listOf[Endpoint](ctx, q, `SELECT * FROM endpoint`+w.sql()+` ORDER BY id DESC`, w.args...)
}

// EndpointNames finds endpoints by their ids. Of each it reads the id, the partner and the name alone.
func (q *Queries) EndpointNames(ctx context.Context, ids []string) ([]Endpoint, error) {
	var found []Endpoint
	for some := range slices.Chunk(ids, mostNames) {
		w := whereIn(`id`, some)
		rows, err := listOf[Endpoint](ctx, q, `SELECT id, partner_id, name FROM endpoint`+w.sql(), w.args...)
		if err != nil {
			return nil, fmt.Errorf("name endpoints: %w", err)
		}
		found = append(found, rows...)
	}
	return found, nil
}

// EndpointStates finds endpoints by their ids. Of each it reads only the columns that decide whether it is sent to now.
func (q *Queries) EndpointStates(ctx context.Context, ids []string) (map[string]Endpoint, error) {
	found := make(map[string]Endpoint, len(ids))
	for some := range slices.Chunk(ids, mostNames) {
		w := whereIn(`id`, some)
		rows, err := listOf[Endpoint](ctx, q, `SELECT id, kind, status, windows, circuit, circuit_probe_at, wait_until, probe_owner FROM endpoint`+w.sql(), w.args...)
		if err != nil {
			return nil, fmt.Errorf("read the states of endpoints: %w", err)
		}
		for _, row := range rows {
			found[row.ID] = row
		}
	}
	return found, nil
}

// EndpointWait is the time before which an endpoint wants no request (EDU-10). With a ProbeOwner, that node sends the one request
// that follows the time, and another node may send it when Until has passed.
type EndpointWait struct {
	EndpointID string `db:"id"`
	Until      Time   `db:"wait_until"`
	ProbeOwner string `db:"probe_owner"`
}

// EndpointWaits lists the endpoints that wait, or that no request has tried since their wait ended.
func (q *Queries) EndpointWaits(ctx context.Context) ([]EndpointWait, error) {
	rows, err := listOf[EndpointWait](ctx, q, `SELECT id, wait_until, probe_owner FROM endpoint WHERE wait_until IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("read waits of endpoints: %w", err)
	}
	return rows, nil
}

// ExtendWait makes an endpoint wait until a time, unless its receiver asked for a longer wait already. A probe under way loses
// its right to end the wait.
func (tx *Tx) ExtendWait(ctx context.Context, endpointID string, until Time) error {
	_, err := tx.exec(ctx, `UPDATE endpoint SET probe_owner = '',
		wait_until = CASE WHEN probe_owner = '' AND wait_until > ? THEN wait_until ELSE ? END WHERE id = ?`, until, until, endpointID)
	if err != nil {
		return fmt.Errorf("extend wait of endpoint: %w", err)
	}
	return nil
}

// TakeProbe gives owner the right to send the one request that follows a wait, until a time. It answers false and the wait of the
// endpoint as it is when another node has that right, or the endpoint waits still or not at all.
func (tx *Tx) TakeProbe(ctx context.Context, endpointID, owner string, until Time) (bool, EndpointWait, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = ? WHERE id = ? AND (wait_until <= ? OR probe_owner = ?)`,
		until, owner, endpointID, tx.Now, owner)
	if err != nil || n == 1 {
		return n == 1, EndpointWait{}, err
	}
	var w EndpointWait
	err = tx.get(ctx, &w, `SELECT id, wait_until, probe_owner FROM endpoint WHERE id = ?`, endpointID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return false, w, err
}

// GiveProbeBack lets any node send the request that owner did not send.
func (tx *Tx) GiveProbeBack(ctx context.Context, endpointID, owner string) error {
	return tx.do(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = '' WHERE id = ? AND probe_owner = ?`, tx.Now, endpointID, owner)
}

// EndWait ends the wait of an endpoint after the probe of owner worked, and reports whether it did.
func (tx *Tx) EndWait(ctx context.Context, endpointID, owner string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET wait_until = NULL, probe_owner = '' WHERE id = ? AND probe_owner = ?`, endpointID, owner)
	if err != nil {
		return false, fmt.Errorf("end wait of endpoint: %w", err)
	}
	return n == 1, nil
}

// ShortenWait makes an endpoint wait no longer than until a time, after the clock was set back.
func (tx *Tx) ShortenWait(ctx context.Context, endpointID string, until Time) error {
	return tx.do(ctx, `UPDATE endpoint SET wait_until = ? WHERE id = ? AND wait_until > ? AND probe_owner = ''`, until, endpointID, until)
}

// FreeProbes lets any node send the requests that owner was to send after a wait, or that any node was when owner is empty.
func (tx *Tx) FreeProbes(ctx context.Context, owner string) error {
	return tx.do(ctx, `UPDATE endpoint SET wait_until = ?, probe_owner = ''
		WHERE wait_until IS NOT NULL AND probe_owner <> '' AND (probe_owner = ? OR ? = '')`, tx.Now, owner, owner)
}

// NoteUnasked notes that the receiver of an endpoint sent what no request asked for, and reports whether that was not known. Nodes
// read the endpoint again.
func (tx *Tx) NoteUnasked(ctx context.Context, endpointID string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE endpoint SET unasked_at = ? WHERE id = ? AND unasked_at IS NULL`, tx.Now, endpointID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.bumpFanout(ctx)
}
