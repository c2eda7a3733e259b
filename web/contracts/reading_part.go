package contracts

import (
	"strconv"

	"schakel/registry/contracts/outline"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// add puts an entry into its group, and what was removed before it.
func (r *reading) add(groups []view.ReadingGroup, i int, d outline.Detail) []view.ReadingGroup {
	e := r.o.Entries[i]
	g := r.o.Groups[e.Group]
	if len(groups) == 0 || groups[len(groups)-1].ID != g.Anchor {
		groups = append(groups, view.ReadingGroup{ID: g.Anchor, Title: g.Title.In(r.ctx), Text: g.Text, Href: r.href(g.From, g.Anchor)})
		if i > g.From {
			groups[len(groups)-1].Text = "" // it is on the page where the group begins
		}
	}
	group := &groups[len(groups)-1]
	for _, gone := range r.changes.gone(e.Group, i) {
		group.Parts = append(group.Parts, r.gonePart(gone))
	}
	group.Parts = append(group.Parts, r.part(i, d))
	if i+1 == g.To {
		for _, gone := range r.changes.gone(e.Group, g.To) {
			group.Parts = append(group.Parts, r.gonePart(gone))
		}
	}
	return groups
}

func (r *reading) part(i int, d outline.Detail) view.ReadingPart {
	e := r.o.Entries[i]
	part := view.ReadingPart{
		ID: e.Anchor, Kind: e.Kind, Name: e.Name, Method: e.Method, Path: e.Path, Summary: e.Summary, Text: d.Text, Deprecated: e.Deprecated,
		Href: r.href(i, e.Anchor), Facts: r.facts(d.Facts), Codes: r.codes(d.Codes, e.Anchor),
	}
	p := partReader{r, i, ""}
	part.Marks, part.Gone = p.marks([]string{e.Pointer}, e.Anchor)
	for _, l := range d.Links {
		part.Links = append(part.Links, view.ReadingLink{Label: l.Label.In(r.ctx), Name: l.Name, Href: r.to(l.Pointer)})
	}
	for _, s := range d.Sections {
		part.Sections = append(part.Sections, p.section(s))
	}
	part.Samples = r.samples(d.Samples, e.Anchor, e.Name)
	return part
}

// partReader draws an entry; direction is that of the section it is in.
type partReader struct {
	*reading
	entry     int
	direction string
}

func (p partReader) section(s outline.Section) view.ReadingSection {
	p.direction = s.Direction
	section := view.ReadingSection{ID: s.Anchor, Title: s.Title.In(p.ctx), Text: s.Text, Open: s.Open, Codes: p.codes(s.Codes, s.Anchor)}
	if s.Anchor != "" {
		section.Href = p.href(p.entry, s.Anchor)
	}
	section.Marks, section.Gone = p.marks(s.Pointers, s.Anchor)
	for _, b := range s.Blocks {
		whole := p.node(b.Whole)
		section.Blocks = append(section.Blocks, view.ReadingBlock{Title: b.Title.In(p.ctx), List: b.List, Whole: whole})
		section.Open = section.Open || whole.Changed
	}
	section.Open = section.Open || len(section.Marks)+len(section.Gone) > 0
	return section
}

func (p partReader) node(n *outline.Node) view.ReadingNode {
	node := view.ReadingNode{
		ID: n.Anchor, Name: n.Name, Label: n.Label.In(p.ctx), Type: n.Type.In(p.ctx), RefName: n.RefName, RefHref: p.to(n.Ref), Text: n.Text, Rules: written(p.ctx, n.Rules),
		Required: n.Required, Deprecated: n.Deprecated, ReadOnly: n.ReadOnly, WriteOnly: n.WriteOnly, More: n.More, Again: n.Again,
	}
	if n.Anchor != "" {
		node.Href = p.href(p.entry, n.Anchor)
	}
	node.Marks, node.Gone = p.marks(n.Pointers, n.Anchor)
	node.Changed = len(node.Marks)+len(node.Gone) > 0
	node.Open = len(node.Gone) > 0
	for _, c := range n.Children {
		child := p.node(c)
		node.Children = append(node.Children, child)
		node.Open = node.Open || child.Changed
		node.Changed = node.Changed || child.Changed
	}
	return node
}

func (r *reading) samples(list []outline.Sample, id, name string) []view.ReadingSamples {
	var groups []view.ReadingSamples
	at := map[string]int{}
	for _, s := range list {
		i, known := at[s.Group]
		if !known {
			i = len(groups)
			at[s.Group] = i
			groups = append(groups, view.ReadingSamples{ID: id + ".sample-" + strconv.Itoa(i+1)})
		}
		label := s.Label().In(r.ctx)
		if s.Generated && s.Group != "request" || s.Generated && s.Title != "outline.sample-curl" && s.Title != "outline.sample-http" {
			label = i18n.T(r.ctx, "contracts.reading.generated", label)
		}
		groups[i].Rows = append(groups[i].Rows, view.ReadingSample{Label: label, Region: i18n.T(r.ctx, "contracts.reading.sample-of", name, label), Text: s.Text, Code: s.Code})
	}
	return groups
}

func (r *reading) facts(list []outline.Fact) []ui.Item {
	var items []ui.Item
	for _, f := range list {
		item := ui.Item{Label: f.Label.In(r.ctx), Text: f.Text.In(r.ctx)}
		if f.Href != "" {
			item.Content = ui.Link(item.Text, f.Href)
		}
		items = append(items, item)
	}
	return items
}

func (r *reading) codes(list []outline.Code, id string) []view.ReadingCode {
	var rows []view.ReadingCode
	for i, c := range list {
		rows = append(rows, view.ReadingCode{ID: id + ".code-" + strconv.Itoa(i+1), Label: c.Label.In(r.ctx), Text: c.Text})
	}
	return rows
}

func (r *reading) named(list []outline.Named) []view.ReadingNamed {
	var rows []view.ReadingNamed
	for _, n := range list {
		row := view.ReadingNamed{ID: n.Anchor, Name: n.Name, Kind: n.Kind, Detail: n.Detail.In(r.ctx), Text: n.Text, Facts: r.facts(n.Facts), Codes: r.codes(n.Codes, n.Anchor)}
		row.Marks = r.changes.ofNamed(r, n.Pointer, n.Anchor)
		rows = append(rows, row)
	}
	return rows
}
