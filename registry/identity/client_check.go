package identity

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of what one client can have.
const maxPatterns = 100

// MayPublishType answers an *Error when a client may not publish events of this type.
func MayPublishType(c store.Client, eventType string) error {
	if slices.ContainsFunc(c.PublishTypes, func(p string) bool { return matches(p, eventType) }) {
		return nil
	}
	return &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("identity.may-not-publish-type", eventType)}
}

// MayPublishFrom answers an *Error when a client may not publish events from this source (CE-10).
func MayPublishFrom(c store.Client, source string) error {
	if slices.ContainsFunc(c.PublishSources, func(p string) bool { return matches(p, source) }) {
		return nil
	}
	return &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("identity.may-not-publish-source", source)}
}

// matches compares a value with a pattern: the value itself, or a prefix and a star.
func matches(pattern, value string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(value, prefix) && len(value) > len(prefix)
	}
	return pattern == value
}

func (in NewClient) clean() NewClient {
	in.Name = registry.CleanName(in.Name)
	in.JWKS, in.JWKSURI, in.CertificateSubject = strings.TrimSpace(in.JWKS), strings.TrimSpace(in.JWKSURI), strings.TrimSpace(in.CertificateSubject)
	in.Scopes, in.PublishTypes, in.PublishSources = registry.TidyList(in.Scopes), registry.TidyList(in.PublishTypes), registry.TidyList(in.PublishSources)
	return in
}

func (c *Clients) check(in NewClient, methods []string, administrator bool) registry.Problems {
	wrong := registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	c.checkKeys(in, methods, wrong)
	for _, s := range in.Scopes {
		wrong.AddIf(!slices.Contains(AllScopes(), s), "scopes", "identity.scopes-wrong")
	}
	publishes := slices.Contains(in.Scopes, ScopeEventsPublish)
	wrong.Add("publishTypes", checkPatterns(in.PublishTypes, publishes, checkTypePattern))
	wrong.Add("publishSources", checkPatterns(in.PublishSources, publishes, func(s string) i18n.Message {
		return checkSourcePattern(s, administrator)
	}))
	return wrong
}

func (c *Clients) checkKeys(in NewClient, methods []string, wrong registry.Problems) {
	if !slices.Contains(methods, in.AuthMethod) {
		wrong.Add("authMethod", "identity.method-wrong")
		return
	}
	if in.CertificateSubject != "" {
		if err := token.CheckSubject(in.CertificateSubject); err != nil {
			wrong.Add("certificateSubject", i18n.M("identity.subject-wrong", err.Error()))
		}
	}
	wrong.AddIf(in.CertificateKeys && in.AuthMethod != token.PrivateKeyJWT, "certificateKeys", "identity.keys-of-method")
	if in.AuthMethod != token.PrivateKeyJWT {
		wrong.AddIf(in.JWKS != "" || in.JWKSURI != "", "jwks", "identity.keys-of-method")
		return
	}
	switch {
	case in.JWKS == "" && in.JWKSURI == "" && in.CertificateKeys:
	case in.JWKS == "" && in.JWKSURI == "":
		wrong.Add("jwks", "identity.keys-missing")
	case in.JWKS != "" && in.JWKSURI != "":
		wrong.Add("jwksUri", "identity.keys-both")
	case in.JWKS != "":
		if err := token.ParseJWKS([]byte(in.JWKS)); err != nil {
			wrong.Add("jwks", i18n.M("identity.keys-unusable", err.Error()))
		}
	default:
		if err := c.cfg.CheckURL(in.JWKSURI); err != nil {
			wrong.Add("jwksUri", registry.AddressProblem(err))
		}
	}
}

func checkPatterns(list []string, needed bool, check func(string) i18n.Message) i18n.Message {
	switch {
	case needed && len(list) == 0:
		return "identity.publish-missing"
	case !needed && len(list) > 0:
		return "identity.publish-without-scope"
	case len(list) > maxPatterns:
		return "identity.publish-many"
	}
	for _, s := range list {
		if text := check(s); text != "" {
			return i18n.M("identity.pattern-wrong", s, text)
		}
	}
	return ""
}

// checkTypePattern wants an event type, or a prefix of two labels or more.
func checkTypePattern(s string) i18n.Message {
	name, isPrefix := strings.CutSuffix(s, ".*")
	if !registry.ValidEventType(name) {
		return "identity.pattern-type"
	}
	if isPrefix && !strings.Contains(name, ".") {
		return "identity.pattern-type-prefix"
	}
	return ""
}

// checkSourcePattern wants a URI-reference (CE-09), or a prefix that ends where
// a part of it ends: https://example.nl* would take in https://example.nl.evil.org.
func checkSourcePattern(s string, administrator bool) i18n.Message {
	prefix, isPrefix := strings.CutSuffix(s, "*")
	switch {
	case s == "*" && administrator:
		return ""
	case strings.Contains(prefix, "*") || len(s) > 1000:
		return "identity.pattern-source"
	case isPrefix && !strings.HasSuffix(prefix, "/") && !strings.HasSuffix(prefix, ":") || strings.Trim(prefix, "/:") == "":
		return "identity.pattern-source-prefix"
	}
	u, err := url.Parse(prefix)
	if err != nil || strings.ContainsAny(prefix, " \t\r\n\"<>\\^`{|}") {
		return "identity.pattern-source-uri"
	}
	if isPrefix && u.Opaque == "" && u.Scheme != "" && u.Host == "" {
		return "identity.pattern-source-host"
	}
	return ""
}

// WhyNot explains in a sentence why a client may not publish events of a type and source now; empty when it may. It
// judges what intake judges of a token and of an event: the scope, the type, and the source as the profile binds it (CE-10).
func (c *Clients) WhyNot(ctx context.Context, client store.Client, eventType, source string) (string, error) {
	state, err := c.profile.InForce(ctx)
	if err != nil {
		return "", err
	}
	err = MayPublishNow(client, eventType)
	if err == nil && state.SourceBinding == registry.PolicyEnforce {
		err = MayPublishFrom(client, source)
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return e.Message.String(), nil
	}
	return "", err
}

// MayPublishNow is MayPublishType for a client whose token is not at hand: it must have the scope as well.
func MayPublishNow(client store.Client, eventType string) error {
	if !slices.Contains(client.Scopes, ScopeEventsPublish) {
		return &registry.Error{Code: registry.CodeForbidden, Message: i18n.M("identity.scope-lacks", ScopeEventsPublish)}
	}
	return MayPublishType(client, eventType)
}
