package contracts

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

const mirrorsPath = "/registry/v1/mirrors"

// routesMirrors registers what is done about mirrors of other registers. All of it is
// for clients of the own organisation.
func (m *handlers) routesMirrors(read, write site.RouteGroup) {
	read.GET("/mirrors", m.ByCaller(m.listMirrors))
	read.GET("/mirrors/:mirrorId", m.showMirror)
	read.GET("/mirrors/:mirrorId/copies", m.ByCaller(m.listMirrorCopies))
	read.GET("/mirrors/:mirrorId/runs", m.ByCaller(m.listMirrorRuns))
	read.GET("/mirrors/:mirrorId/runs/:runId", m.ByCaller(m.showMirrorRun))
	read.GET("/mirrors/:mirrorId/alarms", m.ByCaller(m.listMirrorAlarms))
	read.GET("/mirrors/:mirrorId/alarms/:alarmId", m.ByCaller(m.showMirrorAlarm))
	read.GET("/mirrors/:mirrorId/alarms/:alarmId/content", m.ByCaller(m.showMirrorAlarmContent), m.App.Slow(site.UploadTime))
	write.POST("/mirrors", m.ByCaller(m.postMirror), m.Once)
	write.PATCH("/mirrors/:mirrorId", m.ByCaller(m.patchMirror), m.Once)
	write.DELETE("/mirrors/:mirrorId", m.ByCaller(m.deleteMirror), m.Once)
	write.POST("/mirrors/:mirrorId/runs", m.ByCaller(m.postMirrorRun), m.Once)
	write.POST("/mirrors/:mirrorId/alarms/:alarmId/settlement", m.ByCaller(m.settleMirrorAlarm), m.Once)
}

// mirrorAnswer is a register that is mirrored. Its key is never told.
type mirrorAnswer struct {
	MirrorID  string           `json:"mirrorId"`
	Name      string           `json:"name"`
	Kind      string           `json:"kind"`
	URL       string           `json:"url,omitempty"`
	URLs      []string         `json:"urls,omitempty"`
	PartnerID string           `json:"partnerId,omitempty"`
	HasKey    bool             `json:"hasKey"`
	Schedule  string           `json:"schedule"`
	Contracts []string         `json:"contracts"`
	Prefix    string           `json:"prefix"`
	Enabled   bool             `json:"enabled"`
	Copies    int              `json:"copies"`
	Alarms    int              `json:"openAlarms"`
	CreatedAt store.Time       `json:"createdAt"`
	UpdatedAt store.Time       `json:"updatedAt"`
	AskedAt   store.Time       `json:"askedAt,omitzero"`
	NextRunAt time.Time        `json:"nextRunAt,omitzero"`
	LastRun   *mirrorRunAnswer `json:"lastRun,omitempty"`
}

func newMirrorAnswer(ctx context.Context, s contracts.MirrorState) mirrorAnswer {
	a := mirrorAnswer{
		MirrorID: s.ID, Name: s.Name, Kind: s.Kind, URL: s.URL, URLs: s.URLs, PartnerID: s.PartnerID, HasKey: s.Secret != "",
		Schedule: s.Schedule, Contracts: append([]string{}, s.Contracts...), Prefix: s.Prefix, Enabled: s.Enabled,
		Copies: s.Copies, Alarms: s.Alarms, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, AskedAt: s.AskedAt, NextRunAt: s.Next,
	}
	if s.Last != nil {
		last := newMirrorRunAnswer(ctx, *s.Last)
		a.LastRun = &last
	}
	return a
}

// listMirrors lists the registers that are mirrored, by name.
func (m *handlers) listMirrors(c echo.Context, who api.Caller) error {
	return api.AnswerList(m.API, c, "mirrors", func(page store.Page) ([]mirrorAnswer, int, error) {
		ctx := c.Request().Context()
		rows, err := m.Registry.Mirrors.List(ctx, who.Actor())
		return api.Each(site.OnPage(rows, page), func(s contracts.MirrorState) mirrorAnswer { return newMirrorAnswer(ctx, s) }), len(rows), err
	})
}

// showMirror answers one register that is mirrored.
func (m *handlers) showMirror(c echo.Context) error {
	return m.answerMirror(c, http.StatusOK, c.Param("mirrorId"))
}

func (m *handlers) answerMirror(c echo.Context, status int, id string) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	row, err := m.Registry.Mirrors.Get(c.Request().Context(), who.Actor(), id)
	if err != nil {
		return err
	}
	return c.JSON(status, newMirrorAnswer(c.Request().Context(), row))
}

