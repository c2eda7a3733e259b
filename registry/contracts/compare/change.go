package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// Level ranks a change.
type Level string

// The levels: Breaking makes others adapt, Warning may do so, Info does not.
const (
	Breaking Level = "breaking"
	Warning  Level = "warning"
	Info     Level = "info"
)

// The sides that a change can bind.
const (
	SideConsumer = "consumer"
	SideProducer = "producer"
	SideBoth     = "both"
)

// The directions of a change, as those see it who are bound by the contract.
const (
	DirectionSent = "sent"
	DirectionRead = "read"
)

// Change is one difference between two versions of a contract.
type Change struct {
	Level Level
	// Code names the kind of change for machines, such as response-required-property-removed.
	Code string
	// Pointer is the JSON Pointer of the change: in the new document, or in the old one for what was removed.
	Pointer string
	// Removed is set when Pointer is one in the old document.
	Removed bool
	// OldPointer and NewPointer are the JSON Pointers of the place in either document; one is empty for what is absent there.
	OldPointer, NewPointer string
	// Direction is DirectionSent for what those who are bound send, DirectionRead for what they read, else empty.
	Direction string
	// Side names the party that may have to adapt: SideConsumer, SideProducer or SideBoth.
	Side string
	// Subject names the object of the change, such as "GET /students" or "message StudentEnrolled"; with more than one, the
	// first and how many more.
	Subject i18n.Message
	// Subjects are all of them, sorted.
	Subjects []i18n.Message
	// Text describes the change, Why its meaning and for whom.
	Text, Why i18n.Message
	// Cause is the JSON Pointer of the part that changed, such as a shared schema. Changes with the same cause belong together.
	Cause string
	// EventTypes are the CloudEvents types that an AsyncAPI change touches, sorted.
	EventTypes []string
}

// was reports whether what changed was there before.
func (c *Change) was() bool {
	return !strings.Contains(c.Code, "added") && !strings.HasPrefix(c.Code, "new-")
}

// Worst gives the highest level among changes, empty without any.
func Worst(changes []Change) Level {
	var worst Level
	for _, c := range changes {
		if rank(c.Level) < rank(worst) {
			worst = c.Level
		}
	}
	return worst
}

func rank(l Level) int {
	switch l {
	case Breaking:
		return 0
	case Warning:
		return 1
	case Info:
		return 2
	}
	return 3
}

// order sorts: breaking first, then by cause and place.
func order(changes []Change) {
	sorted.Stable(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(rank(a.Level), rank(b.Level)),
			cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Pointer, b.Pointer),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Text, b.Text),
			slices.Compare(a.Subjects, b.Subjects),
		)
	})
}

