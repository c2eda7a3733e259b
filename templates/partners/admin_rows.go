package templates

import "time"

// SubscriptionRow is one subscription of a list for administrators.
type SubscriptionRow struct {
	Name, Href        string
	Partner, Endpoint Named
	Types             []string
	Status            string
	Since             time.Time
}

// ClientRow is one client of a list for administrators.
type ClientRow struct {
	Name, Href string
	ID, Method string
	Partner    Named
	Scopes     []string
	Status     string
	// Waiting is set while it asked for more than it has.
	Waiting bool
	Since   time.Time
}

func subscriptionColumns() []Column {
	return []Column{{Label: "Subscription"}, {Label: "Partner"}, {Label: "Gets"}, {Label: "Endpoint"}, {Label: "State"}, {Label: "Asked"}}
}

func clientColumns() []Column {
	return []Column{{Label: "Client"}, {Label: "Partner"}, {Label: "Proves itself by"}, {Label: "Scopes"}, {Label: "State"}, {Label: "Made"}}
}
