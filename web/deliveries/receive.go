package deliveries

import (
	"encoding/json"
	"net/http"
	"strconv"

	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// receiveTitle names the outcome of a receive; "" for the kind of an attempt that we made.
func receiveTitle(kind string) string {
	switch kind {
	case store.PullReceived:
		return "in the hands of the consumer"
	case store.PullAcknowledged:
		return "acknowledged"
	case store.PullReleased:
		return "given back"
	case store.PullRejected:
		return "rejected"
	case store.PullExpired:
		return "not answered in time"
	}
	return ""
}

// receiveView shows one receive of a consumer that fetches, and how it ended.
func receiveView(a store.Attempt, place int, title string) view.AttemptView {
	v := view.AttemptView{
		Number: place, At: a.StartedAt.Time, OK: a.ErrorKind == store.PullAcknowledged || a.ErrorKind == store.PullReceived,
		Title: "Receive " + strconv.FormatInt(a.Number, 10) + ": " + title, Fetched: true,
	}
	switch {
	case a.ErrorKind == store.PullReceived:
		v.Text = "Its lease ends at " + ui.Time(a.NextAt.Time) + "."
	default:
		v.Text = attemptText(a)
		if !a.NextAt.IsZero() {
			v.Text += " It can be received again from " + ui.Time(a.NextAt.Time) + " on."
		}
	}
	if client := receiver(a); client != "" {
		v.Text = "Received by " + site.Shown(client) + ". " + v.Text
	}
	return v
}

// receiver is the client that received.
func receiver(a store.Attempt) string {
	var header http.Header
	if json.Unmarshal([]byte(a.RequestHeaders), &header) != nil {
		return ""
	}
	return header.Get("Client")
}
