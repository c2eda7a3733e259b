package webhook

import (
	"context"
	"errors"
	"time"
)

// tryTimeout bounds the answer of a token endpoint to somebody who waits for it.
const tryTimeout = 10 * time.Second

// Grant is a token that was asked for once.
type Grant struct {
	Token    Secret
	Lifetime time.Duration // as long as we use it, at most 6 hours
	Stated   time.Duration // as the answer says; 0 when it does not
}

// Ask asks a token endpoint once, past the cache, and keeps nothing: for who configures or checks an endpoint. The error is a
// *TokenError; that of ctx when that ended first.
func (s *Sender) Ask(ctx context.Context, cfg TokenConfig) (Grant, error) {
	asking, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	got, err := s.tokens.fetch(asking, cfg)
	if failure, ok := errors.AsType[*TokenError](err); ok && ctx.Err() == nil {
		return Grant{}, failure
	}
	if err != nil {
		return Grant{}, context.Cause(ctx)
	}
	return Grant{Secret(got.token), got.lifetime, got.stated}, nil
}

// TryToken asks as Ask does, and returns the lifetime of the token alone.
func (s *Sender) TryToken(ctx context.Context, cfg TokenConfig) (time.Duration, error) {
	got, err := s.Ask(ctx, cfg)
	return got.Lifetime, err
}
