package partners

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/site"
)

// tokenTrial notes what a token endpoint answered while a form was handled.
type tokenTrial struct{ failure *webhook.TokenError }

// tryToken refuses an endpoint whose input is wrong, and then one whose token endpoint gives no token, unless that was asked for; was
// is the endpoint that changes. Nothing is stored, and nothing is asked again of a token endpoint that stays what it was.
func (d ownerPages) tryToken(ctx context.Context, in endpointForm, was store.Endpoint) error {
	if err := in.refused(d.Registry.Endpoints, was); err != nil || in.anyway || d.AskToken == nil {
		return err
	}
	cfg, asks, err := d.tokenConfig(in.EndpointInput, was)
	if err != nil || !asks {
		return err
	}
	_, err = d.AskToken(ctx, cfg)
	if failure, ok := errors.AsType[*webhook.TokenError](err); ok {
		in.trial.failure = failure
		words := tokenWordsOf(failure)
		return &site.FormRefused{Status: http.StatusUnprocessableEntity, Wrong: site.FormErrors{words.field(in.TokenAuthMethod): words.cause}}
	}
	return err
}

// tokenConfig returns how the token of an endpoint is asked; asks is false when none is, or the same as before.
func (d ownerPages) tokenConfig(in partners.EndpointInput, was store.Endpoint) (cfg webhook.TokenConfig, asks bool, err error) {
	kind := in.Kind
	if was.ID != "" {
		kind = was.Kind
	}
	same := was.ID != "" && in.TokenSecret == "" && in.Certificate == "" && in.TokenURL == was.TokenURL && in.TokenClientID == was.TokenClientID &&
		in.TokenScope == was.TokenScope && in.TokenAuthMethod == was.TokenAuthMethod
	if kind != store.EndpointWebhook || in.TokenAuthMethod == registry.TokenAuthNone || same {
		return cfg, false, nil
	}
	cfg = webhook.TokenConfig{TokenURL: in.TokenURL, ClientID: in.TokenClientID, Scope: in.TokenScope, AuthMethod: in.TokenAuthMethod, Secret: webhook.Secret(in.TokenSecret)}
	if cfg.Certificate, err = d.certificateToTry(in, was); err != nil {
		return cfg, false, err
	}
	if in.TokenSecret == "" {
		stored, err := d.Registry.Endpoints.TokenSecret(was)
		if err != nil {
			return cfg, false, registry.Invalid(registry.Problems{"tokenSecret": "partners.endpoint.secret-missing"})
		}
		cfg.Secret = webhook.Secret(stored)
	}
	return cfg, true, nil
}

// token shows why the token endpoint gave no token; nil when it was not asked, or gave one.
func (in endpointForm) token(ctx context.Context) *view.TokenFailure {
	if in.trial == nil || in.trial.failure == nil {
		return nil
	}
	f := in.trial.failure
	words := tokenWordsOf(f)
	return &view.TokenFailure{
		Cause: words.cause.In(ctx), Remedy: words.remedy.In(ctx), Detail: site.Shown(f.Code + ": " + f.Detail),
		Secret: in.TokenAuthMethod == webhook.AuthBasic || in.TokenAuthMethod == webhook.AuthPost,
	}
}

// tokenWords describe why a token endpoint gave no token. At is the field to look at; empty is the secret, or else the client id.
type tokenWords struct {
	cause, remedy i18n.Message
	at            string
}

func (w tokenWords) field(method string) string {
	switch {
	case w.at != "":
		return w.at
	case method == webhook.AuthPrivateKey, method == webhook.AuthTLS:
		return "tokenClientId"
	}
	return "tokenSecret"
}

// tokenWordsOf finds the words for a failure: by the error of OAuth, by what went wrong on the way, or by the status.
func tokenWordsOf(f *webhook.TokenError) tokenWords {
	switch f.Code {
	case "invalid_client", "unauthorized_client", "access_denied", "http-401", "http-403":
		return tokenWords{"partners.token.client", "partners.token.client-remedy", ""}
	case "invalid_scope":
		return tokenWords{"partners.token.scope", "partners.token.scope-remedy", "tokenScope"}
	case "invalid_request", "unsupported_grant_type", "invalid_grant", "http-400":
		return tokenWords{"partners.token.request", "partners.token.request-remedy", "tokenAuthMethod"}
	case "dns":
		return tokenWords{"partners.token.dns", "partners.token.dns-remedy", "tokenUrl"}
	case "connect", "timeout":
		return tokenWords{"partners.token.connect", "partners.token.connect-remedy", "tokenUrl"}
	case "tls":
		return tokenWords{"partners.token.tls", "partners.token.tls-remedy", "tokenUrl"}
	case "blocked-address":
		return tokenWords{"partners.token.blocked", "partners.token.blocked-remedy", "tokenUrl"}
	case "config":
		return tokenWords{"partners.token.config", "partners.token.config-remedy", "tokenAuthMethod"}
	}
	if f.Transient {
		return tokenWords{"partners.token.busy", "partners.token.busy-remedy", "tokenUrl"}
	}
	return tokenWords{"partners.token.other", "partners.token.other-remedy", "tokenUrl"}
}

// advancedFields are the fields of the form that fold away.
func advancedFields() []string {
	return []string{
		"tokenScope", "contentMode", "ratePerSecond", "maxConcurrency", "timeoutSeconds", "windows", "timeZone",
		"batchEvents", "batchBytes", "batchWaitSeconds", "contractId", "contractVersion", "batchStated",
	}
}

func advancedWrong(wrong site.FormErrors) bool {
	return slices.ContainsFunc(advancedFields(), func(name string) bool { return wrong[name] != "" })
}

// deviations names what differs from its default among what folds away; mode is the content mode of the settings.
func (in endpointForm) deviations(ctx context.Context, mode string, certificates bool) (names []string) {
	t := in.typed
	differs := func(typed string, usual ...string) bool { return typed != "" && !slices.Contains(usual, typed) }
	for _, part := range []struct {
		label i18n.Message
		set   bool
	}{
		{"partners.label.scope", in.TokenScope != ""},
		{"partners.endpoint.how-sent", differs(in.ContentMode, mode)},
		{"partners.label.requests-a-second", differs(t.Rate, "0")},
		{"partners.endpoint.concurrency", differs(t.Concurrency, strconv.Itoa(partners.DefaultConcurrency))},
		{"partners.label.timeout", differs(t.Timeout, strconv.Itoa(partners.DefaultTimeoutSeconds))},
		{"partners.certificate.title", certificates || in.Certificate != ""},
		{"partners.endpoint.when-sent", t.Windows != "" || differs(t.TimeZone, defaultZone)},
		{"partners.label.batches", differs(t.BatchEvents, "0") || differs(t.BatchBytes, "0") || differs(t.BatchWait, "0") || t.BatchStated},
		{"partners.endpoint.api-contract", t.ContractID != ""},
	} {
		if part.set {
			names = append(names, part.label.In(ctx))
		}
	}
	return names
}

// isLocal reports whether an address is of the machine of whoever typed it.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
