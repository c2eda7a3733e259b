package deliveries

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// AttemptViews shows the newest attempts, newest first; earlier counts those it left out.
func AttemptViews(attempts []store.Attempt, area site.DeliveryArea) (views []view.AttemptView, earlier int) {
	earlier = max(0, len(attempts)-MaxShownAttempts)
	for _, a := range slices.Backward(attempts[earlier:]) {
		v := attemptView(a, earlier+len(attempts[earlier:])-len(views))
		if a.BatchID != "" {
			v.Batch = area.Batch(a.BatchID)
		}
		views = append(views, v)
	}
	return views, earlier
}

// attemptView shows one try. The place names it on the page: after a crash two
// tries can have the same number.
func attemptView(a store.Attempt, place int) view.AttemptView {
	if title := receiveTitle(a.ErrorKind); title != "" {
		return receiveView(a, place, title)
	}
	v := view.AttemptView{
		Number: place, At: a.StartedAt.Time, OK: a.StatusCode >= 200 && a.StatusCode < 300,
		Title: "Attempt " + strconv.FormatInt(a.Number, 10) + ": " + attemptTitle(a), Text: attemptText(a),
		Next: a.NextAt.Time, URL: a.URL, Answered: a.StatusCode != 0,
	}
	v.Sent = "POST " + site.Shown(SafeURL(a.URL)) + "\n" + HeaderLines(a.RequestHeaders)
	if v.Answered {
		v.Headers = statusLine(a.StatusCode) + "\n" + HeaderLines(a.ResponseHeaders)
		v.Body, v.BodyCut = site.Readable(a.ResponseBody, site.MaxShownValue)
	}
	return v
}

func attemptTitle(a store.Attempt) string {
	if a.StatusCode != 0 {
		return "answered " + statusLine(a.StatusCode)
	}
	return site.FailureKind(a.ErrorKind)
}

func attemptText(a store.Attempt) string {
	took := "less than 1 ms"
	if d := time.Duration(a.DurationUS) * time.Microsecond; d >= time.Millisecond {
		took = ui.Duration(d)
	}
	text := "It took " + took + "."
	if a.Error != "" {
		text += " " + site.Shown(a.Error)
	}
	return text
}

func statusLine(status int64) string {
	return strings.TrimSpace(strconv.FormatInt(status, 10) + " " + http.StatusText(int(status)))
}

// HeaderLines writes stored headers a line each, by name.
func HeaderLines(stored string) string {
	if stored == "" {
		return ""
	}
	var header http.Header
	if err := json.Unmarshal([]byte(stored), &header); err != nil {
		return "(the headers as stored cannot be read)"
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if isSecretHeader(name) {
				value = "[redacted]"
			}
			b.WriteString(site.Shown(name) + ": " + site.Shown(value) + "\n")
		}
	}
	return b.String()
}

// isSecretHeader guards what the sender took out already: no secret on any page.
func isSecretHeader(name string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key":
		return true
	}
	return false
}

// SafeURL leaves the password of an address out.
func SafeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	return u.Redacted()
}
