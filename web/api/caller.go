package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// Caller is the client whose token a request carries, with its partner. What a
// handler looks up, it looks up for caller.partner alone (guarantee G7).
type Caller struct {
	Client  store.Client
	Partner store.Partner
	readKey bool // it is a read-only key of the partner, and client only bears its id and name
}

const contextCaller = "caller"

// WithCaller finds the client and the partner of the token, behind requireScope.
func (m *API) WithCaller(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		claims, ok := site.CallerOf(c)
		if !ok {
			return next(c)
		}
		found, err := m.callers.Get(c.Request().Context(), claims.ClientID, m.loadCaller)
		if errors.Is(err, store.ErrNotFound) {
			return site.InvalidToken("site.token-client-gone")
		}
		if err != nil {
			return err
		}
		c.Set(contextCaller, found)
		return next(c)
	}
}

func (m *API) loadCaller(ctx context.Context, clientID string) (*Caller, error) {
	client, err := m.DB.Client(ctx, clientID)
	if err != nil {
		return nil, fmt.Errorf("find client of token: %w", err)
	}
	partner, err := m.DB.Partner(ctx, client.PartnerID)
	if err != nil {
		return nil, fmt.Errorf("find partner of token: %w", err)
	}
	return &Caller{Client: client, Partner: partner}, nil
}

// Caller returns the client that asks, on routes behind withCaller that need a token.
func (m *API) Caller(c echo.Context) (Caller, error) {
	found, ok := c.Get(contextCaller).(*Caller)
	if !ok || found.Partner.ID == "" {
		return Caller{}, site.NewProblem(http.StatusUnauthorized, "token-missing", "site.token-missing").
			With("WWW-Authenticate", "Bearer")
	}
	return *found, nil
}

// ByCaller makes a handler of one that is told who calls, on routes that need a token.
func (m *API) ByCaller(handle func(c echo.Context, who Caller) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := m.Caller(c)
		if err != nil {
			return err
		}
		return handle(c, who)
	}
}

// Actor is the caller for changes of its own partner's rows. A client is never
// an administrator here, also not one of the own organisation.
func (c Caller) Actor() registry.Actor {
	return registry.Actor{Kind: registry.ActorClient, ID: c.Client.ID, Name: c.Client.Name, PartnerID: c.Partner.ID}
}

// EngineActor is actor for the delivery engine.
func (c Caller) EngineActor() outbox.Actor {
	return outbox.Actor{Kind: registry.ActorClient, ID: c.Client.ID, Name: c.Client.Name, PartnerID: c.Partner.ID}
}

// Downloader is the caller as one that fetches a contract.
func (c Caller) Downloader() contracts.Downloader {
	kind := store.DownloadClient
	if c.readKey {
		kind = store.DownloadReadKey
	}
	return contracts.Downloader{Kind: kind, ID: c.Client.ID, PartnerID: c.Partner.ID}
}

// Scope bounds what the caller sees to its partner (guarantee G7).
func (c Caller) Scope() registry.Scope { return registry.ScopeOf(c.Partner.ID) }

// Decides reports whether a caller may decide about the requests of everybody: a client
// of the own organisation that may change the register, as its administrators do.
func Decides(c echo.Context, who Caller) bool {
	claims, ok := site.CallerOf(c)
	return ok && who.Partner.Own && slices.Contains(claims.Scopes, site.ScopeRegistryWrite)
}

// Decider is the caller where it acts for the whole installation, as an administrator does.
func (c Caller) Decider() outbox.Actor {
	a := c.EngineActor()
	a.PartnerID = ""
	return a
}

// MayDecide is the caller when it may decide about quarantined requests; to another
// they are not there.
func (m *API) MayDecide(c echo.Context) (Caller, error) {
	who, err := m.Caller(c)
	if err == nil && !Decides(c, who) {
		err = store.ErrNotFound
	}
	return who, err
}

// ByDecider is ByCaller for what only those do who may decide about quarantined requests.
func (m *API) ByDecider(handle func(c echo.Context, who Caller) error) echo.HandlerFunc {
	return m.ByCaller(func(c echo.Context, who Caller) error {
		if !Decides(c, who) {
			return store.ErrNotFound
		}
		return handle(c, who)
	})
}

// StillAllowed asks after a wait whether the client and its partner are still what they were.
func (m *API) StillAllowed(ctx context.Context, who Caller) error {
	now, err := m.loadCaller(ctx, who.Client.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (now.Client.Status != store.ClientActive || now.Partner.ID != who.Partner.ID) {
		return site.InvalidToken("site.token-client-stopped")
	}
	return err
}

// OrReadKey lets a read-only key in as its partner, with the scope registry.read
// and no other; who sends none is looked at as otherwise. A key is a bearer token,
// or the password of Basic with any user name, for programs that know no other way.
func (m *API) OrReadKey(otherwise echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		withToken := otherwise(m.WithCaller(next))
		return func(c echo.Context) error {
			plain, ok := SentReadKey(c.Request())
			if !ok || site.HasQueryToken(c) {
				return withToken(c)
			}
			key, partner, err := m.Registry.ReadKeys.Authenticate(c.Request().Context(), plain)
			if refused, ok := errors.AsType[*registry.Error](err); ok {
				return site.InvalidToken(i18n.Raw(decapitalised(refused.Message.String())))
			}
			if err != nil {
				return err
			}
			if cert, err := m.App.Certificate(c); err != nil {
				return err
			} else if err := site.CertificateOf(token.Client{OIN: partner.OIN}, cert); err != nil {
				return err
			}
			c.Set(site.ContextClaims, token.Claims{ClientID: key.ID, Scopes: []string{site.ScopeRegistryRead}})
			c.Set(contextCaller, &Caller{Client: store.Client{ID: key.ID, Name: key.Name, PartnerID: partner.ID}, Partner: partner, readKey: true})
			return next(c)
		}
	}
}

// SentReadKey finds the key in a request, when there is one.
func SentReadKey(r *http.Request) (plain string, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	if _, password, basic := r.BasicAuth(); basic {
		return password, token.IsReadKey(password)
	}
	scheme, bearer, _ := strings.Cut(values[0], " ")
	return bearer, strings.EqualFold(scheme, "Bearer") && token.IsReadKey(bearer)
}

// InTurn lets a request of a partner whose share is under way wait for its turn, before its body is read; then it is refused.
// It stands behind withCaller.
func (m *API) InTurn(s *site.Shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.Caller(c)
			if err != nil {
				return err
			}
			_ = m.App.ExtendDeadlines(c, site.Patience) // without it the times of the server hold
			if !s.Wait(c.Request().Context(), who.Partner.ID, site.MaxTurnWait) {
				return refusal()
			}
			defer s.Give(who.Partner.ID)
			return next(c)
		}
	}
}

// FewAtOnce refuses a request of a partner whose share is under way, before its body is read. It stands behind withCaller.
func (m *API) FewAtOnce(s *site.Shares, refusal func() error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, err := m.Caller(c)
			if err != nil {
				return err
			}
			if !s.Take(who.Partner.ID) {
				return refusal()
			}
			defer s.Give(who.Partner.ID)
			return next(c)
		}
	}
}

// decapitalised is a sentence as a part of another one.
func decapitalised(sentence string) string {
	return strings.TrimSuffix(strings.ToLower(sentence[:1])+sentence[1:], ".")
}
