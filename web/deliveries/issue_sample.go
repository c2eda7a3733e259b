package deliveries

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// maxShownBody bounds the body of a request that the page of an issue shows, in bytes.
const maxShownBody = 16 << 10

// maxCurlBody bounds the body that a command holds, in bytes: Linux takes 128 KiB in one argument.
const maxCurlBody = 90 << 10

// issueSample shows the newest failed attempt of an issue: what was sent, what came back, and a command that sends it again.
func (p *Pages) issueSample(ctx context.Context, actor registry.Actor, area site.DeliveryArea, i store.Issue) (view.IssueSample, error) {
	s := view.IssueSample{Delivery: area.Delivery(i.DeliveryID)}
	d, err := p.DB.Delivery(ctx, i.DeliveryID)
	if errors.Is(err, store.ErrNotFound) {
		return view.IssueSample{Missing: i18n.T(ctx, "deliveries.issue.sample-gone")}, nil
	}
	if err != nil {
		return s, err
	}
	s.EventType = d.EventType
	if found, err := p.messageSample(ctx, area, d, &s); err != nil || found {
		return s, err
	}
	last, err := p.lastFailure(ctx, d)
	if err != nil {
		return s, err
	}
	if last == nil {
		s.Missing = i18n.T(ctx, "deliveries.issue.sample-none")
		return s, nil
	}
	s.Attempt, s.At = attemptView(ctx, *last, 1), last.StartedAt.Time
	if last.BatchID != "" {
		s.Attempt.Batch = area.Batch(last.BatchID)
	}
	at, err := p.deliveryContext(ctx, d)
	if err != nil || last.URL == "" {
		return s, err
	}
	if !at.mayRead(area) {
		s.Missing = at.withheld(ctx)
		return s, nil
	}
	e, err := p.DB.Event(ctx, d.EventID)
	if err != nil {
		return s, err
	}
	if e.Unread != nil {
		s.Missing = site.UnreadText(ctx, e.Unread)
		return s, nil
	}
	encryption, err := p.EncryptionOf(ctx, at.Delivery, at.Subscription)
	if err != nil {
		return s, err
	}
	sent, ok, err := p.sentRequest(ctx, *last, at.Endpoint, e, encryption)
	if wrong, known := errors.AsType[*jwe.Problem](err); known {
		s.Missing = i18n.T(ctx, "deliveries.issue.sample-not-encrypted", wrong.Message)
		return s, nil
	}
	if err != nil || !ok {
		return s, err
	}
	if err := p.NoteEvent(ctx, actor, registry.ActionDataRead, e, d.PartnerID); err != nil {
		return s, err
	}
	if last.BatchID != "" {
		sent.alone()
	}
	s.Body, s.BodyCut = site.Readable(sent.body, maxShownBody)
	if len(sent.body) <= maxCurlBody {
		s.Curl = sent.curl()
	}
	return s, nil
}

