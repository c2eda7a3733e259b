package mirror

import (
	"context"
	"net/url"
	"strconv"
	"strings"
)

// apicurio reads an Apicurio Registry 3: OpenAPI and AsyncAPI artifacts. The id of a contract is group/artifact, and the
// artifact alone for the group default.
type apicurio struct{ *client }

const (
	apicurioPage = 100
	apicurioBase = "/apis/registry/v3"
)

func (a *apicurio) api(path string, query url.Values) string {
	if strings.HasSuffix(strings.TrimSuffix(a.base.Path, "/"), apicurioBase) {
		return a.at(path, query)
	}
	return a.at(apicurioBase+path, query)
}

func offset(n int) url.Values {
	return url.Values{"offset": {strconv.Itoa(n)}, "limit": {strconv.Itoa(apicurioPage)}}
}

// Contracts implements Driver.
func (a *apicurio) Contracts(ctx context.Context) ([]Contract, error) {
	var list []Contract
	for page := range maxPages {
		var got struct {
			Artifacts []struct{ GroupID, ArtifactID, ArtifactType, Name, Description, Owner string }
			Count     int
		}
		if _, err := a.list(ctx, a.api("/search/artifacts", offset(page*apicurioPage)), "application/json", &got); err != nil {
			return nil, err
		}
		for _, f := range got.Artifacts {
			if f.ArtifactType != "OPENAPI" && f.ArtifactType != "ASYNCAPI" {
				continue // schemas and the like, which are no contracts
			}
			c := Contract{ID: f.ArtifactID, Title: field(f.Name), Description: field(f.Description), Owner: field(f.Owner)}
			if f.GroupID != "" && f.GroupID != "default" {
				c.ID = f.GroupID + "/" + f.ArtifactID
			}
			c.URL = a.artifact(c.ID)
			list = append(list, c)
		}
		if len(list) > maxContracts {
			break
		}
		if len(got.Artifacts) < apicurioPage {
			return list, nil
		}
	}
	return nil, tooMany(maxContracts)
}

func (a *apicurio) artifact(id string) string {
	group, artifact, ok := strings.Cut(id, "/")
	if !ok {
		group, artifact = "default", id
	}
	return a.api("/groups/"+url.PathEscape(group)+"/artifacts/"+url.PathEscape(artifact), nil)
}

// Versions implements Driver. A version that is disabled was withdrawn, and one that is a draft is not there yet.
func (a *apicurio) Versions(ctx context.Context, c Contract) ([]Version, bool, error) {
	var list []Version
	status := map[string]string{"ENABLED": Published, "": Published, "DEPRECATED": Deprecated, "DISABLED": Withdrawn, "SUNSET": Deprecated}
	for page := range maxPages {
		var got struct {
			Versions []struct{ Version, State string }
		}
		if _, err := a.list(ctx, a.artifact(c.ID)+"/versions?"+offset(page*apicurioPage).Encode(), "application/json", &got); err != nil {
			return nil, false, err
		}
		for _, v := range got.Versions {
			if known, ok := status[v.State]; ok {
				// What the content is can be told from it; Apicurio answers it as it was uploaded.
				list = append(list, Version{Number: v.Version, Status: known, URL: a.artifact(c.ID) + "/versions/" + url.PathEscape(v.Version) + "/content"})
			}
		}
		if len(list) > maxVersions {
			break
		}
		if len(got.Versions) < apicurioPage {
			return list, true, nil
		}
	}
	return nil, false, tooManyVersions(c.ID)
}

// Document implements Driver.
func (a *apicurio) Document(ctx context.Context, v Version, tag string) (Document, error) {
	return a.document(ctx, v, tag)
}
