package ui

import (
	"context"
	"io"
	"slices"

	"github.com/a-h/templ"
	"schakel/templates/i18n"
)

// TableView describes a list. The rows are the children of Table.
type TableView struct {
	// ID must be unique on the page; live parts and bulk forms refer to it.
	ID      string
	Caption string
	Columns []Column
	// Head is the column whose cells name their rows; -1 is none.
	Head int
	// Total counts all rows that match, not only those on this page.
	Total int
	// Most is up to where Total was counted: one above it says that there are more. 0 says that it was counted to the end.
	Most int
	// Noun names one and many rows in the language of the reader, such as {"delivery", "deliveries"}.
	Noun [2]string
	// Dense sets each row on one line on a desktop and as a compact card on a phone: for lists of which many rows are read at once.
	// What does not fit is shortened, so a cell gives its whole text as a title (Short, Middle) and its row leads to a page that has it.
	Dense bool
	// Bulk draws a bar for ticked rows; nil draws none and no tick column.
	Bulk *BulkView
	// Empty is shown in place of the table when Total is 0.
	Empty Empty
	// Pager is drawn below the table when there is more than one page.
	Pager *Pager
}

// Column is one heading of a table.
type Column struct {
	Label string
	// SortHref sorts by this column; empty when it cannot be sorted by.
	SortHref string
	// Sorted is "ascending", "descending" or empty.
	Sorted string
	// Numeric columns are set at the right.
	Numeric bool
	// Whole columns of a dense table are never shortened: states, ages, numbers.
	Whole bool
	// Wrap lets sentences of a dense table take several lines.
	Wrap bool
	// Two lets names of a dense table take a second line before they are shortened.
	Two bool
	// Bare columns need no label on a phone, because their values explain themselves.
	Bare bool
	// Unseen hides the label from sight but not from screen readers, for
	// columns of buttons.
	Unseen bool
}

// Empty explains why a list is empty and advises the next step.
type Empty struct {
	Text        string
	ActionLabel string
	ActionHref  string
}

// acts reports whether the reader may do something with ticked rows.
func (t TableView) acts(ctx context.Context) bool {
	return t.Bulk != nil && mayPost(ctx, t.Bulk.Action)
}

// BulkView is the bar that acts on ticked rows. Rows join with CellTick.
type BulkView struct {
	// Action receives the ticked values under the name "id".
	Action  string
	Buttons []BulkButton
	Hidden  []Hidden
	// AllLabel and AllHref lead to a page that acts on all rows that match,
	// such as "Resend all 1,204 that match"; empty leaves the link out.
	AllLabel, AllHref string
}

// BulkButton posts name "action" with Value.
type BulkButton struct {
	Label, Value string
	Kind         ButtonKind
	// Confirm is a question asked first when JavaScript is on.
	Confirm string
}

// Pager is a position in a list: pages count from 1.
type Pager struct {
	Page, PerPage, Total int
	// More is set when there are more than Total; then nobody knows the last page.
	More bool
	// URL gives the address of a page, other query parameters included.
	URL func(page int) string
}

func (t TableView) bulkForm() string { return t.ID + "-bulk" }

func (t TableView) count(ctx context.Context) string {
	one, many := t.Noun[0], t.Noun[1]
	if one == "" {
		one, many = i18n.T(ctx, "ui.row"), i18n.T(ctx, "ui.rows")
	}
	switch {
	case t.Most > 0 && t.Total > t.Most:
		return i18n.T(ctx, "ui.rows-more", t.Most, many)
	case t.Total == 1:
		return i18n.T(ctx, "ui.rows-counted", t.Total, one)
	}
	return i18n.T(ctx, "ui.rows-counted", t.Total, many)
}

// row draws the cells of a row; those beyond the columns leave a space only.
func (t TableView) row(cells Cells) templ.Component {
	list := slices.Repeat([]templ.Component{templ.NopComponent}, max(len(cells), len(t.Columns)))
	for i, c := range t.Columns {
		list[i] = t.cell(c, i == t.Head, cells[i])
	}
	return Spaced(list...)
}

// Spaced draws components with a space between them.
func Spaced(list ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for i, c := range list {
			if i > 0 {
				if _, err := io.WriteString(w, " "); err != nil {
					return err
				}
			}
			if err := c.Render(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b BulkButton) attrs() Attrs {
	a := Attrs{"name": "action", "value": b.Value}
	if b.Confirm != "" {
		a["data-confirm"] = b.Confirm
	}
	return a
}

func (c Column) attrs() templ.Attributes {
	if c.Sorted == "" {
		return nil
	}
	return templ.Attributes{"aria-sort": c.Sorted}
}

func (c Column) class() string {
	class := "utrecht-table__header-cell"
	if c.Numeric {
		class += " utrecht-table__header-cell--numeric-column"
	}
	if c.SortHref == "" {
		return class + " schakel-th--plain"
	}
	return class
}

func (p Pager) pages() int {
	if p.PerPage < 1 || p.Total < 1 {
		return 1
	}
	last := (p.Total + p.PerPage - 1) / p.PerPage
	if p.More {
		return max(last, p.Page+1)
	}
	return last
}

func (p Pager) summary(ctx context.Context) string {
	first, last := (p.Page-1)*p.PerPage+1, p.Page*p.PerPage
	if p.More {
		return i18n.T(ctx, "ui.pager-more", first, last, p.Total)
	}
	return i18n.T(ctx, "ui.pager", first, min(last, p.Total), p.Total)
}

// around lists the pages to link to: first, last when it is known, and those near
// the current one; 0 stands for a gap.
func (p Pager) around() []int {
	list := []int{1}
	add := func(n int) {
		switch before := list[len(list)-1]; {
		case n == before+2: // a gap is no shorter than the one page it would hide
			list = append(list, n-1)
		case n > before+2:
			list = append(list, 0)
		}
		if n > list[len(list)-1] {
			list = append(list, n)
		}
	}
	last := p.pages()
	for n := max(2, p.Page-1); n <= min(p.Page+1, last); n++ {
		add(n)
	}
	if !p.More {
		add(last)
	} else if p.Page+1 < last {
		list = append(list, 0)
	}
	return list
}

// FirstFew keeps a cell small; the page of the thing shows the rest.
func FirstFew(list []string) []string {
	const few = 3
	return list[:min(few, len(list))]
}

// cell draws one cell; a dense table shortens the box around its content.
func (t TableView) cell(c Column, head bool, content templ.Component) templ.Component {
	if t.Dense && !c.Unseen {
		content = cellBox(c.boxClass(), content)
		if c.Bare {
			c.Label = ""
		}
	}
	return columnCell(c, head, content)
}

func (c Column) boxClass() string {
	switch {
	case c.Wrap:
		return "schakel-cell schakel-cell--wrap"
	case c.Two:
		return "schakel-cell schakel-cell--two"
	case c.Whole || c.Numeric:
		return "schakel-cell schakel-cell--whole"
	}
	return "schakel-cell"
}

func (t TableView) class() string {
	if t.Dense {
		return "utrecht-table utrecht-table--html-table schakel-table schakel-table--dense"
	}
	return "utrecht-table utrecht-table--html-table schakel-table"
}
