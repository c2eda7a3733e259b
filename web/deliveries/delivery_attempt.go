package web

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
)

// attemptViews shows the newest attempts, newest first; earlier counts those it left out.
func attemptViews(attempts []store.Attempt, area deliveryArea) (views []view.AttemptView, earlier int) {
	earlier = max(0, len(attempts)-maxShownAttempts)
	for _, a := range slices.Backward(attempts[earlier:]) {
		v := attemptView(a, earlier+len(attempts[earlier:])-len(views))
		if a.BatchID != "" {
			v.Batch = area.batch(a.BatchID)
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
	v.Sent = "POST " + shown(safeURL(a.URL)) + "\n" + headerLines(a.RequestHeaders)
	if v.Answered {
		v.Headers = statusLine(a.StatusCode) + "\n" + headerLines(a.ResponseHeaders)
		v.Body, v.BodyCut = readable(a.ResponseBody, maxShownValue)
	}
	return v
}

func attemptTitle(a store.Attempt) string {
	if a.StatusCode != 0 {
		return "answered " + statusLine(a.StatusCode)
	}
	return failureKind(a.ErrorKind)
}

func attemptText(a store.Attempt) string {
	took := "less than 1 ms"
	if d := time.Duration(a.DurationUS) * time.Microsecond; d >= time.Millisecond {
		took = ui.Duration(d)
	}
	text := "It took " + took + "."
	if a.Error != "" {
		text += " " + shown(a.Error)
	}
	return text
}

func statusLine(status int64) string {
	return strings.TrimSpace(strconv.FormatInt(status, 10) + " " + http.StatusText(int(status)))
}

// headerLines writes stored headers a line each, by name.
func headerLines(stored string) string {
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
			b.WriteString(shown(name) + ": " + shown(value) + "\n")
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

// safeURL leaves the password of an address out.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	return u.Redacted()
}