// lastFailure finds the newest attempt at a delivery that failed; nil for none. What was sent and came back of a batch stands with its first
// member, as long as that is stored.
func (p *Pages) lastFailure(ctx context.Context, d store.Delivery) (*store.Attempt, error) {
	attempts, err := p.DB.Attempts(ctx, d.ID)
	last := failedAttempt(attempts)
	if err != nil || last == nil || last.BatchID == "" || last.URL != "" {
		return last, err
	}
	b, err := p.DB.Batch(ctx, last.BatchID)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(b.Members) == 0 {
		return last, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := p.DB.Attempts(ctx, b.Members[0])
	for n, a := range slices.Backward(first) {
		if a.BatchID == last.BatchID && a.StartedAt == last.StartedAt {
			return &first[n], err
		}
	}
	return last, err
}

// messageSample shows the message that a delivery was sent as by AMQP, and what its receiver answered. It reports whether one was refused.
func (p *Pages) messageSample(ctx context.Context, area site.DeliveryArea, d store.Delivery, s *view.IssueSample) (bool, error) {
	messages, err := p.DB.AMQPOfDelivery(ctx, d.ID)
	if err != nil || len(messages) == 0 || !slices.Contains([]string{store.AMQPFailed, store.AMQPRejected, store.AMQPUnanswered}, messages[0].Status) {
		return false, err
	}
	m := messages[0]
	s.At = m.UpdatedAt.Time
	s.Attempt = view.AttemptView{
		Title: site.ReasonOf(m.Reason).Label.In(ctx), Text: site.DetailText(ctx, area.Admin, m.Reason, m.Detail),
		URL: m.Queue, Sent: messageLines(m), Answered: true, Headers: m.Reason,
	}
	if errors := site.Shown(strings.Join(m.Codes, "\n")); errors != m.Reason {
		s.Attempt.Body = errors // in words of the receiver, which may repeat data
	}
	return true, nil
}

// messageLines are the properties of a message by which the systems of both sides find it.
func messageLines(m store.AMQPMessage) string {
	lines := []string{"AMQP " + m.Queue, "subject: " + m.Subject, "messageId: " + m.MessageID}
	if m.MsgID != "" {
		lines = append(lines, "MsgId: "+m.MsgID)
	}
	return site.Shown(strings.Join(lines, "\n"))
}

// failedAttempt finds the newest attempt that failed.
func failedAttempt(attempts []store.Attempt) *store.Attempt {
	for n, a := range slices.Backward(attempts) {
		if a.StatusCode < 200 || a.StatusCode > 299 {
			return &attempts[n]
		}
	}
	return nil
}

// request is one request to a webhook, without the secrets that went with it.
type request struct {
	url    string
	header http.Header
	body   []byte
	token  bool // an access token belongs with it
	newKey bool // whoever sends it chooses an Idempotency-Key
}

// sentRequest writes the request of an attempt again from what is stored: its address, its headers and the event, of which the data leaves
// encrypted where that is asked. It is false when what is stored cannot be read.
func (p *Pages) sentRequest(ctx context.Context, a store.Attempt, ep store.Endpoint, e store.Event, encryption *store.Encryption) (request, bool, error) {
	r := request{url: a.URL, token: ep.TokenAuthMethod != "" && ep.TokenAuthMethod != webhook.AuthNone}
	parsed, err := event.FromParts(e.Attributes, event.DataKind(e.DataKind), e.Data)
	if err != nil || json.Unmarshal([]byte(cmp.Or(a.RequestHeaders, "{}")), &r.header) != nil {
		return r, false, nil
	}
	structured := strings.HasPrefix(r.header.Get("Content-Type"), "application/cloudevents") || r.header.Get("Content-Type") == ""
	if encryption != nil {
		encrypted, err := p.Encrypter.Encrypt(ctx, encryption, e.ID, &parsed)
		if err != nil {
			return r, false, err
		}
		parsed = encrypted
		if !structured {
			r.header.Set("Content-Type", parsed.DataType())
		}
	}
	r.body = parsed.Data
	if structured {
		r.header.Set("Content-Type", "application/cloudevents+json")
		r.body = parsed.AppendJSON(nil)
	}
	return r, true, nil
}

// alone makes the request of a batch one that holds the present event alone. Its key is another: a batch and a part of it under one key would
// be taken for the same (IDEM-11).
func (r *request) alone() {
	r.header.Set("Content-Type", event.BatchMediaType)
	r.body = append(append([]byte{'['}, r.body...), ']')
	r.header.Del("Idempotency-Key")
	r.newKey = true
}

// curl is a command for a shell that sends the request: what was secret in it stands in variables, to be set before.
func (r request) curl() string {
	lines := []string{"curl --include --request POST"}
	address := r.url
	if u, err := url.Parse(r.url); err == nil && u.User != nil {
		lines = append(lines, "--user "+site.Quoted(u.User.Username())+`:"$PASSWORD"`)
		u.User = nil
		address = u.String()
	}
	if r.token {
		lines = append(lines, `--header "Authorization: Bearer $TOKEN"`)
	}
	if r.newKey {
		lines = append(lines, `--header "Idempotency-Key: \"$KEY\""`)
	}
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		switch {
		case name == "Authorization" || name == "Content-Length" || name == "Host" || name == "User-Agent":
		case isSecretHeader(name):
			lines = append(lines, `--header "`+name+`: $`+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+`"`)
		default:
			for _, value := range r.header[name] {
				lines = append(lines, "--header "+site.Quoted(name+": "+value))
			}
		}
	}
	before := ""
	if utf8.Valid(r.body) && !slices.Contains(r.body, 0) {
		lines = append(lines, "--data-raw "+site.Quoted(string(r.body)))
	} else {
		before = "printf %s " + site.Quoted(base64.StdEncoding.EncodeToString(r.body)) + " | base64 --decode | \\\n"
		lines = append(lines, "--data-binary @-")
	}
	return before + strings.Join(append(lines, site.Quoted(address)), " \\\n  ")
}
