package events

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// postEvents takes one event or a batch, and answers 202 once it is on disk
// (EDU-19, CE-62). The checks come in a fixed order: token and scope before this,
// then the key (IDEM-18), the rate, the format, the size, the events, what the
// client may send, and last what was sent before under the key.
func (m *handlers) postEvents(c echo.Context, who api.Caller) error {
	ctx := c.Request().Context()
	set, err := m.Registry.Profile.Current(ctx)
	if err != nil {
		return err
	}
	key, err := m.IdempotencyKey(c, set)
	if err != nil {
		return err
	}
	if after, ok := m.rates.allow(who.Client.ID, set.ClientRate, set.ClientBurst); !ok {
		return site.RetryLater(http.StatusTooManyRequests, "too-many-requests", "events.api.too-fast", after)
	}
	in, err := m.readEvents(c, who, set)
	if err != nil {
		return err
	}
	defer in.done()
	warnings, versions, err := m.allowEvents(ctx, set, who, in.mode, in.events)
	if err != nil {
		return err
	}
	only, err := m.audiences(ctx, in.events)
	if err != nil {
		return err
	}
	stored, err := m.storeLargeData(ctx, set, who, in)
	if err != nil {
		return err
	}
	receipt, err := m.Engine.Accept(ctx, outbox.Submission{
		ClientID: who.Client.ID, PartnerID: who.Partner.ID, FromOwn: who.Partner.Own,
		Key: key, Fingerprint: fingerprint(c.Request().Header, in.mode, in.body), Events: stored.Events, Objects: stored.Objects, Versions: versions, Audiences: only,
		Quarantine: set.OnMismatch == registry.MismatchQuarantine, Wait: set.OnConcurrent == registry.ConcurrentWait,
	})
	m.dropUnused(ctx, stored, receipt, err)
	if err != nil {
		return m.intakeProblem(err)
	}
	setLocation(c.Response().Header(), in.mode, receipt)
	return c.JSON(http.StatusAccepted, m.accepted(c, receipt, warnings))
}

// setLocation links to the status of the accepted events.
func setLocation(h http.Header, mode event.Mode, receipt outbox.Receipt) {
	switch {
	case receipt.Quarantined != "":
		h.Set("Location", "/events/v1/quarantined-requests/"+receipt.Quarantined)
	case mode != event.Batch && len(receipt.Events) == 1:
		h.Set("Location", "/events/v1/events/"+receipt.Events[0].EventID)
	}
}

// acceptedAnswer is a receipt with what the profile advises; the advice is not
// stored with the receipt, so a repeated request gets that of now.
type acceptedAnswer struct {
	outbox.Receipt
	Advice []site.ProblemError `json:"advice,omitempty"`
}

func (m *handlers) accepted(c echo.Context, r outbox.Receipt, warnings []site.ProblemError) acceptedAnswer {
	for _, t := range warnings {
		m.Advised(t.Code)
	}
	answer := acceptedAnswer{r, warnings[:min(len(warnings), maxAdvice)]}
	if len(warnings) == 0 {
		return answer
	}
	reader := site.APILocale(c)
	for i, t := range answer.Advice {
		answer.Advice[i].Detail = i18n.Message(reader.Text(t.Detail))
	}
	return answer
}

// intake is a request with its events. done gives back the room that its body takes.
type intake struct {
	mode   event.Mode
	body   []byte
	events []event.Event
	done   func()
}

// readEvents reads the body, no further than the limit of its format, and the
// events in it.
func (m *handlers) readEvents(c echo.Context, who api.Caller, set *profile.ProfileState) (intake, error) {
	r := c.Request()
	mode, err := detectMode(r.Header)
	if err != nil {
		return intake{}, eventProblem(err)
	}
	if mode == event.Batch && set.Batches == registry.PolicyOff {
		return intake{}, noBatches()
	}
	in := intake{done: func() {}}
	limits, large := eventLimits(set, mode), largeAllowed(set, mode)
	body, whole, err := readAtMost(r, nil, ordinaryBytes(set, mode))
	if err == nil && !whole && !large {
		if large, err = m.largeByAMQP(r.Context(), mode); large {
			limits.EventBytes = largeBytes(set)
		}
	}
	if err == nil && !whole && large && r.ContentLength <= int64(limits.EventBytes) {
		if in.done, err = m.makeRoom(c, who, set); err != nil {
			return intake{}, err
		}
		body, whole, err = readAtMost(r, body, int64(limits.EventBytes))
	}
	if err == nil && !whole {
		err = tooLarge(r.Header, limits, mode)
	}
	if err == nil {
		in.mode, in.events, err = event.Read(r.Header, body, limits)
		if errors.Is(err, event.ErrTooLarge) && !large {
			in.mode, in.events, err = m.readLarger(r, body, set, mode, err)
		}
		err = eventProblem(err)
	}
	if err != nil {
		in.done()
		return intake{}, err
	}
	in.body = body
	return in, nil
}

