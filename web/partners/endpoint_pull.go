package partners

import (
	"fmt"

	"github.com/labstack/echo/v4"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// pullView explains how to fetch events from an endpoint, and counts those that wait there.
func (d ownerPages) pullView(c echo.Context, e store.Endpoint, subs []store.Subscription) (*view.PullView, error) {
	backlog, err := d.DB.PullBacklog(c.Request().Context(), e.ID, store.At(d.Cfg.Now()))
	if err != nil {
		return nil, fmt.Errorf("count what waits: %w", err)
	}
	base := d.Absolute("/events/v1/subscriptions/" + pullExampleID(subs))
	return &view.PullView{
		Waiting: backlog.Waiting, Leased: backlog.Leased, Oldest: backlog.Oldest.Time, Docs: "/events/v1/openapi.yaml",
		Receive:     pullExample(base+"/receive", site.Quoted(`{"maxEvents":100,"maxWaitTime":20}`)) + " > received.json",
		Acknowledge: pullExample(base+"/acknowledge", `"{\"lockTokens\":[$(`+lockTokens+`)]}"`),
	}, nil
}

// pullExampleID is the subscription a command can be tried with: an approved one when there is one.
func pullExampleID(subs []store.Subscription) string {
	id := "SUBSCRIPTION-ID"
	for _, s := range subs {
		if s.Status == store.SubscriptionApproved {
			return s.ID
		}
		if s.Status == store.SubscriptionRequested || s.Status == store.SubscriptionPaused {
			id = s.ID
		}
	}
	return id
}

// lockTokens lists the lock tokens of what was received as JSON strings, without a tool for JSON.
const lockTokens = `grep -oE '"lockToken": ?"[^"]*"' received.json | sed -E 's/.*:[^"]*//' | paste -sd, -`

// pullExample is a command that calls a verb with a body, which is one word of the shell. The token is in a variable of it.
func pullExample(address, body string) string {
	return "curl --oauth2-bearer \"$TOKEN\" \\\n  --header 'Content-Type: application/json' \\\n  --data " + body + " \\\n  " + site.Quoted(address)
}
