package compare

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/jsonpointer"

	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/checker/rules"
)

// translator turns what oasdiff found into changes of ours.
type translator struct {
	pair     *pair
	judged   *judgement
	rules    map[string]rules.Rule
	phrases  map[string]phrase
	levels   map[string]Level
	localize checker.Localizer
	noise    *strings.Replacer
	status   *regexp.Regexp
}

func newTranslator(p *pair, j *judgement) *translator {
	t := &translator{
		pair: p, judged: j, rules: map[string]rules.Rule{}, phrases: phrases(), levels: ownLevels(), localize: checker.NewDefaultLocalizer(),
		noise: strings.NewReplacer(
			"request's body's", "body's", "response's body's", "body's", "request's body", "body", "response's body", "body",
			"request body", "body", "response body", "body", "request property", "property", "response property", "property",
			"response's property", "property", "request read-only property", "read-only property",
			patternPrefix, "", otherProperties, "other properties"),
		status: regexp.MustCompile(" (for|from|to|of) (the )?(response )?(with the )?(response )?(status )?`?(?:default|[0-9X]{3})`?( status)?$"),
	}
	for _, rule := range checker.GetAllRules() {
		t.rules[rule.Id] = rule.Rule
	}
	return t
}

// patternPrefix is how oasdiff leads to what stands under patternProperties.
const patternPrefix = "patternProperties/"

// changes translates all, with what several operations share brought together.
func (t *translator) changes() []Change {
	m := newMerger()
	for _, found := range t.judged.changes {
		id := found.GetId()
		if _, isComponent := found.(checker.ComponentChange); isComponent || skipped(id) || t.pair.ofEventType(found) {
			continue
		}
		m.add(t.change(found, id))
	}
	return m.changes()
}

// change gives a change and the text that it has wherever it is met.
func (t *translator) change(found checker.Change, id string) (c Change, short string) {
	rule := t.rules[id]
	what, isPart := t.pair.parts[found.GetPath()]
	if !isPart {
		what = part{read: rule.Direction == rules.DirectionResponse, side: SideConsumer, subject: found.GetOperation() + " " + found.GetPath()}
	}
	id, args := reveal(id, found.GetArgs())
	c = Change{Level: levelOf(found.GetLevel()), Code: id, Side: what.side, EventTypes: what.types, Subjects: []string{what.subject}}
	if own, ok := t.levels[id]; ok {
		c.Level = own
	}
	t.locate(&c, found, isPart)
	p := t.phrases[nameOf(id)]
	c.Why = t.why(p, rule, c.Level, what)
	place := pathPlace(found.GetId(), found.GetArgs())
	if id != found.GetId() {
		place-- // an argument was taken away
	}
	c.Text, short = t.text(p, found, readable(args, place), what), t.text(p, found, shortened(args, place), what)
	if isPart {
		name := strings.Replace(strings.Replace(nameOf(id), "new-required-request-property", "required-property-added", 1), "new-optional-request-property", "optional-property-added", 1)
		c.Code = "payload-" + name
		if what.what == "headers" {
			c.Code = "headers-" + name
		}
	}
	return c, short
}

func levelOf(l checker.Level) Level {
	switch l {
	case checker.ERR:
		return Breaking
	case checker.WARN:
		return Warning
	}
	return Info
}

// nameOf drops the direction that the name of a rule starts with.
func nameOf(id string) string {
	if name, ok := strings.CutPrefix(id, "request-"); ok {
		return name
	}
	return strings.TrimPrefix(id, "response-")
}

// reveal undoes that additionalProperties went by another name.
func reveal(id string, args []any) (string, []any) {
	if len(args) == 0 || args[0] != otherProperties {
		return id, args
	}
	direction, _, _ := strings.Cut(id, "-")
	switch {
	case strings.HasSuffix(id, "pattern-property-added"):
		return direction + "-additional-properties-limited", args[1:]
	case strings.HasSuffix(id, "pattern-property-removed"):
		return direction + "-additional-properties-allowed", args[1:]
	}
	return id, args
}

// locate fills in the place: that in the new document, else in the old one, else that of the operation.
func (t *translator) locate(c *Change, found checker.Change, isPart bool) {
	if s := found.GetRevisionSource(); s != nil {
		c.Pointer = t.judged.new.pointer(s.Line)
	}
	if s := found.GetBaseSource(); c.Pointer == "" && s != nil {
		c.Pointer, c.Removed = t.judged.old.pointer(s.Line), true
	}
	if c.Pointer == "" {
		c.Pointer = t.pair.new.origin(jsonpointer.Join("paths", found.GetPath()))
		if !isPart {
			c.Pointer += "/" + strings.ToLower(found.GetOperation())
		}
	}
	t.sharpen(c, found)
	c.Cause = causeOf(c.Pointer)
}

