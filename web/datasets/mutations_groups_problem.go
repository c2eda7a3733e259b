package datasets

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/templates/ui"
	"schakel/web/api"
	"schakel/web/site"
)

// publishProblem explains why a publication ended, where, and how much of it is in.
func (m *handlers) publishProblem(c echo.Context, who api.Caller, key string, err error) error {
	if c.Request().Context().Err() != nil {
		return site.RetryLater(http.StatusServiceUnavailable, "stopping", "The program is being stopped. Send the whole request again under the same Idempotency-Key: it goes on behind the groups that are in.", notReadyAfter)
	}
	if refused, ok := errors.AsType[*ingest.Refused](err); ok {
		return refusedProblem(refused)
	}
	switch {
	case errors.Is(err, ingest.ErrEnded):
		return site.NewProblem(http.StatusConflict, "conflict", "This dataset has ended: nothing is published in it any more.")
	case errors.Is(err, ingest.ErrNotEmpty):
		return site.NewProblem(http.StatusConflict, "dataset-not-empty", site.Capital(err.Error())+".")
	case errors.Is(err, ingest.ErrOtherContent):
		return m.KeyReused()
	case errors.Is(err, ingest.ErrElsewhere):
		return m.KeyInUse()
	case errors.Is(err, ingest.ErrCancelled):
		return site.NewProblem(http.StatusConflict, "publication-cancelled", "An administrator stopped this publication. Whole groups of it are in; ask the administrator, and send the rest under a new key.")
	case errors.Is(err, ingest.ErrReplaced):
		return site.NewProblem(http.StatusConflict, "conflict", "What this publication brought was replaced by another history of the dataset. Send what is to be in that under a new Idempotency-Key.")
	case errors.Is(err, ingest.ErrKind):
		return site.FieldProblem("kind", "the body does not say what it holds; say kind=delta or kind=initial in the address")
	case brokenOff(err):
		return m.brokenOff(c, who, key)
	}
	return err
}

// brokenOff reports whether the body ended in the middle, came too slowly, or was broken on its way. A connection to the database
// can end in the middle too, which is none of this.
func brokenOff(err error) bool {
	_, ok := errors.AsType[*bodyError](err)
	return ok || errors.Is(err, format.ErrTruncated) || errors.Is(err, archive.ErrTruncated)
}

// brokenOff answers with the number of groups stored, and that the same request goes on behind them.
func (m *handlers) brokenOff(c echo.Context, who api.Caller, key string) error {
	p, err := m.DB.PublicationByKey(c.Request().Context(), c.Param("datasetId"), who.Client.ID, key)
	if err != nil {
		return site.NewProblem(http.StatusBadRequest, "body-broken", brokenDetail(0))
	}
	problem := site.NewProblem(http.StatusBadRequest, "body-broken", brokenDetail(p.Groups))
	problem.Publication = &site.ProblemPublication{ID: p.ID, Groups: p.Groups}
	return problem
}

// brokenDetail minds that the line can have cut the body, and that its sender can have sent no more.
func brokenDetail(groups int64) string {
	const again, whole = "Send the whole request again under the same Idempotency-Key", " When what you sent ends there too, complete it first."
	if groups == 0 {
		return "The body broke off before the end of its first group: nothing of it is in. " + again + "." + whole
	}
	return "The body broke off behind " + ui.Plural(int(groups), "whole group, which is in. ", "whole groups, which are in. ") + again + ": it goes on from there." + whole
}

// refusedDetail counts the groups before the refused one, and advises how to go on.
func refusedDetail(groups int64) string {
	switch groups {
	case 0:
		return "Nothing of it is in. Mend it and send it under a new Idempotency-Key."
	case 1:
		return "The group before it is in. Mend it and send the rest under a new Idempotency-Key."
	}
	return fmt.Sprintf("The %d groups before it are in. Mend it and send the rest under a new Idempotency-Key.", groups)
}

// refusedProblem names every mistake with its place. What came before it is in.
func refusedProblem(refused *ingest.Refused) error {
	in := refusedDetail(refused.Publication.Groups)
	p := site.NewProblem(http.StatusUnprocessableEntity, "mutations-refused", "A group breaks a rule; errors says which and where. "+in)
	switch refused.Problems[0].Code {
	case ingest.CodeSyntax:
		p = site.NewProblem(http.StatusBadRequest, "mutations-unreadable", "The body cannot be read any further; errors says why and where. "+in)
	case ingest.CodeLimit:
		p = site.NewProblem(http.StatusRequestEntityTooLarge, "too-large", "The body holds more than is taken here; errors says where. "+in)
	}
	for _, found := range refused.Problems {
		p.Errors = append(p.Errors, site.ProblemError{
			File: found.File, Line: found.Line, Column: found.Column, Group: int64(found.Group), Mutation: found.Mutation, Code: found.Code, Detail: withRemedy(found.Detail, found.Remedy),
		})
	}
	if refused.Publication.ID != "" {
		p.Publication = &site.ProblemPublication{ID: refused.Publication.ID, Groups: refused.Publication.Groups}
	}
	return p
}

func withRemedy(detail, remedy string) string {
	text := site.Capital(strings.TrimSuffix(detail, ".")) + "."
	if remedy != "" {
		text += " " + site.Capital(strings.TrimSuffix(remedy, ".")) + "."
	}
	return text
}
