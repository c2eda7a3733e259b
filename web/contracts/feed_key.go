package contracts

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/web/api"
	"schakel/web/site"
)

// feedReader returns the reader of a feed: with a read-only key its partner, else the
// account that is logged in. A feed reader sends the key as the password of Basic, with any user
// name; never in the address, which ends up in logs. known reports whether the reader
// has a key or an account.
func (p *pages) feedReader(c echo.Context) (reader registry.Reader, known bool, err error) {
	if c.Request().Header.Get("Authorization") == "" {
		reader, err = p.Reader(c)
		return reader, p.CurrentAccount(c) != nil, err
	}
	plain, ok := api.SentReadKey(c.Request())
	if !ok {
		return reader, false, askForKey()
	}
	ctx := c.Request().Context()
	key, partner, err := p.Registry.ReadKeys.Authenticate(ctx, plain)
	if _, refused := errors.AsType[*registry.Error](err); refused {
		return reader, false, askForKey()
	}
	if err != nil {
		return reader, false, err
	}
	reader, err = p.Registry.Contracts.Reader(ctx, registry.Actor{Kind: registry.ActorClient, ID: key.ID, Name: key.Name, PartnerID: partner.ID})
	return reader, true, err
}

// askForKey is the answer with which a feed reader asks its user for the key.
func askForKey() *site.Problem {
	return site.NewProblem(http.StatusUnauthorized, "token-missing", "Send a read-only key as the password, with any user name.").
		With("WWW-Authenticate", `Basic realm="Contracts, with a read-only key", charset="UTF-8"`)
}
