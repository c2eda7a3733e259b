package contracts

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// publicationRequest explains why a version breaks what its number promises to keep.
type publicationRequest struct {
	Reason string `json:"reason"`
}

// publishVersion freezes the draft that If-Match names for ever (guarantee G8): 428 without it, 412 when the draft holds
// other bytes. Where a partner does not publish itself, it asks for that: 202, and the draft stays one.
func (m *handlers) publishVersion(c echo.Context, who api.Caller) error {
	var in publicationRequest
	if err := api.ReadOptionalJSON(c, &in); err != nil {
		return err
	}
	ctx, id, version := c.Request().Context(), c.Param("contractId"), c.Param("version")
	v, err := m.Registry.Contracts.Publish(ctx, who.Actor(), id, version, contracts.PublishInput{Digest: namedDigest(c.Request().Header), Reason: in.Reason})
	if err == nil && v.Status == store.VersionDraft {
		return c.JSON(http.StatusAccepted, newVersionAnswer(v))
	}
	return m.versionChanged(c, v, breakingProblem(err))
}

// namedDigest is the digest in an If-Match of one strong tag, as "sha256:…" (RFC 9110, 13.1.1). Another tag, a weak one
// among them, is given as it is, since it names no bytes of ours. "*" would name any bytes and several tags several, so both
// count as none.
func namedDigest(h http.Header) string {
	tag := strings.TrimSpace(strings.Join(h.Values("If-Match"), ","))
	if tag == "*" || strings.Contains(tag, ",") {
		return ""
	}
	if digest, quoted := strings.CutPrefix(tag, `"`); quoted {
		return strings.TrimSuffix(digest, `"`)
	}
	return tag
}

// maxListedChanges limits the changes listed in a refusal.
const maxListedChanges = 100

// breakingProblem is the answer to a breaking change under a version number that
// promises none, with what breaks.
func breakingProblem(err error) error {
	if missing, ok := errors.AsType[*contracts.IncompleteError](err); ok {
		return incompleteProblem(missing)
	}
	refused, ok := errors.AsType[*contracts.BreakingChangeError](err)
	if !ok {
		return err
	}
	detail := i18n.M("contracts.api.breaking", refused.Before.Version, refused.Suggested)
	if refused.Unknown != "" {
		detail = i18n.M("contracts.api.breaking-unknown", refused.Unknown)
	}
	p := site.NewProblem(http.StatusConflict, "breaking-change", detail)
	for _, change := range refused.Breaking[:min(len(refused.Breaking), maxListedChanges)] {
		p.Errors = append(p.Errors, site.ProblemError{Pointer: change.Pointer, Code: change.Code, Detail: withRemedy(change.Text, i18n.Message(change.Why))})
	}
	return p
}

// incompleteProblem is the answer to publishing a version that refers to what was
// not uploaded, with each reference.
func incompleteProblem(err *contracts.IncompleteError) error {
	p := site.NewProblem(http.StatusConflict, "document-incomplete", "contracts.api.incomplete")
	for _, f := range err.Missing {
		p.Errors = append(p.Errors, site.ProblemError{
			Severity: f.Severity, Pointer: f.Pointer, Line: f.Line, Column: f.Column, Code: f.Code, Detail: findingText(f),
		})
	}
	return p
}

// deprecationRequest advises against a version.
type deprecationRequest struct {
	Sunset string `json:"sunset"` // a day or a time
	Reason string `json:"reason"`
}

// deprecateVersion advises against a version, which can be used until its sunset.
func (m *handlers) deprecateVersion(c echo.Context, who api.Caller) error {
	var in deprecationRequest
	if err := api.ReadOptionalJSON(c, &in); err != nil {
		return err
	}
	sunset, err := readSunset(in.Sunset)
	if err != nil {
		return err
	}
	v, err := m.Registry.Contracts.Deprecate(c.Request().Context(), who.Actor(), c.Param("contractId"), c.Param("version"), sunset, in.Reason)
	return m.versionChanged(c, v, err)
}

