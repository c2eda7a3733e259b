package datasets

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// PublicationAnswer counts the groups stored by one request, or so far.
type PublicationAnswer struct {
	ID         string           `json:"publicationId"`
	Dataset    string           `json:"dataset"`
	Kind       string           `json:"kind"`
	Status     string           `json:"status"`
	Groups     int64            `json:"groups"`
	Counts     archive.Counts   `json:"counts"`
	FirstSeq   int64            `json:"firstSeq,omitempty"`
	LastSeq    int64            `json:"lastSeq,omitempty"`
	Bytes      int64            `json:"bytes"`
	BytesTotal int64            `json:"bytesTotal,omitempty"`
	Error      string           `json:"error,omitempty"`
	CreatedAt  time.Time        `json:"createdAt"`
	FinishedAt time.Time        `json:"finishedAt,omitzero"`
	States     []publishedState `json:"states,omitempty"`
	Replayed   bool             `json:"replayed,omitempty"`
	Unlocated  *unlocated       `json:"unlocated,omitempty"`
}

// unlocated warns of versions of objects that are in and lie in no area: nobody who chose an area gets them.
type unlocated struct {
	Versions int64  `json:"versions"`
	First    string `json:"first"`
}

// publishedState returns the id of a version to its publisher; a later WAS may name it.
type publishedState struct {
	Group    int64  `json:"group"`
	Mutation int64  `json:"mutation"`
	ID       string `json:"id"`
	SourceID string `json:"sourceId,omitempty"`
}

func newPublicationAnswer(p store.MutationPublication) PublicationAnswer {
	answer := PublicationAnswer{
		ID: p.ID, Dataset: p.DatasetID, Kind: p.Kind, Status: p.Status, Groups: p.Groups,
		Counts:   archive.Counts{Groups: p.Groups, Adds: p.Adds, Changes: p.Changes, Deletes: p.Deletes},
		FirstSeq: p.FirstSeq, LastSeq: p.LastSeq, Bytes: p.Bytes, BytesTotal: p.BytesTotal, Error: i18n.Message(p.Error).String(),
		CreatedAt: utc(p.CreatedAt), FinishedAt: utc(p.FinishedAt),
	}
	if p.Unlocated > 0 {
		answer.Unlocated = &unlocated{Versions: p.Unlocated, First: i18n.Message(p.UnlocatedFirst).String()}
	}
	return answer
}

// postMutationGroups takes groups of mutations in, as they come over the line: each group whole or not at all, in order.
// When the request is cut, what is in stays in; the same request under the same key goes on behind it. The key is looked
// at before the body.
func (m *handlers) postMutationGroups(c echo.Context) error {
	who, err := m.publisher(c)
	if err != nil {
		return err
	}
	set, err := m.Registry.Profile.Current(c.Request().Context())
	if err != nil {
		return err
	}
	key, err := m.SentKey(c, set)
	if err != nil {
		return err
	}
	if key == "" {
		return m.KeyMissing()
	}
	defer m.App.EndReadOnDone(c)() // reading does not see that the program stops
	source, kind, err := mutationSource(c, &streamedBody{c.Request().Body, m.App.DeadlineExtender(c)})
	if err != nil {
		return err
	}
	receipt, err := m.Ingester.Publish(c.Request().Context(), ingest.Request{
		Dataset: c.Param("datasetId"), ClientID: who.Client.ID, By: who.Client.Name, ByKind: registry.ActorClient, Key: key, Kind: kind,
		Name: "request", BytesTotal: max(0, c.Request().ContentLength), Source: source, Replace: c.QueryParam("replaceReason"),
	})
	_ = m.App.ExtendDeadlines(c, site.Patience) // what was taken in may have taken longer than an answer may
	if err != nil {
		return m.publishProblem(c, who, key, err)
	}
	answer := newPublicationAnswer(receipt.Publication)
	answer.Replayed = receipt.Replayed
	for _, s := range receipt.States {
		answer.States = append(answer.States, publishedState{Group: s.Group, Mutation: s.Mutation, ID: s.ID, SourceID: s.SourceID})
	}
	c.Response().Header().Set("Location", datasetPath(answer.Dataset)+"/publications/"+answer.ID)
	return c.JSON(http.StatusCreated, answer)
}

// publisher is the caller, who must be a client of the organisation that runs this Schakel.
func (m *handlers) publisher(c echo.Context) (api.Caller, error) {
	who, err := m.Caller(c)
	if err == nil && !who.Partner.Own {
		return who, site.NewProblem(http.StatusForbidden, "forbidden", i18n.M("datasets.api.not-publisher", site.MutationsBase))
	}
	return who, err
}

