package site

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
)

// APIChoice reads a query key of an API that takes a few words; another word is a 400 that names them. Empty when it is
// not there.
func APIChoice(c echo.Context, name string, words []string) (string, error) {
	value := c.QueryParam(name)
	if value == "" || slices.Contains(words, value) {
		return value, nil
	}
	last := len(words) - 1
	return "", FieldProblem(name, name+" must be "+strings.Join(words[:last], ", ")+" or "+words[last])
}

// PageChoice reads a query key of a page that takes a few words. Another word narrows nothing, so that a list shows all
// and not none under a filter that cannot be seen.
func PageChoice(c echo.Context, name string, words []string) string {
	value := Clean(c.QueryParam(name))
	if slices.Contains(words, value) {
		return value
	}
	return ""
}

// SubscriptionStatuses lists the states of a subscription that a list can be filtered by.
func SubscriptionStatuses() []string {
	return []string{
		store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended,
		store.SubscriptionEnded, store.SubscriptionRejected,
	}
}

// EndpointStatuses lists the states of an endpoint that a list can be filtered by.
func EndpointStatuses() []string {
	return []string{store.EndpointActive, store.EndpointPaused, store.EndpointSuspended}
}

// PartnerStatuses lists the states of a partner that a list can be filtered by.
func PartnerStatuses() []string {
	return []string{store.PartnerRequested, store.PartnerApproved, store.PartnerSuspended, store.PartnerEnded, store.PartnerRejected}
}

// ContractKinds lists the kinds of contracts.
func ContractKinds() []string { return []string{"openapi", "asyncapi"} }

// QuarantineStatuses lists the states of a quarantined message.
func QuarantineStatuses() []string {
	return []string{store.QuarantineOpen, store.QuarantineReleased, store.QuarantineDiscarded}
}
