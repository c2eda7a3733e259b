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

// EndpointRow is one endpoint of a list for administrators.
type EndpointRow struct {
	Name, Href, Kind, Host string
	Partner                Named
	Status, Circuit        string
	// Waiting counts the deliveries that are to be sent; Oldest is when the first of them was due.
	Waiting int
	Oldest  time.Time
	// Why says what is the matter; empty when all is well.
	Why string
}

// AccountRow is one person who can log in.
type AccountRow struct {
	Name, Email, Status string
	Since, LastLogin    time.Time
	// BlockAction or UnblockAction is where the button posts to; empty when there is none.
	BlockAction, UnblockAction, LinkAction string
	You                                    bool
}

func subscriptionColumns() []Column {
	return []Column{{Label: "Subscription"}, {Label: "Partner"}, {Label: "Gets"}, {Label: "Endpoint"}, {Label: "State"}, {Label: "Asked"}}
}

func clientColumns() []Column {
	return []Column{{Label: "Client"}, {Label: "Partner"}, {Label: "Proves itself by"}, {Label: "Scopes"}, {Label: "State"}, {Label: "Made"}}
}

func endpointColumns() []Column {
	return []Column{{Label: "Endpoint"}, {Label: "Partner"}, {Label: "Sends to"}, {Label: "State"}, {Label: "Waiting", Numeric: true}, {Label: "Oldest due"}}
}

func accountColumns() []Column {
	return []Column{{Label: "Name"}, {Label: "E-mail address"}, {Label: "State"}, {Label: "Last login"}, {Label: "Actions", Unseen: true}}
}

// firstFew keeps a cell small; the page of the thing shows the rest.
func firstFew(list []string) []string {
	const few = 3
	return list[:min(few, len(list))]
}