// readSunset reads a day, which ends at its last moment in UTC, or a time.
func readSunset(raw string) (time.Time, error) {
	if raw == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, raw); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), nil
	}
	t, err := time.Parse(time.RFC3339, raw)
	if err != nil {
		return time.Time{}, site.FieldProblem("sunset", "contracts.api.sunset-bad")
	}
	return t, nil
}

// undeprecateVersion takes a deprecation back.
func (m *handlers) undeprecateVersion(c echo.Context, who api.Caller) error {
	v, err := m.Registry.Contracts.Undeprecate(c.Request().Context(), who.Actor(), c.Param("contractId"), c.Param("version"))
	return m.versionChanged(c, v, err)
}

// withdrawalRequest takes a version out of the register.
type withdrawalRequest struct {
	Reason string `json:"reason"`
}

// withdrawVersion takes a version out of the register, for good.
func (m *handlers) withdrawVersion(c echo.Context, who api.Caller) error {
	var in withdrawalRequest
	if err := api.ReadJSON(c, &in); err != nil {
		return err
	}
	v, err := m.Registry.Contracts.Withdraw(c.Request().Context(), who.Actor(), c.Param("contractId"), c.Param("version"), in.Reason)
	return m.versionChanged(c, v, err)
}

func (m *handlers) versionChanged(c echo.Context, v store.ContractVersion, err error) error {
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newVersionAnswer(v))
}

// withdrawalAnswer lists the parties that a withdrawal would hit.
type withdrawalAnswer struct {
	Subscriptions []losingAnswer        `json:"subscriptions"`
	Endpoints     []namedEndpointAnswer `json:"endpoints"`
	Others        int                   `json:"others"`
	LastVersionOf []string              `json:"lastVersionOf"`

	Downloads          []DownloadAnswer `json:"downloads"`
	OtherDownloads     int              `json:"otherDownloads"`
	AnonymousDownloads int64            `json:"anonymousDownloads"`
}

// DownloadAnswer names a downloader of a version, with the time of the last download.
type DownloadAnswer struct {
	Kind    string     `json:"kind"`
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Partner string     `json:"partner"`
	LastAt  store.Time `json:"lastAt"`
}

type losingAnswer struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"`
	Partner    string   `json:"partner"`
	Status     string   `json:"status"`
	EventTypes []string `json:"eventTypes"`
	Loses      []string `json:"loses"`
}

type namedEndpointAnswer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// showWithdrawal lists the parties that the withdrawal of a version would hit, before it is done.
func (m *handlers) showWithdrawal(c echo.Context, who api.Caller) error {
	effect, err := m.Registry.Contracts.WithdrawalEffect(c.Request().Context(), who.Actor(), c.Param("contractId"), c.Param("version"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newWithdrawalAnswer(effect))
}

func newWithdrawalAnswer(e contracts.WithdrawalEffect) withdrawalAnswer {
	answer := withdrawalAnswer{
		Subscriptions: []losingAnswer{}, Endpoints: []namedEndpointAnswer{}, Others: e.Hidden, LastVersionOf: append([]string{}, e.Last...),
		Downloads: []DownloadAnswer{}, OtherDownloads: e.Downloads.Hidden, AnonymousDownloads: e.Downloads.Anonymous,
	}
	for _, s := range e.Subscriptions {
		answer.Subscriptions = append(answer.Subscriptions, losingAnswer{
			ID: s.ID, Name: s.Name, Partner: s.Partner.Name, Status: s.Status, EventTypes: s.Affects, Loses: append([]string{}, s.Loses...),
		})
	}
	for _, endpoint := range e.Endpoints {
		answer.Endpoints = append(answer.Endpoints, namedEndpointAnswer{endpoint.ID, endpoint.Name})
	}
	for _, f := range e.Downloads.Readers {
		answer.Downloads = append(answer.Downloads, DownloadAnswer{f.ReaderKind, f.ReaderID, f.Name, f.Partner.Name, f.LastAt})
	}
	return answer
}
