package web

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
)

// apiChoice reads a query key of an API that takes a few words; another word is a 400 that names them. Empty when it is
// not there.
func apiChoice(c echo.Context, name string, words []string) (string, error) {
	value := c.QueryParam(name)
	if value == "" || slices.Contains(words, value) {
		return value, nil
	}
	last := len(words) - 1
	return "", fieldProblem(name, name+" must be "+strings.Join(words[:last], ", ")+" or "+words[last])
}

// pageChoice reads a query key of a page that takes a few words. Another word narrows nothing, so that a list shows all
// and not none under a filter that cannot be seen.
func pageChoice(c echo.Context, name string, words []string) string {
	value := clean(c.QueryParam(name))
	if slices.Contains(words, value) {
		return value
	}
	return ""
}

func subscriptionStatuses() []string {
	return []string{
		store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended,
		store.SubscriptionEnded, store.SubscriptionRejected,
	}
}

func endpointStatuses() []string {
	return []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}
}

func partnerStatuses() []string {
	return []string{store.PartnerRequested, store.PartnerApproved, store.PartnerSuspended, store.PartnerEnded, store.PartnerRejected}
}

func contractKinds() []string { return []string{"openapi", "asyncapi"} }

func quarantineStatuses() []string {
	return []string{store.QuarantineOpen, store.QuarantineReleased, store.QuarantineDiscarded}
}
