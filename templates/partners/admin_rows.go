package partners

import (
	"time"

	"schakel/templates/ui"
)

// SubscriptionRow is one subscription of a list for administrators.
type SubscriptionRow struct {
	Name, Href        string
	Partner, Endpoint ui.Named
	Types             []string
	Status            string
	Since             time.Time
}

// ClientRow is one client of a list for administrators.
type ClientRow struct {
	Name, Href string
	ID, Method string
	Partner    ui.Named
	Scopes     []string
	Status     string
	// Waiting is set while it asked for more than it has.
	Waiting bool
	Since   time.Time
}

func subscriptionColumns() []ui.Column {
	return []ui.Column{{Label: "Subscription"}, {Label: "Partner"}, {Label: "Gets"}, {Label: "Endpoint"}, {Label: "State"}, {Label: "Asked"}}
}

func clientColumns() []ui.Column {
	return []ui.Column{{Label: "Client"}, {Label: "Partner"}, {Label: "Proves itself by"}, {Label: "Scopes"}, {Label: "State"}, {Label: "Made"}}
}
