package contracts

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/site"
)

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