// readLarger reads an event whose body is small enough, and that is larger in its least efficient form, as one that is sent by AMQP.
// tooLarge is the answer when there is no such.
func (m *handlers) readLarger(r *http.Request, body []byte, set *profile.ProfileState, mode event.Mode, tooLarge error) (event.Mode, []event.Event, error) {
	if may, err := m.largeByAMQP(r.Context(), mode); err != nil || !may {
		return mode, nil, cmp.Or(err, tooLarge)
	}
	limits := eventLimits(set, mode)
	limits.EventBytes = largeBytes(set)
	return event.Read(r.Header, body, limits)
}

// noBatches is the answer to a batch where the chain takes none (EDU-16).
func noBatches() error {
	return site.NewProblem(http.StatusUnsupportedMediaType, "not-a-cloudevent", "events.api.no-batches").
		With("Accept-Post", event.MediaType)
}

func detectMode(header http.Header) (event.Mode, error) {
	return event.Detect(header.Get("Content-Type"))
}

// bodyBytes is the largest body of a mode; event.Read counts more exactly.
func bodyBytes(limits event.Limits, mode event.Mode) int64 {
	if mode != event.Batch {
		return int64(limits.EventBytes)
	}
	return int64(limits.BatchBytes)
}

// tooLarge is the answer to a body over the limit, unless it is in no format of
// ours: then its size does not matter.
func tooLarge(header http.Header, limits event.Limits, mode event.Mode) error {
	if _, _, err := event.Read(header, nil, limits); errors.Is(err, event.ErrUnsupportedFormat) {
		return eventProblem(err)
	}
	return eventProblem(&event.TooLarge{Limit: "bytes of body", Index: -1, Max: int(bodyBytes(limits, mode)), Got: int(bodyBytes(limits, mode)) + 1})
}

// readAtMost reads a body on behind what was read of it, to at most limit bytes in
// all; whole is false when there is more.
func readAtMost(r *http.Request, body []byte, limit int64) (_ []byte, whole bool, err error) {
	// One byte more than announced lets the reader see the end without growing.
	size := min(max(r.ContentLength, 0), limit) + 1
	body = slices.Grow(body, max(0, int(max(size, 512))-len(body)))
	reader := io.LimitReader(r.Body, limit+1-int64(len(body)))
	for {
		n, err := reader.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, int64(len(body)) <= limit, nil
		}
		if err != nil {
			return nil, false, api.BrokenBody(err)
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
}

// fingerprint distinguishes requests under one key: SHA-256 over the body and, in
// binary mode, over the headers that hold the event too (IDEM-08).
func fingerprint(header http.Header, mode event.Mode, body []byte) []byte {
	h := sha256.New()
	if mode == event.Binary {
		var lines []string
		for name, values := range header {
			if name == "Content-Type" || strings.HasPrefix(name, "Ce-") {
				lines = append(lines, name+": "+strings.Join(values, ", ")+"\n")
			}
		}
		slices.Sort(lines)
		for _, line := range lines {
			_, _ = io.WriteString(h, line) // a hash never fails
		}
		_, _ = io.WriteString(h, "\n")
	}
	_, _ = h.Write(body)
	return h.Sum(nil)
}

// eventProblem is the answer to a request that holds no events we take.
func eventProblem(err error) error {
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*event.Invalid](err); ok {
		p := site.NewProblem(http.StatusBadRequest, "event-invalid", "events.api.invalid")
		for _, found := range invalid.Problems {
			p.Errors = append(p.Errors, site.ProblemError{
				Index: batchIndex(found.Index), Attribute: found.Attribute, Pointer: found.Pointer, Line: found.Line, Column: found.Column,
				Code: found.Code, Detail: found.Detail,
			})
		}
		return p
	}
	if large, ok := errors.AsType[*event.TooLarge](err); ok {
		p := site.NewProblem(http.StatusRequestEntityTooLarge, "too-large", i18n.M("events.api.too-large", large.Message()))
		if large.Index >= 0 {
			p.Errors = []site.ProblemError{{Index: batchIndex(large.Index), Code: "too-large", Detail: large.Message()}}
		}
		return p
	}
	if errors.Is(err, event.ErrUnsupportedFormat) {
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-a-cloudevent", "events.api.not-cloudevents").
			With("Accept-Post", event.MediaType+", "+event.BatchMediaType)
	}
	return err
}

func batchIndex(index int) *int {
	if index < 0 {
		return nil
	}
	return &index
}

// intakeProblem is the answer when the engine did not keep the events. The key
// stays usable after those that say Retry-After.
func (m *handlers) intakeProblem(err error) error {
	switch {
	case errors.Is(err, outbox.ErrKeyInUse):
		return m.KeyInUse()
	case errors.Is(err, outbox.ErrKeyReused):
		return m.KeyReused()
	case errors.Is(err, outbox.ErrBusy):
		return site.RetryLater(http.StatusServiceUnavailable, "busy", "events.api.busy", 2*time.Second)
	case errors.Is(err, outbox.ErrUnavailable):
		p := site.RetryLater(http.StatusServiceUnavailable, "store-unavailable", "events.api.unavailable", 5*time.Second)
		p.Logged = true
		return errors.Join(p, err)
	}
	if missing, ok := errors.AsType[*outbox.NoPartyError](err); ok {
		return site.NewProblem(http.StatusUnprocessableEntity, "no-party", i18n.M("events.api.no-party", strconv.FormatInt(missing.HerID, 10)))
	}
	return err
}
