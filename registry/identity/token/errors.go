package token

import "errors"

var (
	// ErrInvalidToken matches every refused access token: answer 401 with
	// error="invalid_token".
	ErrInvalidToken = errors.New("invalid token")
	// ErrInsufficientScope is a good token for something else: answer 403 with
	// error="insufficient_scope".
	ErrInsufficientScope = errors.New("insufficient scope")
)

// InvalidTokenError gives the reason an access token was refused. It is an
// ErrInvalidToken.
type InvalidTokenError struct {
	// Reason is plain ASCII without quotes, fit for error_description in
	// WWW-Authenticate (RFC 6750, 3). It quotes nothing of the token.
	Reason string
}

// Error names the reason.
func (e *InvalidTokenError) Error() string { return "invalid token: " + e.Reason }

// Is reports true for ErrInvalidToken.
func (e *InvalidTokenError) Is(target error) bool { return target == ErrInvalidToken }

func invalid(reason string) error { return &InvalidTokenError{Reason: reason} }