// mutationSource reads the body as its media type says, and of which kind it is; empty is as its header says.
func mutationSource(c echo.Context, body io.Reader) (ingest.Source, string, error) {
	kind, err := site.APIChoice(c, "kind", []string{store.PublicationGroups, store.PublicationDelta, store.PublicationInitial})
	if err != nil {
		return nil, "", err
	}
	if coding := c.Request().Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, "", site.NewProblem(http.StatusUnsupportedMediaType, "not-mutations", "datasets.api.content-encoding").With("Accept-Encoding", "identity")
	}
	media, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	var limits format.Limits
	switch media {
	case "application/xml", "text/xml":
		return ingest.FromXML("request", body, limits), kind, nil
	case formatZipType:
		return ingest.FromZip(body, archive.Limits{}, limits), kind, nil
	case "application/json":
		return ingest.FromJSON("request", body, limits), cmp.Or(kind, store.PublicationGroups), nil
	case "application/x-ndjson":
		return ingest.FromNDJSON("request", body, limits), cmp.Or(kind, store.PublicationGroups), nil
	}
	return nil, "", site.NewProblem(http.StatusUnsupportedMediaType, "not-mutations", "datasets.api.media-type")
}

// showPublication answers how far a publication is, to the clients that may publish.
func (m *handlers) showPublication(c echo.Context) error {
	if _, err := m.publisher(c); err != nil {
		return err
	}
	p, err := m.DB.Publication(c.Request().Context(), c.Param("publicationId"))
	if err != nil {
		return err
	}
	if p.DatasetID != c.Param("datasetId") {
		return store.ErrNotFound
	}
	return c.JSON(http.StatusOK, newPublicationAnswer(p))
}

// publishProblem explains why a publication ended, where, and how much of it is in.
func (m *handlers) publishProblem(c echo.Context, who api.Caller, key string, err error) error {
	if c.Request().Context().Err() != nil {
		return site.RetryLater(http.StatusServiceUnavailable, "stopping", "datasets.api.stopping", notReadyAfter)
	}
	if refused, ok := errors.AsType[*ingest.Refused](err); ok {
		return refusedProblem(refused)
	}
	switch {
	case errors.Is(err, ingest.ErrEnded):
		return site.NewProblem(http.StatusConflict, "conflict", "datasets.api.ended")
	case errors.Is(err, ingest.ErrNotEmpty):
		return site.NewProblem(http.StatusConflict, "dataset-not-empty", "datasets.api.not-empty")
	case errors.Is(err, ingest.ErrOtherContent):
		return m.KeyReused()
	case errors.Is(err, ingest.ErrElsewhere):
		return m.KeyInUse()
	case errors.Is(err, ingest.ErrCancelled):
		return site.NewProblem(http.StatusConflict, "publication-cancelled", "datasets.api.cancelled")
	case errors.Is(err, ingest.ErrReplaced):
		return site.NewProblem(http.StatusConflict, "conflict", "datasets.api.replaced")
	case errors.Is(err, ingest.ErrKind):
		return site.FieldProblem("kind", "datasets.api.kind-missing")
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
func brokenDetail(groups int64) i18n.Message {
	if groups == 0 {
		return "datasets.api.broken-none"
	}
	return i18n.M("datasets.api.broken", groups)
}

// refusedDetail explains why a publication was refused by the code of its first problem, counts the groups before that, and advises
// how to go on.
func refusedDetail(code string, groups int64) i18n.Message {
	switch {
	case code == ingest.CodeSyntax && groups == 0:
		return "datasets.api.refused-syntax-none"
	case code == ingest.CodeSyntax:
		return i18n.M("datasets.api.refused-syntax", groups)
	case code == ingest.CodeLimit && groups == 0:
		return "datasets.api.refused-limit-none"
	case code == ingest.CodeLimit:
		return i18n.M("datasets.api.refused-limit", groups)
	case groups == 0:
		return "datasets.api.refused-rule-none"
	}
	return i18n.M("datasets.api.refused-rule", groups)
}

// refusedProblem names every mistake with its place. What came before it is in.
func refusedProblem(refused *ingest.Refused) error {
	why := refused.Problems[0].Code
	detail := refusedDetail(why, refused.Publication.Groups)
	p := site.NewProblem(http.StatusUnprocessableEntity, "mutations-refused", detail)
	switch why {
	case ingest.CodeSyntax:
		p = site.NewProblem(http.StatusBadRequest, "mutations-unreadable", detail)
	case ingest.CodeLimit:
		p = site.NewProblem(http.StatusRequestEntityTooLarge, "too-large", detail)
	}
	for _, found := range refused.Problems {
		p.Errors = append(p.Errors, site.ProblemError{
			File: found.File, Line: found.Line, Column: found.Column, Group: int64(found.Group), Mutation: found.Mutation, Code: found.Code, Detail: found.Said(),
		})
	}
	if refused.Publication.ID != "" {
		p.Publication = &site.ProblemPublication{ID: refused.Publication.ID, Groups: refused.Publication.Groups}
	}
	return p
}
