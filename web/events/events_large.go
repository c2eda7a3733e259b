package events

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/claimcheck"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

const (
	// LargePerPartner limits the large events that the clients of a partner may have under way at once.
	LargePerPartner = 4
	// LargeMemory bounds the bytes that the bodies of large events take in memory, of all clients together. One of the
	// largest always fits.
	LargeMemory = 256 << 20
	// bodyCopies counts the copies of a body in memory: as it came, and decoded.
	bodyCopies = 2
)

// largeAllowed reports whether an event may exceed the limit of ordinary events: then its data
// is stored apart (EDU-01a). A batch stays within the limit of batches.
func largeAllowed(set *profile.ProfileState, mode event.Mode) bool {
	return set.Oversize == registry.OversizeClaimCheck && mode != event.Batch
}

// eventLimits bounds what is read. Where data is stored apart, it is the data that is
// bounded, in storeLargeData.
func eventLimits(set *profile.ProfileState, mode event.Mode) event.Limits {
	limits := event.Limits{EventBytes: set.MaxEventBytes, BatchEvents: set.MaxBatchEvents, BatchBytes: set.MaxBatchBytes}
	switch {
	case largeAllowed(set, mode):
		limits.EventBytes = largeBytes(set)
	case set.Oversize == registry.OversizeClaimCheck:
		limits.EventBytes = max(set.MaxBatchBytes-2, set.MaxEventBytes)
	}
	return limits
}

// largeBytes is the largest body of one event: the largest data in base64, with the attributes.
func largeBytes(set *profile.ProfileState) int {
	return base64.StdEncoding.EncodedLen(set.MaxObjectBytes) + set.MaxEventBytes
}

// ordinaryBytes bounds how much of a body is read without asking for room.
func ordinaryBytes(set *profile.ProfileState, mode event.Mode) int64 {
	if mode == event.Batch {
		return int64(set.MaxBatchBytes)
	}
	return int64(set.MaxEventBytes)
}

// LargeBodies is the room for the bodies of large events: few of a partner at once,
// and no more in all than fits in memory.
type LargeBodies struct {
	shares *site.Shares
	mu     sync.Mutex
	Used   int64
}

// NewLargeBodies makes the bound on large bodies under way.
func NewLargeBodies() *LargeBodies { return &LargeBodies{shares: site.NewShares(LargePerPartner)} }

// Take takes room for a body, and answers how to give it back; false when there is none.
func (l *LargeBodies) Take(partnerID string, bytes int64) (give func(), ok bool) {
	if !l.shares.Take(partnerID) {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Used > 0 && l.Used+bytes > LargeMemory {
		l.shares.Give(partnerID)
		return nil, false
	}
	l.Used += bytes
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.Used -= bytes
		l.mu.Unlock()
		l.shares.Give(partnerID)
	}), true
}

// makeRoom takes room for a body that is larger than an event, and gives it the time
// that a large body takes.
func (m *handlers) makeRoom(c echo.Context, who api.Caller, set *profile.ProfileState) (give func(), err error) {
	size := int64(largeBytes(set))
	if announced := c.Request().ContentLength; announced > 0 {
		size = announced
	}
	give, ok := m.large.Take(who.Partner.ID, bodyCopies*size)
	if !ok {
		return nil, site.RetryLater(http.StatusTooManyRequests, "too-many-uploads", "events.api.no-room", 5*time.Second)
	}
	if err := m.App.ExtendDeadlines(c, site.UploadTime); err != nil {
		give()
		return nil, err
	}
	return give, nil
}

// largeByAMQP reports whether one event may be larger than events are although the profile rejects those: there is an endpoint of
// kind amqp, whose business messages may be of any size that the exchange takes. Which types are taken, storeLargeData decides.
func (m *handlers) largeByAMQP(ctx context.Context, mode event.Mode) (bool, error) {
	if mode == event.Batch {
		return false, nil
	}
	return m.DB.AnyAMQPEndpoint(ctx)
}

