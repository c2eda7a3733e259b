package compare

import (
	"mime"
	"strings"

	"schakel/registry/jsonpointer"
)

// way is how content goes between the parties, seen from those who are bound.
type way int

const (
	sent     way = iota // they send it, in one of the forms that are taken
	answered            // they get it, and ask for the form they want
	pushed              // they get it, in whatever form it comes
)

// exchange is a place where content is given in one of several media types.
type exchange struct {
	way         way
	subject, in string
	side        string
	// parts is set when the schemas are to be judged here, for oasdiff does not see them where they stand.
	parts bool
	what  string
	types []string
}

// content gives the media types of a body by their name in one form of writing.
func content(owner map[string]any, at string) map[string]schemaAt {
	list := map[string]schemaAt{}
	given := child(owner, "content")
	for _, name := range sortedKeys(given) {
		list[mediaType(name)] = schemaAt{given[name], at + "/content" + jsonpointer.Join(name)}
	}
	return list
}

// mediaType writes a media type in small letters, without the charset and space that mean nothing.
func mediaType(name string) string {
	base, parameters, err := mime.ParseMediaType(name)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(name))
	}
	delete(parameters, "charset")
	return mime.FormatMediaType(base, parameters)
}

// covers tells whether a media type or range takes in another.
func covers(given, wanted string) bool {
	if given == wanted || given == "*/*" {
		return true
	}
	kind, isRange := strings.CutSuffix(given, "*")
	return isRange && strings.HasSuffix(kind, "/") && strings.HasPrefix(wanted, kind)
}

func coveredBy(list map[string]schemaAt, wanted string) bool {
	for given := range list {
		if covers(given, wanted) {
			return true
		}
	}
	return false
}

// mediaTypes compares the media types that content comes in and, where asked, their schemas.
func (p *pair) mediaTypes(e exchange, before, after map[string]schemaAt) {
	for _, name := range sortedKeys(before) {
		if is, both := after[name]; both {
			p.mediaTypeSchemas(e, before[name], is)
		} else if !coveredBy(after, name) && len(after) > 0 || len(after) == 0 && e.way != pushed {
			p.mediaTypeRemoved(e, name, before[name].at, len(after) > 0)
		}
	}
	for _, name := range sortedKeys(after) {
		if _, both := before[name]; !both && !coveredBy(before, name) {
			p.mediaTypeAdded(e, name, after[name].at, len(before) > 0)
		}
	}
	if len(before) == 1 && len(after) == 1 && e.parts { // one form replaced by another: its schema is judged all the same
		was, is := before[sortedKeys(before)[0]], after[sortedKeys(after)[0]]
		if sortedKeys(before)[0] != sortedKeys(after)[0] {
			p.mediaTypeSchemas(e, was, is)
		}
	}
}

func (p *pair) mediaTypeSchemas(e exchange, before, after schemaAt) {
	was, wasAt := p.old.object(before.value, before.at)
	is, isAt := p.new.object(after.value, after.at)
	if !e.parts || was == nil || is == nil {
		return
	}
	p.compare(part{read: e.way != sent, side: e.sideOr(), subject: e.subject, what: e.what, types: e.types},
		schemaAt{was["schema"], wasAt + "/schema"}, schemaAt{is["schema"], isAt + "/schema"})
}

func (e exchange) sideOr() string {
	if e.side == "" {
		return SideConsumer
	}
	return e.side
}

func (p *pair) mediaTypeRemoved(e exchange, name, at string, others bool) {
	c := Change{
		Level: Breaking, Code: "media-type-removed", Pointer: at, Removed: true, Side: e.sideOr(), Subjects: []string{e.subject}, EventTypes: e.types,
		Text: "The media type " + quote(name) + " was removed from " + e.in + ".",
	}
	switch {
	case e.way == sent:
		c.Why = "Those who send it in this form are refused."
	case e.way == answered:
		c.Why = "Those who ask for this form no longer get it."
	case others:
		c.Level, c.Why = Info, "It no longer comes in this form; what it does come in is a change of its own where that is new."
	}
	p.add(c)
}

func (p *pair) mediaTypeAdded(e exchange, name, at string, others bool) {
	c := Change{
		Level: Info, Code: "media-type-added", Pointer: at, Side: e.sideOr(), Subjects: []string{e.subject}, EventTypes: e.types,
		Text: "The media type " + quote(name) + " was added to " + e.in + ".",
		Why:  "What was used until now stays possible.",
	}
	if e.way == pushed && others {
		c.Level, c.Why = Breaking, "It can come in a form that those who read it do not know."
	}
	p.add(c)
}
