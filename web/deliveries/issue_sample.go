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
	attempts, err := p.DB.Attempts(ctx, d.ID)
	if err != nil {
		return s, err
	}
	last := failedAttempt(attempts)
	if last == nil {
		s.Missing = i18n.T(ctx, "deliveries.issue.sample-none")
		return s, nil
	}
	s.Attempt, s.At = attemptView(ctx, *last, 1), last.StartedAt.Time
	if last.BatchID != "" {
		s.Attempt.Batch = area.Batch(last.BatchID)
		return s, nil
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
	s.Body, s.BodyCut = site.Readable(sent.body, maxShownBody)
	if len(sent.body) <= maxCurlBody {
		s.Curl = sent.curl()
	}
	return s, nil
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
