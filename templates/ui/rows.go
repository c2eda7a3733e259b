package ui

import "time"

// AccountRow is one person who can log in.
type AccountRow struct {
	Name, Email, Status string
	Since, LastLogin    time.Time
	// BlockAction or UnblockAction is the address that the button posts to; empty when there is none.
	BlockAction, UnblockAction, LinkAction string
	You                                    bool
}

// AccountColumns gives the columns of a table of AccountRows, in the order of the cells.
func AccountColumns() []Column {
	return []Column{{Label: "Name"}, {Label: "E-mail address"}, {Label: "State"}, {Label: "Last login"}, {Label: "Actions", Unseen: true}}
}

// EndpointRow is one endpoint of a list for administrators.
type EndpointRow struct {
	Name, Href, Kind, Host string
	Partner                Named
	Status, Circuit        string
	// Waiting counts the deliveries that are to be sent; Oldest is when the first of them was due.
	Waiting int
	Oldest  time.Time
	// Why names the problem; empty when all is well.
	Why string
}

// EndpointColumns gives the columns of a table of EndpointRows, in the order of the cells.
func EndpointColumns() []Column {
	return []Column{{Label: "Endpoint"}, {Label: "Partner"}, {Label: "Sends to"}, {Label: "State"}, {Label: "Waiting", Numeric: true}, {Label: "Oldest due"}}
}

// FollowerRow is a subscription to a dataset, and how far its copy is.
type FollowerRow struct {
	Partner, Subscription, Area Named
	Types                       []string
	State                       string
	// Delta is the number of the last delta that was fetched to its end, 0 for none; Behind counts those after it.
	Delta, Behind int64
	// Since is the end of the first delta that was not fetched.
	Since, Fetched time.Time
	// Snapshot is set when an initial state was fetched.
	Snapshot bool
	// Lost is set when a delta it needs has expired.
	Lost bool
}

// Progress gives the kind of badge and its text for how far the copy is. A copy that has to begin anew goes before one that is
// deltas behind, because its follower must act.
func (r FollowerRow) Progress() (Kind, string) {
	switch {
	case r.State == "requested":
		return KindNeutral, "Not approved yet"
	case r.Lost:
		return KindError, "Must begin anew"
	case r.Fetched.IsZero():
		return KindInfo, "Has not begun"
	case r.Behind == 0:
		return KindOK, "Up to date"
	}
	return KindWarning, Plural(int(r.Behind), "delta", "deltas") + " behind"
}

// FetchedText names the last delta that was fetched, else the snapshot, because deltas only follow upon a snapshot.
func (r FollowerRow) FetchedText() string {
	switch {
	case r.Delta > 0:
		return "Delta " + Count(int(r.Delta))
	case r.Snapshot:
		return "A snapshot"
	}
	return "Nothing yet"
}
