package site

import (
	"cmp"
	"encoding/json"
	"regexp"

	"schakel/registry/identity"
	"schakel/store"
)

// KeyFile names the file with the private key of a client, as a browser saved it: of the key that was added last, where several work.
func KeyFile(client store.Client) string {
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	kid := ""
	if json.Unmarshal([]byte(cmp.Or(client.JWKS, identity.AskedKeys(client).JWKS)), &set) == nil && len(set.Keys) > 0 {
		kid = set.Keys[len(set.Keys)-1].ID
	}
	return KeyName(client.ID, kid) + ".jwk.json"
}

// keyID matches the ids that we give to keys; others may hold anything.
var keyID = regexp.MustCompile(`^[\w-]{43}$`)

// KeyName begins the names of the files with a private key, so that a new key is not saved over one that still works.
func KeyName(client, kid string) string {
	if !keyID.MatchString(kid) {
		return client
	}
	return client + "-" + kid[:8]
}
