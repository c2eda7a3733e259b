package contracts

import (
	"net/url"
	"strings"

	"schakel/registry/contracts/compare"
	"schakel/registry/contracts/outline"
	view "schakel/templates/contracts"
)

// maxSummedChanges bounds the summary of changes; the page of changes has them all.
const maxSummedChanges = 60

// readingChanges knows where a page shows what changed. A nil one is of a page without changes.
type readingChanges struct {
	all     []compare.Change
	places  outline.Places
	removed []outline.Gone
	levels  map[int]compare.Level // the worst of each entry
	hrefs   map[int]string        // of each change, where it is shown first
}

func (r *reading) compare(since *readingSince, entries []int, details []outline.Detail) {
	if !since.compared {
		return
	}
	r.changes = &readingChanges{
		all: since.changes, places: r.o.Place(since.changes, entries, details), removed: r.o.Removed(since.old, since.changes),
		levels: map[int]compare.Level{}, hrefs: map[int]string{},
	}
	for _, c := range since.changes {
		pointer := c.NewPointer
		if c.Removed {
			pointer = c.OldPointer
		}
		if i, ok := r.o.Find(pointer); ok {
			r.changes.note(i, c.Level)
		}
	}
}

func (k *readingChanges) note(entry int, level compare.Level) {
	k.levels[entry] = compare.Worst([]compare.Change{{Level: level}, {Level: k.levels[entry]}})
}

// level is the worst change of an entry, empty without any.
func (k *readingChanges) level(entry int) string {
	if k == nil {
		return ""
	}
	return string(k.levels[entry])
}

// gone are the entries that were before another one.
func (k *readingChanges) gone(group, before int) []outline.Gone {
	if k == nil {
		return nil
	}
	var list []outline.Gone
	for _, g := range k.removed {
		if g.Group == group && g.Before == before {
			list = append(list, g)
		}
	}
	return list
}

// marks gives the changes of a place, and what was removed from it, of those that matter in this direction.
func (p partReader) marks(pointers []string, anchor string) (marks, gone []view.ReadingMark) {
	if p.changes == nil {
		return nil, nil
	}
	seen := map[int]bool{}
	each := func(into map[string][]int, pointer string, add func(compare.Change)) {
		for _, i := range into[pointer] {
			c := p.changes.all[i]
			if seen[i] || p.direction != "" && c.Direction != "" && c.Direction != p.direction || p.isGone(c) {
				continue
			}
			seen[i] = true
			p.changes.note(p.entry, c.Level)
			if _, known := p.changes.hrefs[i]; !known && anchor != "" {
				p.changes.hrefs[i] = p.href(p.entry, anchor)
			}
			add(c)
		}
	}
	for _, pointer := range pointers {
		each(p.changes.places.At, pointer, func(c compare.Change) { marks = append(marks, p.mark(c, pointer)) })
		each(p.changes.places.Gone, pointer, func(c compare.Change) {
			m := p.mark(c, pointer)
			m.Name = goneName(c.OldPointer)
			gone = append(gone, m)
		})
	}
	return marks, gone
}

// isGone reports whether a change is told of by the entry that was removed.
func (r *reading) isGone(c compare.Change) bool {
	for _, g := range r.changes.removed {
		if c.Removed && g.Pointer == c.OldPointer {
			return true
		}
	}
	return false
}

func (r *reading) mark(c compare.Change, pointer string) view.ReadingMark {
	m := view.ReadingMark{Level: string(c.Level), Word: "changed", Text: c.Text.In(r.ctx)}
	switch {
	case c.Removed:
		m.Word = "removed"
	case outline.Added(c, pointer):
		m.Word = "added"
	}
	return m
}

// goneName is the name of what was removed, such as of a property.
func goneName(pointer string) string {
	at := strings.LastIndexByte(pointer, '/')
	if name := pointer[at+1:]; strings.HasSuffix(pointer[:max(at, 0)], "/properties") || strings.HasSuffix(pointer[:max(at, 0)], "/headers") {
		return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
	}
	return ""
}

// ofNamed marks a server or security scheme: what changed at it or in it.
func (k *readingChanges) ofNamed(r *reading, pointer, anchor string) []view.ReadingMark {
	if k == nil {
		return nil
	}
	var marks []view.ReadingMark
	for i, c := range k.all {
		if !c.Removed && (c.Pointer == pointer || strings.HasPrefix(c.Pointer, pointer+"/")) {
			marks = append(marks, r.mark(c, pointer))
			k.hrefs[i] = "#" + anchor
		}
	}
	return marks
}

func (r *reading) gonePart(g outline.Gone) view.ReadingPart {
	id := "removed." + g.Anchor
	for i, c := range r.changes.all {
		if c.Removed && c.OldPointer == g.Pointer {
			r.changes.hrefs[i] = "#" + id
		}
	}
	return view.ReadingPart{
		ID: id, Href: "#" + id, Kind: g.Kind, Name: g.Name, Method: g.Method, Path: g.Path, Summary: g.Summary, Removed: true,
		Marks: []view.ReadingMark{r.mark(g.Change, g.Pointer)},
	}
}

// lost adds a group of what was removed together with its group.
func (r *reading) lost(groups []view.ReadingGroup) []view.ReadingGroup {
	var parts []view.ReadingPart
	if r.page+1 == len(r.pages) {
		for _, g := range r.changes.gone(-1, len(r.o.Entries)) {
			parts = append(parts, r.gonePart(g))
		}
	}
	if len(parts) > 0 {
		groups = append(groups, view.ReadingGroup{ID: "removed", Parts: parts, Removed: true, Href: "#removed"})
	}
	return groups
}

// lostContents adds the entries of a group that were removed to its table of contents.
func (r *reading) lostContents(rows []view.ReadingContentsEntry, group int) []view.ReadingContentsEntry {
	if r.changes == nil {
		return rows
	}
	for _, g := range r.changes.removed {
		shown := r.shows(g.Before) || g.Before > 0 && r.shows(g.Before-1)
		if g.Group == group && shown {
			rows = append(rows, view.ReadingContentsEntry{Method: g.Method, Label: g.Name, Href: "#removed." + g.Anchor, Level: string(g.Change.Level), Removed: true})
		}
	}
	return rows
}

// summary lists the changes, each with a link to where it is shown.
func (r *reading) summary(since *readingSince) *view.ReadingChanges {
	if r.changes == nil {
		return nil
	}
	n := countLevels(since.changes)
	s := &view.ReadingChanges{
		From: since.version, Breaking: n.Breaking, Warning: n.Warning, Info: n.Info, Href: strings.TrimSuffix(r.here, "/reading") + "/changes?from=" + url.QueryEscape(since.version),
	}
	for i, c := range since.changes[:min(len(since.changes), maxSummedChanges)] {
		m := r.mark(c, c.Pointer)
		m.Name, m.Href = c.Subject.In(r.ctx), r.changes.hrefs[i]
		if m.Href == "" {
			m.Href = r.elsewhere(c)
		}
		s.Rows = append(s.Rows, m)
	}
	s.More = len(since.changes) - len(s.Rows)
	return s
}

// elsewhere leads to a change that another page shows, or that this page shows around its entry.
func (r *reading) elsewhere(c compare.Change) string {
	pointer := c.NewPointer
	if c.Removed {
		pointer = c.OldPointer
	}
	return r.to(pointer)
}
