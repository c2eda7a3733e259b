package site

import "strings"

// APIArea is one of our APIs: its base path, its name and its semantic version,
// which goes into the API-Version header of every answer (NL API Design Rules).
type APIArea struct {
	Base, Name, version string
}

// APIs lists our APIs; what lies under their bases answers with problem+json.
func APIs() []APIArea {
	return []APIArea{
		{"/events/v1", "events", "1.0.0"},
		{"/registry/v1", "registry", "1.0.0"},
		{"/mutations/v1", "mutations", "1.0.0"},
		{"/oauth", "oauth", "1.0.0"},
		{"/.well-known", "discovery", "1.0.0"},
	}
}

// FindAPI returns the API that a path belongs to, if any.
func FindAPI(path string) (APIArea, bool) { return areaIn(APIs(), path) }

// areaIn is apiArea for who has the list at hand.
func areaIn(areas []APIArea, path string) (APIArea, bool) {
	for _, a := range areas {
		if rest, ok := strings.CutPrefix(path, a.Base); ok && (rest == "" || rest[0] == '/') {
			return a, true
		}
	}
	return APIArea{}, false
}

// MutationsBase begins the paths of the API for mutation files.
const MutationsBase = "/mutations/v1"

// ObjectsPath begins the addresses of oversize data.
const ObjectsPath = "/events/v1/objects/"
