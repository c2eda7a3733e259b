package outline

import (
	"cmp"
	"strings"

	"schakel/registry/contracts/contract"
	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

// Kinds of entries.
const (
	KindOperation = "operation"
	KindChannel   = "channel"
	KindMessage   = "message"
	KindSchema    = "schema"
	KindWebhook   = "webhook"
)

// Outline lists the contents of a document without the details.
type Outline struct {
	Text              string // Markdown
	Facts             []Fact
	Servers, Security []Named
	Groups            []Group
	Entries           []Entry // in the order of the groups
	doc               *document
	anchors           anchors
	known             map[string]int // entry by pointer
}

// Group holds the entries of a tag or channel, or what belongs to none.
type Group struct {
	Title  i18n.Message
	Anchor string
	Text   string // Markdown
	From   int    // the first of its entries
	To     int    // behind the last of them
}

// Named is a server or security scheme.
type Named struct {
	Name, Kind, Anchor, Pointer string
	Detail                      i18n.Message
	Text                        string // Markdown
	Facts                       []Fact
	Codes                       []Code
}

// Entry is a part of a document that stands by itself. Its Anchor is the same in every version that has it.
type Entry struct {
	Kind, Name, Summary string
	Method, Path        string // of an HTTP operation
	Pointer, Anchor     string
	Group               int
	Deprecated          bool
	detail              func(*builder) Detail
}

// Detail holds all that a page shows of an entry.
type Detail struct {
	Text     string // Markdown
	Facts    []Fact
	Links    []Link
	Sections []Section
	Codes    []Code
	Samples  []Sample
}

// Section is a part of an entry: the parameters, the request, a response, the payload.
type Section struct {
	Title    i18n.Message
	Anchor   string
	Pointers []string
	Text     string // Markdown
	Open     bool   // worth seeing at once
	// Direction is that of compare, for who is bound by the contract: sent, read, or empty for both.
	Direction string
	Blocks    []Block
	Codes     []Code
}

// Block is a schema, or a list of parameters or headers, of which Whole has only the children.
type Block struct {
	Title i18n.Message
	Whole *Node
	List  bool
}

// Fact is a property in a few words. An address makes it a link.
type Fact struct {
	Label, Text i18n.Message
	Href        string
}

// Link leads to another entry by its pointer.
type Link struct {
	Label         i18n.Message
	Name, Pointer string
}

// Code is a part of the document that is shown as it stands, such as the bindings of a protocol.
type Code struct {
	Label i18n.Message
	Text  string
}

// Sample is a request, response or message as it could be.
type Sample struct {
	Title i18n.Message
	Name  string // that its author gave it
	// Group names samples of which a reader needs one, such as those of one response.
	Group     string
	Text      string // Markdown
	Code      string
	Generated bool
}

// Of makes the outline of a document, which need not be valid.
func Of(d *contract.Document, size int) *Outline {
	o := &Outline{
		doc:     &document{root: spot{d.Root, ""}, old: strings.HasPrefix(d.SpecVersion, "2."), orders: d.MemberOrder(size), whole: size},
		anchors: anchors{}, known: map[string]int{}, Text: d.Description,
	}
	for _, own := range []string{"servers", "security", "groups", "about", "changes", "hits", "main", "navigation", "contents", "languages", "removed", "since", "q"} {
		o.anchors.of(own) // those of the page
	}
	o.Facts, o.Servers, o.Security = o.doc.about(), o.doc.servers(o.anchors), o.doc.security(o.anchors)
	if d.Kind == contract.OpenAPI {
		o.http()
	} else {
		o.async()
	}
	o.group("outline.schemas", "", o.doc.schemas())
	return o
}

// group adds a group of entries that are not known yet; an empty one is left out.
func (o *Outline) group(title i18n.Message, text string, entries []Entry) {
	g := Group{Title: title, Text: text, From: len(o.Entries)}
	for _, e := range entries {
		if _, twice := o.known[e.Pointer]; twice || len(o.Entries) >= maxEntries {
			continue
		}
		e.Group, e.Anchor = len(o.Groups), o.anchors.of(slug(e.Anchor))
		o.known[e.Pointer] = len(o.Entries)
		o.Entries = append(o.Entries, e)
	}
	if g.To = len(o.Entries); g.To > g.From {
		g.Anchor = o.anchors.of("group-" + slug(title.String()))
		o.Groups = append(o.Groups, g)
	}
}

// Find gives the entry that a pointer lies in: its own, or the nearest above it.
func (o *Outline) Find(pointer string) (int, bool) {
	for {
		if i, ok := o.known[pointer]; ok {
			return i, true
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			return 0, false
		}
		pointer = pointer[:cut]
	}
}

// Named gives the entry with an anchor.
func (o *Outline) Named(anchor string) (int, bool) {
	for i := range o.Entries {
		if e := &o.Entries[i]; anchor == e.Anchor || strings.HasPrefix(anchor, e.Anchor+".") {
			return i, true
		}
	}
	return 0, false
}

// Size is the length of the document in bytes.
func (o *Outline) Size() int { return o.doc.whole }

// Page gives the details of some entries for one page, which is bounded as a whole.
func (o *Outline) Page(entries []int) []Detail {
	b := &builder{doc: o.doc, nodes: maxPageNodes}
	details := make([]Detail, 0, len(entries))
	for _, i := range entries {
		e := o.Entries[i]
		b.anchor, b.taken = e.Anchor, anchors{}
		details = append(details, e.detail(b))
	}
	return details
}

func (d *document) schemas() []Entry {
	var list []Entry
	all := d.root.get("components", "schemas")
	for _, name := range d.names(all) {
		at := all.get(name)
		object := d.target(at)
		list = append(list, Entry{
			Kind: KindSchema, Name: name, Summary: object.text("title"), Pointer: at.at, Anchor: "schema-" + name, Deprecated: object.is("deprecated"),
			detail: func(b *builder) Detail {
				whole := b.schema(at, "", readAndWritten)
				detail := Detail{Text: whole.Text, Samples: b.samples("outline.example", "schema", object, at, "application/json", readAndWritten)}
				whole.Text = ""
				detail.Sections = []Section{{Pointers: []string{at.at}, Open: true, Blocks: []Block{{Whole: whole}}}}
				return detail
			},
		})
	}
	return list
}

// shared names the component that a pointer is; empty for anything else.
func shared(pointer string) string {
	if list, _ := jsonpointer.Tokens(pointer); len(list) == 3 && list[0] == "components" && list[1] == "schemas" {
		return list[2]
	}
	return ""
}

func fact(list []Fact, label, text i18n.Message) []Fact {
	if text != "" && text != i18n.Raw("") {
		list = append(list, Fact{Label: label, Text: text})
	}
	return list
}

// linked adds a fact that is a link when the address is one of the web.
func linked(list []Fact, label i18n.Message, text, address string) []Fact {
	list = fact(list, label, i18n.Raw(cmp.Or(text, address)))
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		list[len(list)-1].Href = address
	}
	return list
}

func code(list []Code, label i18n.Message, s spot) []Code {
	if s.there() {
		list = append(list, Code{label, sample(s.value)})
	}
	return list
}

// Anchor gives the anchor of what a pointer describes; empty when that is not shown.
func (d Detail) Anchor(pointer string) string {
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if n := b.Whole.find(pointer); n != nil && n.Anchor != "" {
				return n.Anchor
			}
		}
		for _, at := range s.Pointers {
			if at == pointer {
				return s.Anchor
			}
		}
	}
	return ""
}

func (n *Node) find(pointer string) *Node {
	for _, at := range n.Pointers {
		if at == pointer {
			return n
		}
	}
	for _, c := range n.Children {
		if found := c.find(pointer); found != nil {
			return found
		}
	}
	return nil
}
