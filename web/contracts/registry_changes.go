package contracts

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// ChangesAnswer lists the changes from one version to another.
type ChangesAnswer struct {
	From             string         `json:"from"`
	To               string         `json:"to"`
	Level            string         `json:"level,omitempty"` // the worst; absent without changes
	SuggestedVersion string         `json:"suggestedVersion,omitempty"`
	Counts           levelCounts    `json:"counts"`
	Causes           []causeAnswer  `json:"causes"`
	Changes          []changeAnswer `json:"changes"`
}

type levelCounts struct {
	Breaking int `json:"breaking"`
	Warning  int `json:"warning"`
	Info     int `json:"info"`
}

// causeAnswer is a part of the document that brought changes about.
type causeAnswer struct {
	Pointer string `json:"pointer"`
	Level   string `json:"level"`
	Text    string `json:"text"`
}

type changeAnswer struct {
	Level       string   `json:"level"`
	Code        string   `json:"code"`
	Pointer     string   `json:"pointer"`
	Removed     bool     `json:"removed,omitempty"`
	OldPointer  string   `json:"oldPointer,omitempty"`
	NewPointer  string   `json:"newPointer,omitempty"`
	Direction   string   `json:"direction,omitempty"`
	Side        string   `json:"side"`
	Subjects    []string `json:"subjects"`
	Text        string   `json:"text"`
	Explanation string   `json:"explanation"`
	Cause       string   `json:"cause"`
	EventTypes  []string `json:"eventTypes,omitempty"`
}

// showChanges answers what changed from the version in the query, or the one
// before, to the one of the address.
func (m *handlers) showChanges(compared *comparisons) echo.HandlerFunc {
	return func(c echo.Context) error {
		reader, err := m.reader(c)
		if err != nil {
			return err
		}
		made, err := compared.get(c.Request().Context(), reader, c.Param("contractId"), c.Param("version"), c.QueryParam("from"))
		if err != nil {
			return err
		}
		body, err := json.Marshal(newChangesAnswer(c.Request().Context(), made))
		if err != nil {
			return err
		}
		c.Response().Header().Set("Cache-Control", "private, no-cache")
		if site.MatchesTag(c.Request().Header, site.SetDigests(c.Response().Header(), body)) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.JSONBlob(http.StatusOK, body)
	}
}

func newChangesAnswer(ctx context.Context, made contracts.Comparison) ChangesAnswer {
	answer := ChangesAnswer{
		From: made.From.Version, To: made.To.Version, Level: string(compare.Worst(made.Changes)), SuggestedVersion: made.Suggested,
		Counts: countLevels(made.Changes), Causes: []causeAnswer{}, Changes: []changeAnswer{},
	}
	for _, g := range compare.GroupByCause(made.Changes) {
		answer.Causes = append(answer.Causes, causeAnswer{g.Cause, string(g.Level), g.Text.In(ctx)})
	}
	for _, c := range made.Changes {
		answer.Changes = append(answer.Changes, changeAnswer{
			Level: string(c.Level), Code: c.Code, Pointer: c.Pointer, Removed: c.Removed, Side: c.Side,
			OldPointer: c.OldPointer, NewPointer: c.NewPointer, Direction: c.Direction,
			Subjects: written(ctx, c.Subjects), Text: c.Text.In(ctx), Explanation: i18n.Message(c.Why).In(ctx), Cause: c.Cause, EventTypes: c.EventTypes,
		})
	}
	return answer
}

// written writes a list of texts.
func written(ctx context.Context, list []i18n.Message) []string {
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.In(ctx)
	}
	return texts
}

func countLevels(changes []compare.Change) (n levelCounts) {
	for _, c := range changes {
		switch c.Level {
		case compare.Breaking:
			n.Breaking++
		case compare.Warning:
			n.Warning++
		case compare.Info:
			n.Info++
		}
	}
	return n
}
