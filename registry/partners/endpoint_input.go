package partners

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
)

// Defaults of an endpoint.
const (
	defaultConcurrency    = 16
	defaultTimeoutSeconds = 30
)

// EndpointHost is the host and port events are sent to; empty when we send nothing.
func EndpointHost(e store.Endpoint) string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// TokenAuthMethods lists the ways we may prove who we are at the token endpoint
// of a partner.
func (e *Endpoints) TokenAuthMethods() []string {
	methods := []string{token.ClientSecretBasic, token.ClientSecretPost, token.PrivateKeyJWT}
	if e.cfg.AllowOpenEndpoints {
		methods = append(methods, registry.TokenAuthNone)
	}
	return methods
}

func (in EndpointInput) clean() EndpointInput {
	in.Name = strings.Join(strings.Fields(in.Name), " ")
	in.URL, in.TokenURL = strings.TrimSpace(in.URL), strings.TrimSpace(in.TokenURL)
	in.TokenClientID, in.TokenScope = strings.TrimSpace(in.TokenClientID), strings.Join(strings.Fields(in.TokenScope), " ")
	in.Windows, in.ContractID, in.ContractVersion = strings.TrimSpace(in.Windows), strings.TrimSpace(in.ContractID), strings.TrimSpace(in.ContractVersion)
	if in.ContractID == "" {
		in.ContractVersion = ""
	} else if in.ContractVersion == "" {
		in.ContractVersion = registry.Latest
	}
	if in.ContentMode == "" {
		in.ContentMode = registry.ModeStructured
	}
	if in.MaxConcurrency == 0 {
		in.MaxConcurrency = defaultConcurrency
	}
	if in.TimeoutSeconds == 0 {
		in.TimeoutSeconds = defaultTimeoutSeconds
	}
	return in
}

// Wrong returns the problems by field of input for an endpoint that is now as old, before anything is looked up; a
// zero old is a new one. Create and Update answer the same.
func (e *Endpoints) Wrong(in EndpointInput, old store.Endpoint) map[string]string {
	in = in.clean()
	if old.ID != "" {
		in.Kind = old.Kind
	}
	return e.check(in, old)
}

// LongestTimeout is the longest time-out that an endpoint may have. What sends requests to endpoints must allow for it.
const LongestTimeout = time.Minute

// check judges input for an endpoint that is now as old; a zero old is a new one.
func (e *Endpoints) check(in EndpointInput, old store.Endpoint) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckLine(in.Name, 2, 120))
	if old.ID == "" && !slices.Contains(e.cfg.ServedKinds, in.Kind) {
		wrong.Add("kind", "Choose from the kinds that are listed.")
	}
	registry.CheckBetween(wrong, "ratePerSecond", in.RatePerSecond, 0, 10_000)
	registry.CheckBetween(wrong, "maxConcurrency", in.MaxConcurrency, 1, 64)
	registry.CheckBetween(wrong, "timeoutSeconds", in.TimeoutSeconds, 1, int64(LongestTimeout/time.Second))
	if in.Kind == store.EndpointWebhook {
		e.checkWebhook(in, old, wrong)
		e.checkSending(in, wrong)
	}
	return wrong
}

func (e *Endpoints) checkWebhook(in EndpointInput, old store.Endpoint, wrong registry.Problems) {
	if in.ContentMode != registry.ModeStructured && in.ContentMode != registry.ModeBinary {
		wrong.Add("contentMode", "Choose structured or binary.")
	}
	if err := e.cfg.CheckURL(in.URL); err != nil {
		wrong.Add("url", err.Error())
	}
	if !slices.Contains(e.TokenAuthMethods(), in.TokenAuthMethod) {
		wrong.Add("tokenAuthMethod", "Choose from the methods that are listed.")
	}
	if in.TokenAuthMethod == registry.TokenAuthNone {
		return
	}
	if err := e.cfg.CheckURL(in.TokenURL); err != nil {
		wrong.Add("tokenUrl", err.Error())
	}
	wrong.Add("tokenClientId", registry.CheckLine(in.TokenClientID, 1, 255))
	wrong.Add("tokenScope", registry.CheckLine(in.TokenScope, 0, 1000))
	if usesSecret(in.TokenAuthMethod) {
		wrong.Add("tokenSecret", checkTokenSecret(in, old))
	}
}

// checkTokenSecret asks the secret again when something else than before would
// get it or what it gives access to: who took over a session cannot read the
// secret, and must not be able to have it sent to a server of its own either.
func checkTokenSecret(in EndpointInput, old store.Endpoint) string {
	switch {
	case in.TokenSecret != "":
		return registry.CheckLine(in.TokenSecret, 1, 1000)
	case old.TokenSecret == "":
		return "Fill in the client secret."
	case registry.Origin(in.URL) != registry.Origin(old.URL), registry.Origin(in.TokenURL) != registry.Origin(old.TokenURL):
		return "The host has changed: fill in the client secret again."
	}
	return ""
}

func usesSecret(method string) bool {
	return method == token.ClientSecretBasic || method == token.ClientSecretPost
}

// apply writes checked input into an endpoint.
func (e *Endpoints) apply(to *store.Endpoint, in EndpointInput) {
	to.Name, to.ContentMode = in.Name, in.ContentMode
	to.RatePerSecond, to.MaxConcurrency, to.TimeoutMS = in.RatePerSecond, in.MaxConcurrency, in.TimeoutSeconds*1000
	if to.Kind != store.EndpointWebhook {
		return
	}
	applySending(to, in)
	to.URL, to.TokenAuthMethod = in.URL, in.TokenAuthMethod
	to.TokenURL, to.TokenClientID, to.TokenScope = in.TokenURL, in.TokenClientID, in.TokenScope
	if in.TokenAuthMethod == registry.TokenAuthNone {
		to.TokenURL, to.TokenClientID, to.TokenScope = "", "", ""
	}
	switch {
	case !usesSecret(in.TokenAuthMethod):
		to.TokenSecret = ""
	case in.TokenSecret != "":
		to.TokenSecret = e.cfg.Vault.Seal(endpointSecretPurpose, []byte(in.TokenSecret))
	}
}
