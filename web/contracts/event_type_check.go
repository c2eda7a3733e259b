package contracts

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/event"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/registry/sorted"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// MaxCheckedBytes bounds an event that is checked against its contract, in bytes.
const MaxCheckedBytes = 64 << 10

// EventCheck reports the check of an event, or of its data alone, against its contract.
type EventCheck struct {
	Valid bool `json:"valid"`
	// Fits are the versions of the contract that it fits.
	Fits     []string            `json:"fits"`
	Findings []site.ProblemError `json:"findings"`
	Advice   []site.ProblemError `json:"advice"`
}

// CheckEvent checks JSON against the versions of an event type: a CloudEvent in structured
// mode when it has specversion, else data. Nothing is stored of it.
func CheckEvent(payloads *contracts.Payloads, name string, content []byte, versions []store.EventType) (EventCheck, error) {
	answer := EventCheck{Fits: []string{}, Findings: []site.ProblemError{}, Advice: []site.ProblemError{}}
	if !json.Valid(content) {
		answer.add(content, "", site.ProblemError{Code: "json-syntax", Detail: "contracts.type.not-json"})
		return answer, nil
	}
	offer, within := contracts.Offer{JSON: true, Data: content}, ""
	if site.IsWholeEvent(content) {
		e, err := event.ParseJSON(content, event.Limits{EventBytes: MaxCheckedBytes})
		if invalid, ok := errors.AsType[*event.Invalid](err); ok {
			answer.Findings = append(answer.Findings, eventFindings(invalid)...)
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		if e.Type != name {
			answer.add(content, "/type", site.ProblemError{Attribute: "type", Code: "type-differs", Detail: i18n.M("contracts.type.other-type", site.Shown(e.Type))})
			return answer, nil
		}
		offer, within = site.OfferOf(&e), "/data"
	}
	j, err := payloads.Judge(offer, versions)
	if err != nil {
		return answer, err
	}
	for _, t := range j.Fits {
		answer.Fits = append(answer.Fits, t.ContractVersion)
	}
	for _, m := range j.Misfits {
		at := "/" + m.Attribute + m.Pointer
		if m.Attribute == "data" {
			at = within + m.Pointer
		}
		answer.add(content, at, site.ProblemError{Attribute: m.Attribute, Code: m.Code, Detail: m.Detail})
	}
	for _, n := range j.Notes {
		answer.Advice = append(answer.Advice, site.ProblemError{Attribute: n.Attribute, Code: n.Code, Detail: n.Detail})
	}
	answer.Valid = len(answer.Findings) == 0
	return answer, nil
}

// add adds a finding with its place in what was tried.
func (t *EventCheck) add(content []byte, pointer string, found site.ProblemError) {
	found.Pointer = pointer
	if json.Valid(content) {
		found.Line, found.Column = contract.LocateJSON(content, pointer)
	}
	t.Findings = append(t.Findings, found)
}

func eventFindings(invalid *event.Invalid) []site.ProblemError {
	var list []site.ProblemError
	for _, p := range invalid.Problems {
		list = append(list, site.ProblemError{Attribute: p.Attribute, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Code: p.Code, Detail: p.Detail})
	}
	return list
}

// VersionsIn are all versions of lines, in the order the check wants them: published
// ones first, newest first.
func VersionsIn(lines []registry.VersionLineOf) []store.EventType {
	var all []store.EventType
	for _, l := range lines {
		all = append(all, l.Versions...)
	}
	sorted.Stable(all, func(a, b store.EventType) int {
		if a.Status != b.Status {
			return -strings.Compare(a.Status, b.Status) // published, deprecated
		}
		return strings.Compare(b.SortKey, a.SortKey)
	})
	return all
}

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
		check.Error = "contracts.type.paste"
	case len(content) > MaxCheckedBytes:
		check.Error = "contracts.type.too-large"
	}
	if check.Error != "" {
		return p.showEventType(c, http.StatusUnprocessableEntity, check)
	}
	return p.showEventType(c, http.StatusOK, check)
}

