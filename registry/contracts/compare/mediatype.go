package compare

import (
	"mime"
	"strings"

	"schakel/registry/jsonpointer"
)

// way gives the direction in which content goes, seen from the parties who are bound.
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
	// root holds the place of the schemas; nil where they need not be compared.
	root  *root
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

// mediaType writes a media type in small letters, without space and a charset that is the usual one.
func mediaType(name string) string {
	base, parameters, err := mime.ParseMediaType(name)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(name))
	}
	if strings.EqualFold(parameters["charset"], "utf-8") {
		delete(parameters, "charset")
	}
	return mime.FormatMediaType(base, parameters)
}

// covers reports whether a media type or range includes another.
func covers(given, wanted string) bool {
	if given == wanted || given == "*/*" {
		return true
	}
	kind, isRange := strings.CutSuffix(given, "*")
	return isRange && strings.HasSuffix(kind, "/") && strings.HasPrefix(wanted, kind)
}

// coveredBy gives the media type or range of a list that takes in another; empty for none.
func coveredBy(list map[string]schemaAt, wanted string) string {
	found := ""
	for given := range list {
		if covers(given, wanted) && len(given) > len(found) {
			found = given
		}
	}
	return found
}

// mediaTypes compares the media types that content comes in, and their schemas.
func (p *pair) mediaTypes(e exchange, before, after map[string]schemaAt) {
	for _, name := range sortedKeys(before) {
		if is, both := after[name]; both {
			p.mediaType(e, name, before[name], is)
		} else if over := coveredBy(after, name); over != "" {
			p.mediaType(e, name, before[name], after[over])
		} else {
			p.mediaTypeRemoved(e, name, before[name].at, len(after) > 0)
		}
	}
	for _, name := range sortedKeys(after) {
		if _, both := before[name]; both {
			continue
		}
		if over := coveredBy(before, name); over != "" {
			p.mediaType(e, name, before[over], after[name])
			continue
		}
		p.mediaTypeAdded(e, name, after[name].at, len(before) > 0)
	}
	if len(before) == 1 && len(after) == 1 && e.way == pushed { // one form replaced by another: its schema is judged all the same
		was, is := sortedKeys(before)[0], sortedKeys(after)[0]
		if was != is && coveredBy(after, was) == "" {
			p.mediaType(e, is, before[was], after[is])
		}
	}
}

// mediaType compares what is said of content in a media type that both have.
func (p *pair) mediaType(e exchange, name string, before, after schemaAt) {
	was, wasAt := p.old.object(before.value, before.at)
	is, isAt := p.new.object(after.value, after.at)
	if e.root == nil || was == nil || is == nil {
		return
	}
	r := *e.root
	r.side, r.in = e.sideOr(), writtenAs(name)
	if p.unsaidBytes(name, was["schema"], is["schema"]) {
		return
	}
	p.judge(r, schemaAt{was["schema"], wasAt + "/schema"}, schemaAt{is["schema"], isAt + "/schema"})
	if was["itemSchema"] != nil || is["itemSchema"] != nil { // each item of a stream
		items := r
		items.it = "each item of " + r.it
		p.judge(items, schemaAt{was["itemSchema"], wasAt + "/itemSchema"}, schemaAt{is["itemSchema"], isAt + "/itemSchema"})
	}
	if isForm(name) {
		p.encodings(e, r, located{was, wasAt}, located{is, isAt})
	}
}

// writtenAs classifies a media type by the way it writes values.
func writtenAs(name string) media {
	base, _, _ := strings.Cut(name, ";")
	switch {
	case strings.HasSuffix(base, "/xml"), strings.HasSuffix(base, "+xml"):
		return inXML
	case strings.HasPrefix(base, "text/"), isForm(name):
		return inText
	}
	return inJSON
}

// isForm reports whether content in a media type has parts that are encoded one by one.
func isForm(name string) bool {
	return strings.HasPrefix(name, "multipart/") || strings.HasPrefix(name, "application/x-www-form-urlencoded")
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
	if c.Why == "" {
		c.Why = "Those who read it in this form no longer get it."
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
