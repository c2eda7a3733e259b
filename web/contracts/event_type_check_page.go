package contracts

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/web/site"
)

// checkEventType tries an event that was pasted on the page of its type; nothing of it
// is kept.
func (p *pages) checkEventType(c echo.Context) error {
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	content := strings.TrimSpace(form.Get("event"))
	check := &view.EventCheckView{Typed: content}
	switch {
	case content == "":
		check.Error = "Paste an event, or its data."
	case len(content) > MaxCheckedBytes:
		check.Error = "This is larger than 64 KiB. Try a smaller one."
	}
	if check.Error != "" {
		return p.showEventType(c, http.StatusUnprocessableEntity, check)
	}
	return p.showEventType(c, http.StatusOK, check)
}

// fillCheck tries what was pasted.
func (p *pages) fillCheck(v *view.EventCheckView, name string, lines []registry.VersionLineOf) error {
	if v.Typed == "" || v.Error != "" {
		return nil
	}
	made, err := CheckEvent(p.Registry.Payloads, name, []byte(v.Typed), VersionsIn(lines))
	if err != nil {
		return err
	}
	v.Done, v.Valid, v.Fits = true, made.Valid, strings.Join(made.Fits, " and ")
	for _, f := range made.Findings {
		row := view.EventCheckRow{Pointer: f.Pointer, Text: f.Detail, Code: f.Code}
		if f.Line > 0 {
			row.Place = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
		}
		v.Rows = append(v.Rows, row)
	}
	for _, a := range made.Advice {
		v.Notes = append(v.Notes, a.Detail)
	}
	return nil
}

// typeVersionRows lists the versions of an event type, with what keeps their data from
// being checked in full.
func (p *pages) typeVersionRows(lines []registry.VersionLineOf) []view.TypeVersionRow {
	var rows []view.TypeVersionRow
	for _, l := range lines {
		for _, v := range l.Versions {
			rows = append(rows, view.TypeVersionRow{
				Line: registry.LineName(l.Line), Version: v.ContractVersion, Href: site.ContractVersionHref(v.ContractID, v.ContractVersion),
				State: v.Status, Trouble: strings.Join(p.Registry.Payloads.Trouble(v), " "),
			})
		}
	}
	return rows
}

// typeUses lists the subscribers to an event type: administrators see everybody, a
// partner itself, and nobody else anything (G7).
func (p *pages) typeUses(ctx context.Context, c echo.Context, reader registry.Reader, name string) (*view.ReadingUses, error) {
	switch {
	case reader.Administrator:
		bound, err := p.Registry.Contracts.BoundBy(ctx, site.Actor(c), []string{name})
		return &view.ReadingUses{Rows: boundRows(bound)}, err
	case reader.PartnerID != "":
		bound, err := p.Registry.Contracts.BoundPartner(ctx, reader, []string{name})
		return &view.ReadingUses{Own: true, Rows: ownBoundRows(bound)}, err
	}
	return nil, nil
}

// atLines writes event types with the line of versions that a subscription gets.
func atLines(s store.Subscription, types []string) []string {
	list := make([]string, len(types))
	for i, name := range types {
		list[i] = name
		if line := s.Versions[name]; line != "" {
			list[i] += " (" + registry.LineName(line) + ")"
		}
	}
	return list
}