// Suggest gives the semantic version (2.0.0) that fits the changes: the next major one for a breaking change, the next
// minor one for an addition or warning, else the next patch. A pre-release such as 2.0.0-rc.1 becomes the release it leads
// to where that is enough. It is empty when oldVersion is no semantic version.
func Suggest(oldVersion string, changes []Change) string {
	shape := regexp.MustCompile(`^v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	parts := shape.FindStringSubmatch(oldVersion)
	if parts == nil {
		return ""
	}
	major, minor, patch := number(parts[1]), number(parts[2]), number(parts[3])
	ahead := parts[4] != "" // a pre-release: its own release is still to come
	switch step(changes) {
	case "major":
		if !ahead || minor != 0 || patch != 0 {
			major, minor, patch = major+1, 0, 0
		}
	case "minor":
		if !ahead || patch != 0 {
			minor, patch = minor+1, 0
		}
	default:
		if !ahead {
			patch++
		}
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}

func step(changes []Change) string {
	found := "patch"
	for _, c := range changes {
		if c.Level == Breaking {
			return "major"
		}
		if c.Code != documentationChanged {
			found = "minor"
		}
	}
	return found
}

// number reads digits that are known to fit.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern allows nine digits only
	return n
}

// Group holds the changes with one cause.
type Group struct {
	// Cause is the JSON Pointer that the changes share.
	Cause string
	// Level is the worst of the changes.
	Level Level
	// Text is a sentence about the group, for a heading.
	Text i18n.Message
	// Subjects and EventTypes cover all the changes, sorted.
	Subjects   []i18n.Message
	EventTypes []string
	Changes    []Change
}

// GroupByCause puts changes with the same cause together: breaking groups first, then in the order of the causes.
func GroupByCause(changes []Change) []Group {
	at := map[string]int{}
	var groups []Group
	for _, c := range changes {
		i, known := at[c.Cause]
		if !known {
			i = len(groups)
			at[c.Cause] = i
			groups = append(groups, Group{Cause: c.Cause})
		}
		groups[i].Changes = append(groups[i].Changes, c)
	}
	for i := range groups {
		groups[i].complete()
	}
	sorted.Stable(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(a.Cause, b.Cause))
	})
	return groups
}

func (g *Group) complete() {
	g.Level = Worst(g.Changes)
	counts := map[Level]int{}
	for _, c := range g.Changes {
		counts[c.Level]++
		g.Subjects = append(g.Subjects, c.Subjects...)
		g.EventTypes = append(g.EventTypes, c.EventTypes...)
	}
	g.Subjects, g.EventTypes = distinct(g.Subjects), distinct(g.EventTypes)
	var parts []i18n.Message
	if n := counts[Breaking]; n > 0 {
		parts = append(parts, i18n.M("changes.count-breaking", n))
	}
	if n := counts[Warning]; n > 0 {
		parts = append(parts, i18n.M("changes.count-warning", n))
	}
	if n := counts[Info]; n > 0 {
		parts = append(parts, i18n.M("changes.count-info", n))
	}
	g.Text = i18n.M("changes.group", causeName(g.Cause), joined("changes.list", parts))
	if n := len(g.Subjects); n > 1 {
		g.Text = i18n.M("changes.group-places", causeName(g.Cause), joined("changes.list", parts), n)
	}
}

func distinct[S ~string](list []S) []S {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// merger brings together the changes that are one and the same, met in several operations or messages.
type merger struct {
	at   map[string]int
	list []Change
}

func newMerger() *merger { return &merger{at: map[string]int{}} }

// add takes a change; short is its text without what differs from place to place.
func (m *merger) add(c Change, short i18n.Message) {
	key := strings.Join([]string{string(c.Level), c.Code, c.Pointer, fmt.Sprint(c.Removed), c.Side, string(short)}, "\x00")
	i, known := m.at[key]
	if !known {
		m.at[key] = len(m.list)
		m.list = append(m.list, c)
		return
	}
	first := &m.list[i]
	if first.Text != c.Text {
		first.Text = short
	}
	first.Subjects = append(first.Subjects, c.Subjects...)
	first.EventTypes = append(first.EventTypes, c.EventTypes...)
}

// changes gives them complete: subjects sorted and summed up.
func (m *merger) changes() []Change {
	for i := range m.list {
		c := &m.list[i]
		c.Subjects, c.EventTypes = distinct(c.Subjects), distinct(c.EventTypes)
		c.Subject = summary(c.Subjects)
	}
	return m.list
}

func summary(subjects []i18n.Message) i18n.Message {
	switch len(subjects) {
	case 0:
		return ""
	case 1:
		return subjects[0]
	}
	return i18n.M("changes.subject-and-more", subjects[0], len(subjects)-1)
}

// quote writes an argument of a text as code.
func quote(value any) string {
	said, isText := value.(string)
	if !isText {
		content, err := json.Marshal(value)
		if err != nil {
			content = []byte(fmt.Sprint(value))
		}
		said = string(content)
	}
	const longest = 120
	if letters := []rune(said); len(letters) > longest {
		said = string(letters[:longest]) + "…"
	}
	return "`" + strings.ReplaceAll(said, "`", "'") + "`"
}