// serveObject sends the data of an event that is stored apart: encrypted, where the reader has the event by subscriptions that ask for that alone.
func (m *handlers) serveObject(c echo.Context, who api.Caller, o store.Object) error {
	ctx := c.Request().Context()
	if who.Partner.Own || who.Client.ID == o.ClientID {
		return site.ServeObject(c, m.DB, o)
	}
	encryption, err := m.DB.EncryptionOf(ctx, o.OwnerID, who.Partner.ID)
	if err != nil {
		return err
	}
	if encryption == nil {
		return site.ServeObject(c, m.DB, o)
	}
	erased, err := m.DB.DataErased(ctx, o.DataKeys)
	if err != nil {
		return err
	}
	if erased {
		return site.UnreadProblem(store.ErrErased)
	}
	give, ok := m.large.Take(who.Partner.ID, 3*o.Size)
	if !ok {
		return site.RetryLater(http.StatusTooManyRequests, "too-many-uploads", "events.api.no-room", 5*time.Second)
	}
	defer give()
	data, err := io.ReadAll(claimcheck.Database{DB: m.DB}.Open(ctx, o))
	if err != nil {
		return err
	}
	sealed, err := m.Encrypter.EncryptData(ctx, encryption, o.ID, o.ContentType, data)
	if err != nil {
		text := i18n.Message("verdict.error.encryption")
		if wrong, ok := errors.AsType[*jwe.Problem](err); ok {
			text = wrong.Message
		}
		return site.RetryLater(http.StatusServiceUnavailable, "not-encrypted", i18n.M("outbox.pull.not-encrypted", text), time.Minute)
	}
	h := c.Response().Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	site.SetDigests(h, sealed)
	return c.Blob(http.StatusOK, jwe.MediaType, sealed)
}

// rejectLarge rejects an event that is too large, where the profile does, unless its type is sent by AMQP.
func (m *handlers) rejectLarge(ctx context.Context, set *profile.ProfileState, in intake) error {
	for i := range in.events {
		size := in.events[i].Size()
		if size <= set.MaxEventBytes {
			continue
		}
		sent, err := m.DB.SentByAMQP(ctx, in.events[i].Type)
		if err != nil {
			return err
		}
		if !sent {
			return eventProblem(&event.TooLarge{Limit: "event bytes", Index: -1, Max: set.MaxEventBytes, Got: size})
		}
	}
	return nil
}

// storeLargeData keeps the data apart of events that are too large, where the profile
// says so, and of those that are sent by AMQP.
func (m *handlers) storeLargeData(ctx context.Context, set *profile.ProfileState, who api.Caller, in intake) (claimcheck.Stored, error) {
	if set.Oversize != registry.OversizeClaimCheck {
		if in.mode == event.Batch {
			return claimcheck.Stored{Events: in.events}, nil
		}
		if err := m.rejectLarge(ctx, set, in); err != nil {
			return claimcheck.Stored{}, err
		}
	}
	stored, err := m.objects.Store(ctx, claimcheck.Sender{PartnerID: who.Partner.ID, ClientID: who.Client.ID}, in.events,
		claimcheck.Limits{EventBytes: set.MaxEventBytes, DataBytes: set.MaxObjectBytes})
	if problem, ok := errors.AsType[*claimcheck.Problem](err); ok {
		return stored, largeProblem(in.mode, problem)
	}
	return stored, err
}

func largeProblem(mode event.Mode, found *claimcheck.Problem) error {
	p := site.NewProblem(http.StatusRequestEntityTooLarge, "too-large", i18n.M("events.api.large-data", found.Message()))
	entry := site.ProblemError{Attribute: "data", Pointer: "/data", Code: "too-large", Detail: found.Message()}
	if mode == event.Batch {
		entry.Index, entry.Pointer = &found.Index, "/"+strconv.Itoa(found.Index)+entry.Pointer
	}
	p.Errors = []site.ProblemError{entry}
	return p
}

// dropUnused removes objects that no event came of: the request was refused, or was
// sent before. While it is unknown what becomes of a request, they stay.
func (m *handlers) dropUnused(ctx context.Context, stored claimcheck.Stored, receipt outbox.Receipt, err error) {
	if stored.Objects == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	duplicate := func(a outbox.Accepted) bool { return a.Duplicate }
	if err != nil || receipt.Replayed || receipt.Quarantined != "" || slices.ContainsFunc(receipt.Events, duplicate) {
		m.objects.Drop(ctx, stored.Objects)
	}
}
