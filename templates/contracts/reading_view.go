package contracts

import (
	"context"

	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// ReadingView is a version of a contract in the shape of a page that people read.
type ReadingView struct {
	VersionHref, Action, Version string
	Text                         string // Markdown, as all texts of this view
	Facts                        []ui.Item
	Servers, Security            []ReadingNamed
	Search                       string
	// Hits lists where the words of Search stand; nil when nothing is searched for. HitsOnly leaves out the rest.
	Hits     *ReadingHits
	HitsOnly bool
	// Since names the version that Changes counts from; Message explains a comparison that failed.
	Since, Message string
	Changes        *ReadingChanges
	Contents       []ReadingContents
	Groups         []ReadingGroup
	Total          int
	// Heavy is set for a document that is read a page at a time; Previous and Next are the pages beside this one.
	Heavy          bool
	Previous, Next *ReadingNear
	// Others are the other versions, highest first.
	Others []ReadingVersion
	// Uses lists the subscribers; nil when the contract has no event types.
	Uses *ReadingUses
	// Downloads lists the downloaders; nil for a reader who does not maintain the contract.
	Downloads *DownloadsView
}

// ReadingVersion is another version of the contract, and what changed between the two.
type ReadingVersion struct{ Version, State, Href, ChangesHref string }

// ReadingHits lists the places where words stand.
type ReadingHits struct {
	Words string
	Total int
	Rows  []ReadingHit
}

// ReadingHit is a place where words stand: an entry, the way from it, and the text.
type ReadingHit struct{ Kind, Name, Way, Text, Href string }

// ReadingChanges sums up what changed since another version.
type ReadingChanges struct {
	From                    string
	Breaking, Warning, Info int
	Rows                    []ReadingMark
	More                    int
	Href                    string // of the page of changes
}

// ReadingMark is a change beside what changed: its Level, Word is added, changed or removed. Name is that of what was removed, or in the
// summary that of the part, to which Href leads.
type ReadingMark struct{ Level, Word, Name, Text, Href string }

// ReadingContents is a group in the table of contents.
type ReadingContents struct {
	Title, Href string
	Count       int
	Entries     []ReadingContentsEntry
}

// ReadingContentsEntry is an entry in the table of contents, with the worst of its changes.
type ReadingContentsEntry struct {
	Method, Label, Title, Href, Level string
	Deprecated, Removed               bool
}

// ReadingNear is the page before or after this one.
type ReadingNear struct{ Title, Href string }

// ReadingNamed is a server or security scheme.
type ReadingNamed struct {
	ID, Name, Kind, Detail, Text string
	Facts                        []ui.Item
	Codes                        []ReadingCode
	Marks                        []ReadingMark
}

// ReadingGroup holds the parts of a tag or channel.
type ReadingGroup struct {
	ID, Title, Text, Href string
	Removed               bool // its parts are of an older version
	Parts                 []ReadingPart
}

// ReadingPart is an operation, channel, message or schema.
type ReadingPart struct {
	ID, Href, Kind, Name, Method, Path, Summary, Text string
	Deprecated, Removed                               bool
	Marks, Gone                                       []ReadingMark
	Facts                                             []ui.Item
	Links                                             []ReadingLink
	Sections                                          []ReadingSection
	Codes                                             []ReadingCode
	Samples                                           []ReadingSamples
}

// ReadingLink leads to another part; without an address it is not in the document.
type ReadingLink struct{ Label, Name, Href string }

// ReadingSection is a part of a part, such as a response.
type ReadingSection struct {
	ID, Href, Title, Text string
	Open                  bool
	Marks, Gone           []ReadingMark
	Blocks                []ReadingBlock
	Codes                 []ReadingCode
}

// ReadingBlock is a schema, or a list of parameters, of which Whole has only the children.
type ReadingBlock struct {
	Title string
	List  bool
	Whole ReadingNode
}

// ReadingNode is a value of a schema with those in it.
type ReadingNode struct {
	ID, Href, Name, Label, Type, RefName, RefHref, Text string
	Rules                                               []string
	Required, Deprecated, ReadOnly, WriteOnly           bool
	// More is set when it has more than is shown, Again when it lies within itself.
	More, Again bool
	Marks, Gone []ReadingMark
	// Changed is set when it or something in it changed, Open when its children are to be seen at once.
	Changed, Open bool
	Children      []ReadingNode
}

// ReadingCode is a part of the document as it stands.
type ReadingCode struct{ ID, Label, Text string }

// ReadingSamples are samples of which a reader needs one.
type ReadingSamples struct {
	ID   string
	Rows []ReadingSample
}

// ReadingSample is a request, response or message as it could be; Region names it on the page as a whole.
type ReadingSample struct{ Label, Region, Text, Code string }

// listed reports whether the document has a table of contents worth showing.
func (v ReadingView) listed() bool { return len(v.Contents) > 0 }

func (v ReadingView) sinceOptions(ctx context.Context) []ui.Option {
	options := []ui.Option{{Label: i18n.T(ctx, "contracts.reading.since-none")}}
	for _, o := range v.Others {
		options = append(options, ui.Option{Value: o.Version, Label: i18n.T(ctx, "contracts.changes.option", o.Version, i18n.Of(ctx, "contracts.state", o.State))})
	}
	return options
}

// hitsAddress asks for the hits alone, for the script that searches while the reader types.
func (v ReadingView) hitsAddress() string {
	address := v.Action + "?hits=1"
	if v.Since != "" {
		address += "&since=" + v.Since
	}
	return address
}

// markWord names what happened, and for whom it matters.
func markWord(ctx context.Context, m ReadingMark) string {
	word := i18n.Of(ctx, "contracts.mark", m.Word)
	if m.Level == "info" {
		return word
	}
	return i18n.T(ctx, "contracts.reading.mark", word, i18n.Of(ctx, "contracts.level", m.Level))
}

// worst is the level of the worst of some changes, for the colour of the margin.
func worst(marks ...[]ReadingMark) string {
	found := ""
	for _, list := range marks {
		for _, m := range list {
			switch {
			case m.Level == "breaking", found == "", m.Level == "warning" && found == "info":
				found = m.Level
			}
		}
	}
	return found
}

func marginClass(base string, marks ...[]ReadingMark) string {
	if level := worst(marks...); level != "" {
		return base + " schakel-changed schakel-changed--" + level
	}
	return base
}

// names gives a link to a node its text.
func (n ReadingNode) called() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Label
}

// methodClass colours the method of an operation.
func methodClass(method string) string {
	switch method {
	case "GET", "QUERY", "HEAD", "OPTIONS", "TRACE", "subscribe", "send":
		return "schakel-method schakel-method--read"
	case "DELETE":
		return "schakel-method schakel-method--delete"
	}
	return "schakel-method schakel-method--write"
}