// mirrorRequest holds the settings of a mirror; a member absent of a change stays as it is.
type mirrorRequest struct {
	Name      *string   `json:"name"`
	Kind      *string   `json:"kind"`
	URL       *string   `json:"url"`
	URLs      *[]string `json:"urls"`
	PartnerID *string   `json:"partnerId"`
	Key       *string   `json:"key"` // empty: forget it
	Schedule  *string   `json:"schedule"`
	Contracts *[]string `json:"contracts"`
	Prefix    *string   `json:"prefix"`
	Enabled   *bool     `json:"enabled"`
}

func (r mirrorRequest) apply(in *contracts.MirrorInput) {
	for member, into := range map[*string]*string{
		r.Name: &in.Name, r.Kind: &in.Kind, r.URL: &in.URL, r.PartnerID: &in.PartnerID, r.Key: &in.Secret,
		r.Schedule: &in.Schedule, r.Prefix: &in.Prefix,
	} {
		if member != nil {
			*into = *member
		}
	}
	for member, into := range map[*[]string]*[]string{r.URLs: &in.URLs, r.Contracts: &in.Contracts} {
		if member != nil {
			*into = *member
		}
	}
	if r.Enabled != nil {
		in.Enabled = *r.Enabled
	}
	in.NoSecret = r.Key != nil && *r.Key == ""
}

// postMirror adds a register to mirror.
func (m *handlers) postMirror(c echo.Context, who api.Caller) error {
	var in mirrorRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	input := contracts.MirrorInput{Enabled: true}
	in.apply(&input)
	made, err := m.Registry.Mirrors.Create(c.Request().Context(), who.Actor(), input)
	if err != nil {
		return api.RenameField(err, "secret", "key")
	}
	c.Response().Header().Set("Location", mirrorPath(made.ID))
	return m.answerMirror(c, http.StatusCreated, made.ID)
}

func mirrorPath(id string) string { return mirrorsPath + "/" + url.PathEscape(id) }

// patchMirror changes how a register is mirrored.
func (m *handlers) patchMirror(c echo.Context, who api.Caller) error {
	var in mirrorRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	for member, value := range map[string]*string{"kind": in.Kind, "prefix": in.Prefix} {
		if value != nil {
			return site.FieldProblem(member, "contracts.api.mirror-fixed")
		}
	}
	id := c.Param("mirrorId")
	if _, err := m.Registry.Mirrors.Update(c.Request().Context(), who.Actor(), id, in.apply); err != nil {
		return api.RenameField(err, "secret", "key")
	}
	return m.answerMirror(c, http.StatusOK, id)
}

// postMirrorRun asks for a run at once.
func (m *handlers) postMirrorRun(c echo.Context, who api.Caller) error {
	id := c.Param("mirrorId")
	if err := m.Registry.Mirrors.AskRun(c.Request().Context(), who.Actor(), id); err != nil {
		return err
	}
	c.Response().Header().Set("Location", mirrorPath(id)+"/runs")
	return m.answerMirror(c, http.StatusAccepted, id)
}

// originAnswer names the origin of a copied contract (EDU-N05).
type originAnswer struct {
	URL    string     `json:"url"`
	GoneAt store.Time `json:"goneAt,omitzero"` // since when it is not offered there
}

func newOriginAnswer(origins map[string]store.MirrorContract, id string) *originAnswer {
	if from, ok := origins[id]; ok {
		return &originAnswer{from.OriginURL, from.GoneAt}
	}
	return nil
}

// copyAnswer describes the origin of the bytes of a version.
type copyAnswer struct {
	URL          string     `json:"url"`
	Digest       string     `json:"digest"`
	FetchedAt    store.Time `json:"fetchedAt"`
	CheckedAt    store.Time `json:"checkedAt"`
	SourceStatus string     `json:"sourceStatus"`
	SourceSince  store.Time `json:"sourceSince"`
}

func (m *handlers) copyOf(c echo.Context, v store.ContractVersion) (*copyAnswer, error) {
	from, ok, err := m.Registry.Contracts.CopyOf(c.Request().Context(), v)
	if err != nil || !ok {
		return nil, err
	}
	return &copyAnswer{from.OriginURL, "sha256:" + from.Digest, from.FetchedAt, from.CheckedAt, from.SourceStatus, from.SourceSince}, nil
}
