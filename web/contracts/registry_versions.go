package contracts

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// versionAnswer is one version of a contract.
type versionAnswer struct {
	Version      string          `json:"version"`
	Status       string          `json:"status"`
	StatusReason string          `json:"statusReason,omitempty"`
	SpecVersion  string          `json:"specVersion"`
	Format       string          `json:"format"`
	Digest       string          `json:"digest"`
	Size         int64           `json:"size"`
	CreatedAt    store.Time      `json:"createdAt"`
	PublishedAt  store.Time      `json:"publishedAt,omitzero"`
	DeprecatedAt store.Time      `json:"deprecatedAt,omitzero"`
	SunsetAt     store.Time      `json:"sunsetAt,omitzero"`
	WithdrawnAt  store.Time      `json:"withdrawnAt,omitzero"`
	RequestedAt  store.Time      `json:"publicationRequestedAt,omitzero"`
	CopyOf       *copyAnswer     `json:"copyOf,omitempty"` // of a single version
	EventTypes   []string        `json:"eventTypes,omitempty"`
	Files        []FileAnswer    `json:"files,omitempty"`
	Findings     []FindingAnswer `json:"findings,omitempty"`
	Lint         *LintAnswer     `json:"lint,omitempty"` // of a single version
}

// FileAnswer is a file of the zip that a version was uploaded as.
type FileAnswer struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Main bool   `json:"main"`
	Used bool   `json:"used"`
	// Of a file that was fetched.
	URL       string `json:"url,omitempty"`
	FetchedAt string `json:"fetchedAt,omitempty"`
	Digest    string `json:"digest,omitempty"`
}

func newFileAnswers(list []contract.File) []FileAnswer {
	var answers []FileAnswer
	for _, f := range list {
		answers = append(answers, FileAnswer(f))
	}
	return answers
}

// FindingAnswer is something found in a document that does not stop it.
type FindingAnswer struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Pointer  string `json:"pointer"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	File     string `json:"file,omitempty"`
	FileLine int    `json:"fileLine,omitempty"`
	Detail   string `json:"detail"`
	Remedy   string `json:"remedy,omitempty"`
}

func newVersionAnswer(v store.ContractVersion) versionAnswer {
	return versionAnswer{
		Version: v.Version, Status: v.Status, StatusReason: i18n.Message(v.StatusReason).String(), SpecVersion: v.SpecVersion, Format: v.Format,
		Digest: "sha256:" + v.Digest, Size: v.Size, CreatedAt: v.CreatedAt, PublishedAt: v.PublishedAt,
		DeprecatedAt: v.DeprecatedAt, SunsetAt: v.SunsetAt, WithdrawnAt: v.WithdrawnAt, RequestedAt: v.RequestedAt,
	}
}

func newFindingAnswers(ctx context.Context, list []contract.Finding) []FindingAnswer {
	answers := make([]FindingAnswer, len(list))
	for i, f := range list {
		answers[i] = FindingAnswer{f.Severity, f.Code, f.Pointer, f.Line, f.Column, f.File, f.FileLine, f.Detail.In(ctx), i18n.Message(f.Remedy).In(ctx)}
	}
	return answers
}

// listVersions lists the versions of a contract, highest first.
func (m *handlers) listVersions(c echo.Context) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	return api.AnswerList(m.API, c, "versions", func(page store.Page) ([]versionAnswer, int, error) {
		rows, err := m.Registry.Contracts.Versions(c.Request().Context(), reader, c.Param("contractId"))
		return api.Each(site.OnPage(rows, page), newVersionAnswer), len(rows), err
	})
}

// showVersion answers one version, or latest, with what was found in it.
func (m *handlers) showVersion(c echo.Context) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("contractId")
	v, err := m.Registry.Contracts.Version(ctx, reader, id, c.Param("version"))
	if err != nil {
		return err
	}
	answer := newVersionAnswer(v)
	found, err := contracts.Findings(v)
	if err != nil {
		return err
	}
	answer.Findings = newFindingAnswers(ctx, found)
	if answer.Lint, err = m.lintOf(c, reader, id, v.Version); err != nil {
		return err
	}
	if answer.CopyOf, err = m.copyOf(c, v); err != nil {
		return err
	}
	files, err := contracts.Files(v)
	if err != nil {
		return err
	}
	answer.Files = newFileAnswers(files)
	types, err := m.Registry.Contracts.EventTypes(ctx, reader, id, v.Version)
	if err != nil {
		return err
	}
	for _, t := range types {
		answer.EventTypes = append(answer.EventTypes, t.Name)
	}
	return c.JSON(http.StatusOK, answer)
}

// ReleasesAnswer is a custom datasource of Renovate. An unknown value
// is left out: Renovate does not take null.
type ReleasesAnswer struct {
	Releases []releaseAnswer   `json:"releases"`
	Tags     map[string]string `json:"tags,omitempty"`
	Homepage string            `json:"homepage"`
}

type releaseAnswer struct {
	Version          string     `json:"version"`
	ReleaseTimestamp store.Time `json:"releaseTimestamp,omitzero"`
	IsDeprecated     bool       `json:"isDeprecated,omitempty"`
	IsStable         bool       `json:"isStable"`
	Digest           string     `json:"digest"`
	ChangelogURL     string     `json:"changelogUrl"`
}

// showReleases lists the versions that can be used, for a dependency updater (EDU-N06).
func (m *handlers) showReleases(c echo.Context) error {
	reader, err := m.reader(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("contractId")
	rows, err := m.Registry.Contracts.Versions(ctx, reader, id)
	if err != nil {
		return err
	}
	page := m.App.Absolute(site.ContractHref(id))
	answer := ReleasesAnswer{Releases: []releaseAnswer{}, Homepage: page}
	for _, v := range rows {
		if v.Status != store.VersionPublished && v.Status != store.VersionDeprecated {
			continue
		}
		answer.Releases = append(answer.Releases, releaseAnswer{
			Version: v.Version, ReleaseTimestamp: v.PublishedAt, IsDeprecated: v.Status == store.VersionDeprecated,
			IsStable: !strings.Contains(strings.Split(v.Version, "+")[0], "-"), Digest: "sha256:" + v.Digest,
			ChangelogURL: m.App.Absolute(site.ContractVersionHref(id, v.Version)),
		})
	}
	latest, err := m.DB.LatestVersions(ctx, []string{id})
	if err != nil {
		return err
	}
	if v, ok := latest[id]; ok {
		answer.Tags = map[string]string{"latest": v.Version}
	}
	return c.JSON(http.StatusOK, answer)
}
