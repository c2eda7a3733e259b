package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"schakel/delivery/mutation/replica"
)

// tokenRefused reports that a token endpoint gave no token: the status of its answer, and what it said.
type tokenRefused struct {
	status int
	detail string // error_description of RFC 6749 section 5.2; empty when there is none
}

// RefusedToken makes a tokenRefused of the answer of a token endpoint.
func RefusedToken(a Answer) tokenRefused {
	var body struct {
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(a.Body, &body) // a body of another shape has no description
	return tokenRefused{a.Status, body.Description}
}

// Error implements error.
func (r tokenRefused) Error() string {
	text := fmt.Sprintf("the token endpoint answers with status %d", r.status)
	if r.detail != "" {
		text += " (" + r.detail + ")"
	}
	switch {
	case Temporary(r.status):
	case r.status == http.StatusBadRequest || r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		text += ": look at the id and the key or secret of the client, at --token-audience where the Schakel is called by another address than its own, and whether the client may have this scope"
	default:
		text += ": look at --token-url, or leave the client out where no token is asked"
	}
	return text
}

// Is matches replica.ErrAccess, so that a follower knows that asking again makes no difference.
func (r tokenRefused) Is(target error) bool {
	return target == replica.ErrAccess && !Temporary(r.status)
}

// NoToken reports whether there will be no token, however often one is asked for.
func NoToken(err error) bool {
	refused, ok := errors.AsType[tokenRefused](err)
	return ok && !Temporary(refused.status)
}