// fillCheck tries what was pasted.
func (p *pages) fillCheck(ctx context.Context, v *view.EventCheckView, name string, lines []registry.VersionLineOf) error {
	if v.Typed == "" || v.Error != "" {
		return nil
	}
	made, err := CheckEvent(p.Registry.Payloads, name, []byte(v.Typed), VersionsIn(lines))
	if err != nil {
		return err
	}
	v.Done, v.Valid, v.Fits = true, made.Valid, made.Fits
	for _, f := range made.Findings {
		row := view.EventCheckRow{Pointer: f.Pointer, Text: f.Detail.In(ctx), Code: f.Code}
		if f.Line > 0 {
			row.Place = strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
		}
		v.Rows = append(v.Rows, row)
	}
	for _, a := range made.Advice {
		v.Notes = append(v.Notes, a.Detail.In(ctx))
	}
	return nil
}

// typeVersionRows lists the versions of an event type, with what keeps their data from
// being checked in full.
func (p *pages) typeVersionRows(ctx context.Context, lines []registry.VersionLineOf) []view.TypeVersionRow {
	var rows []view.TypeVersionRow
	for _, l := range lines {
		for _, v := range l.Versions {
			var trouble []string
			for _, text := range p.Registry.Payloads.Trouble(v) {
				trouble = append(trouble, text.In(ctx))
			}
			rows = append(rows, view.TypeVersionRow{
				Line: lineName(ctx, l.Line), Version: v.ContractVersion, Href: site.ContractVersionHref(v.ContractID, v.ContractVersion),
				State: v.Status, Trouble: strings.Join(trouble, " "),
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
		return &view.ReadingUses{Rows: boundRows(ctx, bound)}, err
	case reader.PartnerID != "":
		bound, err := p.Registry.Contracts.BoundPartner(ctx, reader, []string{name})
		return &view.ReadingUses{Own: true, Rows: ownBoundRows(ctx, bound), Ask: askFor(name)}, err
	}
	return nil, nil
}

// askFor is the form for a subscription with an event type chosen in it.
func askFor(name string) string { return "/partner/subscriptions/new?types=" + url.QueryEscape(name) }

// lineName writes a line of versions, such as 1.x, in the language of the reader.
func lineName(ctx context.Context, line string) string {
	if line == "" {
		return i18n.T(ctx, "contracts.type.any-version")
	}
	return registry.LineName(line)
}

// atLines writes event types with the line of versions that a subscription gets.
func atLines(ctx context.Context, s store.Subscription, types []string) []string {
	list := make([]string, len(types))
	for i, name := range types {
		list[i] = name
		if line := s.Versions[name]; line != "" {
			list[i] = i18n.T(ctx, "contracts.type.at-line", name, lineName(ctx, line))
		}
	}
	return list
}

// postEventTypeValidation tries an event, or its data, against its contract, so that a
// producer need not send it to know. Nothing of it is stored.
func (m *handlers) postEventTypeValidation(c echo.Context) error {
	reader, err := m.callerReader(c)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || !site.SaysJSON(kind) {
		return site.NewProblem(http.StatusUnsupportedMediaType, "not-json", "contracts.api.not-json")
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	found, err := m.Registry.EventTypes.Get(ctx, reader, name)
	if err != nil {
		return err
	}
	content, err := api.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	lines, err := m.Registry.EventTypes.LinesOf(ctx, found.Name)
	if err != nil {
		return err
	}
	answer, err := CheckEvent(m.Registry.Payloads, found.Name, content, VersionsIn(lines[found.Name]))
	if err != nil {
		return err
	}
	lang, _ := i18n.Accepted(c.Request().Header.Get("Accept-Language"))
	answer.write(i18n.NewLocale(lang, nil))
	return c.JSON(http.StatusOK, answer)
}

// write puts what was found in the language of the client.
func (t *EventCheck) write(l *i18n.Locale) {
	for _, list := range [][]site.ProblemError{t.Findings, t.Advice} {
		for i := range list {
			list[i].Detail = i18n.Message(l.Text(list[i].Detail))
		}
	}
}
