package token

import "net/http"

// OAuthError is an error answer of the token endpoint (RFC 6749, 5.2). Encoded
// as JSON it is the body of the answer.
type OAuthError struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is the error code of RFC 6749.
	Code string `json:"error"`
	// Description is for the developer of the client; plain ASCII, and never
	// anything the client sent.
	Description string `json:"error_description,omitempty"`
	// Challenge is the value of WWW-Authenticate, empty when none is due.
	Challenge string `json:"-"`
	// Err is the cause, for the log alone. It may be nil.
	Err error `json:"-"`
}

// Error names the code and, where known, the cause.
func (e *OAuthError) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Description
}

// Unwrap gives the cause.
func (e *OAuthError) Unwrap() error { return e.Err }

func badRequest(code, description string) *OAuthError {
	return &OAuthError{Status: http.StatusBadRequest, Code: code, Description: description}
}

func invalidRequest(description string) *OAuthError {
	return badRequest("invalid_request", description)
}

func invalidClient(description string, cause error) *OAuthError {
	return &OAuthError{Status: http.StatusUnauthorized, Code: "invalid_client", Description: description, Err: cause}
}

// notAuthenticated is the one answer to everything that would show a stranger
// which clients exist.
func notAuthenticated(cause error) *OAuthError {
	return invalidClient("client authentication failed", cause)
}

func unavailable(cause error) *OAuthError {
	return &OAuthError{
		Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "the token cannot be issued now, try again later", Err: cause,
	}
}
