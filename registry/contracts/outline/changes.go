package outline

import (
	"strings"

	"schakel/registry/contracts/compare"
)

// Places locates changes on a page.
type Places struct {
	// At holds the changes of each place that is shown, as indexes, by its pointer, and Gone what was removed right below it.
	At, Gone map[string][]int
}

// Place finds the places on a page, of these entries with these details, that show changes: the nearest one around each.
func (o *Outline) Place(changes []compare.Change, entries []int, details []Detail) Places {
	shown := map[string]bool{}
	for i, d := range details {
		shown[o.Entries[entries[i]].Pointer] = true
		for _, s := range d.Sections {
			for _, pointer := range s.Pointers {
				shown[pointer] = true
			}
			for _, b := range s.Blocks {
				b.Whole.note(shown)
			}
		}
	}
	p := Places{At: map[string][]int{}, Gone: map[string][]int{}}
	for i, c := range changes {
		pointer, into := c.Pointer, p.At
		if c.Removed {
			pointer, into = above(c.Pointer), p.Gone
		}
		if strings.HasSuffix(pointer, "/required") && shown[c.OldPointer] {
			pointer = c.OldPointer // the property itself, rather than the list of those that are required
		}
		for pointer != "" && !shown[pointer] {
			pointer = above(pointer)
		}
		if pointer != "" {
			into[pointer] = append(into[pointer], i)
		}
	}
	return p
}

// Added reports whether a change is that the place itself is new.
func Added(c compare.Change, pointer string) bool {
	return !c.Removed && c.OldPointer == "" && c.Pointer == pointer
}

func (n *Node) note(shown map[string]bool) {
	for _, pointer := range n.Pointers {
		shown[pointer] = true
	}
	for _, c := range n.Children {
		c.note(shown)
	}
}

func above(pointer string) string {
	return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
}

// Gone is an entry that an older version has.
type Gone struct {
	Entry
	Change compare.Change
	// Group and Before locate it: before this entry, or at the end of the group when Before is its To. Group is -1 when
	// the group is gone too.
	Before int
}

// Removed lists the entries of an older version that changes removed, where they were.
func (o *Outline) Removed(old *Outline, changes []compare.Change) []Gone {
	var list []Gone
	for _, c := range changes {
		i, was := old.known[c.OldPointer]
		if _, is := o.known[c.OldPointer]; !c.Removed || !was || is {
			continue
		}
		g := Gone{Entry: old.Entries[i], Change: c}
		was = false
		before := old.Groups[g.Group]
		g.Group, g.Before = -1, len(o.Entries)
		for at, group := range o.Groups {
			if group.Title == before.Title {
				g.Group, g.Before = at, group.From
			}
		}
		for n := i - 1; n >= before.From && g.Group >= 0 && !was; n-- {
			var at int
			if at, was = o.known[old.Entries[n].Pointer]; was {
				g.Before = at + 1
			}
		}
		list = append(list, g)
	}
	return list
}
