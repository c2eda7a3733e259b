package mirror

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// schakel reads the register of another Schakel: its API /registry/v1.
type schakel struct{ *client }

const schakelPage = 100

// Contracts implements Driver.
func (s *schakel) Contracts(ctx context.Context) ([]Contract, error) {
	var list []Contract
	for page := 1; page <= maxPages; page++ {
		var got struct {
			Contracts []struct {
				ID, Title, Description, Owner string
				CopyOf                        *struct{ URL string }
			}
		}
		if _, err := s.list(ctx, s.at("/registry/v1/contracts", pageQuery(page)), "application/json", &got); err != nil {
			return nil, err
		}
		for _, c := range got.Contracts {
			row := Contract{ID: c.ID, Title: field(c.Title), Description: field(c.Description), Owner: field(c.Owner), URL: s.contract(c.ID)}
			if c.CopyOf != nil {
				row.CopyOf = "another register"
				if c.CopyOf.URL != "" {
					row.CopyOf = field(c.CopyOf.URL)
				}
			}
			list = append(list, row)
		}
		if len(list) > maxContracts {
			break
		}
		if len(got.Contracts) < schakelPage {
			return list, nil
		}
	}
	return nil, tooMany(maxContracts)
}

func pageQuery(page int) url.Values {
	return url.Values{"page": {strconv.Itoa(page)}, "perPage": {strconv.Itoa(schakelPage)}}
}

func (s *schakel) contract(id string) string {
	return s.at("/registry/v1/contracts/"+url.PathEscape(id), nil)
}

// Versions implements Driver: a Schakel lists all that is published or deprecated, and hides what was withdrawn.
func (s *schakel) Versions(ctx context.Context, c Contract) ([]Version, bool, error) {
	var list []Version
	for page := 1; page <= maxPages; page++ {
		var got struct {
			Versions []struct {
				Version, Status, StatusReason, Digest string
				SunsetAt                              time.Time
			}
		}
		if _, err := s.list(ctx, s.contract(c.ID)+"/versions?"+pageQuery(page).Encode(), "application/json", &got); err != nil {
			return nil, false, err
		}
		for _, v := range got.Versions {
			if v.Status != Published && v.Status != Deprecated && v.Status != Withdrawn {
				continue // a draft, shown to those who draw it up
			}
			list = append(list, Version{
				Number: v.Version, Status: v.Status, Reason: field(v.StatusReason), Sunset: v.SunsetAt,
				Digest: strings.ToLower(strings.TrimPrefix(v.Digest, "sha256:")),
				URL:    s.contract(c.ID) + "/versions/" + url.PathEscape(v.Version) + "/original",
			})
		}
		if len(list) > maxVersions {
			break
		}
		if len(got.Versions) < schakelPage {
			return list, true, nil
		}
	}
	return nil, false, tooManyVersions(c.ID)
}

// Document implements Driver: byte for byte what was uploaded there.
func (s *schakel) Document(ctx context.Context, v Version, tag string) (Document, error) {
	return s.document(ctx, v, tag)
}
