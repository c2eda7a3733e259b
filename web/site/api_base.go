package web

import "strings"

// api is one of our APIs: its base path, its name and its semantic version,
// which goes into the API-Version header of every answer (NL API Design Rules).
type api struct {
	base, name, version string
}

// apis lists our APIs; what lies under their bases answers with problem+json.
func apis() []api {
	return []api{
		{"/events/v1", "events", "1.0.0"},
		{"/registry/v1", "registry", "1.0.0"},
		{"/mutations/v1", "mutations", "1.0.0"},
		{"/oauth", "oauth", "1.0.0"},
		{"/.well-known", "discovery", "1.0.0"},
	}
}

// apiArea returns the API that a path belongs to, if any.
func apiArea(path string) (api, bool) { return areaIn(apis(), path) }

// areaIn is apiArea for who has the list at hand.
func areaIn(areas []api, path string) (api, bool) {
	for _, a := range areas {
		if rest, ok := strings.CutPrefix(path, a.base); ok && (rest == "" || rest[0] == '/') {
			return a, true
		}
	}
	return api{}, false
}