// text says what changed, in our words where there are any.
func (t *translator) text(p phrase, found checker.Change, args []any, what part) string {
	said := p.text
	if said == "" {
		said = t.foreign(found, args)
	}
	for i, arg := range args {
		said = strings.ReplaceAll(said, "{"+strconv.Itoa(i)+"}", quote(arg))
	}
	said = strings.NewReplacer("The property ``", "The body", "the property ``", "the body", "the `` property", "the body", "The `` property", "The body").Replace(said)
	if what.what == "" {
		return said + where(t.rules[found.GetId()], args) + "."
	}
	said = strings.ReplaceAll(said, "The body", "The "+what.what)
	said = strings.ReplaceAll(said, "the body", "the "+what.what)
	if what.what == "headers" {
		said = strings.ReplaceAll(said, "property", "header")
	}
	return said + "."
}

// foreign takes the text of oasdiff, without the direction and status that stand in the subject or at the end.
func (t *translator) foreign(found checker.Change, args []any) string {
	id, _ := reveal(found.GetId(), found.GetArgs())
	switch nameOf(id) {
	case "additional-properties-limited":
		return "Properties that are not named were limited" + below(args)
	case "additional-properties-allowed":
		return "Properties that are not named became allowed" + below(args)
	}
	var quoted []any
	for _, arg := range args {
		quoted = append(quoted, quote(arg))
	}
	said := t.status.ReplaceAllString(t.localize(found.GetId(), quoted...), "")
	said = t.noise.Replace(said)
	if said == "" || strings.Contains(said, "%!") { // a text of oasdiff that does not fit its own arguments
		said = strings.ReplaceAll(id, "-", " ")
	}
	return strings.ToUpper(said[:1]) + said[1:]
}

// below names the property that a text is about, if any.
func below(args []any) string {
	if len(args) == 0 || isStatus(args[0]) {
		return ""
	}
	return " in " + quote(args[0])
}

// where tells the direction of a change in an operation.
func where(rule rules.Rule, args []any) string {
	switch {
	case rule.Area == rules.AreaParameters || rule.Area == rules.AreaPaths || rule.Kind == rules.KindExistence && rule.Area == rules.AreaResponses:
		return ""
	case rule.Direction == rules.DirectionRequest && rule.Area != rules.AreaRequestBody:
		return ", in the request"
	case rule.Direction == rules.DirectionResponse && len(args) > 0 && isStatus(args[len(args)-1]) && args[len(args)-1] != anyStatus:
		return ", in the answer with status " + args[len(args)-1].(string)
	case rule.Direction == rules.DirectionResponse:
		return ", in the answer"
	}
	return ""
}

func isStatus(arg any) bool {
	s, ok := arg.(string)
	return ok && (s == anyStatus || len(s) == 3 && strings.Trim(s, "0123456789X") == "")
}

// why says what a change means for those who are bound.
func (t *translator) why(p phrase, rule rules.Rule, level Level, what part) string {
	who := "Clients"
	switch {
	case what.what != "" && what.read:
		who = "Consumers"
	case what.what != "":
		who = "Senders"
	}
	said := p.why
	if said == "" {
		said = general(rule.Effect, level, what.read)
	}
	if strings.HasPrefix(said, "{who}") {
		return who + strings.TrimPrefix(said, "{who}")
	}
	return strings.ReplaceAll(said, "{who}", strings.ToLower(who[:1])+who[1:])
}

func general(effect rules.Effect, level Level, read bool) string {
	switch {
	case level == Warning:
		return "It cannot be told for sure whether all that was allowed still is; {who} have to look."
	case level == Info && effect == rules.EffectNone:
		return "It changes nothing in what {who} send or get."
	case level == Info && read:
		return "What {who} get still fits the old version."
	case level == Info:
		return "All that {who} could send stays allowed."
	case read:
		return "{who} can get what the old version ruled out, and may not be able to handle it."
	}
	return "{who} that keep to the old version can be refused."
}

// anyStatus stands for the status where a text is for all of them.
const anyStatus = "default"

// shortened leaves the last name of each way and no status, so that the same change reads the same wherever it is met.
func shortened(args []any, place int) []any {
	short := slices.Clone(args)
	if last := len(short) - 1; last >= 0 && isStatus(short[last]) {
		short[last] = anyStatus
	}
	if place >= 0 && place < len(short) {
		if path, ok := short[place].(string); ok {
			short[place] = lastNamed(path)
		}
	}
	return short
}

// readable writes the way to a property, which is the argument at a place, for people.
func readable(args []any, place int) []any {
	made := slices.Clone(args)
	if place >= 0 && place < len(made) {
		if path, ok := made[place].(string); ok {
			made[place] = shown(path)
		}
	}
	return made
}
