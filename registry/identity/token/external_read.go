package token

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/json"
)

// externalOf finds the issuer whose token this says it is; nil for one of ours. Nothing of the token has been checked yet.
func (i *Issuer) externalOf(bearer string) (*external, error) {
	if len(i.externals) == 0 {
		return nil, nil
	}
	iss, isJWT := issuerIn(bearer)
	for _, x := range i.externals {
		if isJWT && iss == x.Issuer || !isJWT && x.Introspection != nil && x.Introspection.Opaque {
			return x, nil
		}
	}
	if isJWT && iss != i.cfg.Issuer {
		return nil, refuse(CodeOtherIssuer, "the token is from an issuer that is not known here")
	}
	return nil, nil
}

// issuerIn reads iss out of a token without checking it; ok is false for what is no JWT with claims.
func issuerIn(bearer string) (iss string, ok bool) {
	parts := strings.Split(bearer, ".")
	if len(parts) != 3 {
		return "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return claims.Issuer, json.Unmarshal(payload, &claims) == nil
}

// readExternal checks a token of another issuer.
func (i *Issuer) readExternal(ctx context.Context, x *external, bearer string, now time.Time) (verified, error) {
	if x.Introspection != nil {
		return i.readIntrospected(ctx, x, bearer, now)
	}
	tok, err := parseCompact(bearer, maxTokenBytes, x.Algorithms)
	if err != nil {
		return verified{}, refuse(CodeUnverified, err.Error())
	}
	if !slices.Contains(x.Types, tok.typ) {
		return verified{}, refuse(CodeUnverified, "the typ of the token is not that of an access token of its issuer")
	}
	if err := i.signedByExternal(ctx, x, tok); err != nil {
		return verified{}, err
	}
	var claims map[string]any
	if err := json.Unmarshal(tok.jws.UnsafePayloadWithoutVerification(), &claims); err != nil { // it was verified above
		return verified{}, refuse(CodeUnverified, "the claims are not readable")
	}
	v, err := x.read(claims, now)
	if err != nil {
		return verified{}, err
	}
	if v.claims.ExpiresAt.IsZero() {
		return verified{}, refuse(CodeUnverified, "the token has no exp")
	}
	v.until = now.Add(jwtRecheck)
	return v, nil
}

// signedByExternal verifies with the keys of an issuer. A key id that they do not have makes us fetch them again, at most once a minute; keys
// that were fetched once serve for a day while the issuer cannot be reached (SEC-12).
func (i *Issuer) signedByExternal(ctx context.Context, x *external, tok signed) error {
	var fail error
	for _, maxAge := range []time.Duration{remoteMaxAge, remoteRefetch} {
		known, err := i.externalKeys(ctx, x, maxAge)
		if err != nil {
			return &UnavailableError{x.ID, err}
		}
		if fail = tok.signedBy(known.keys); fail == nil {
			return nil
		}
		if errors.Is(fail, errBadSignature) && tok.kid != "" {
			return refuse(CodeUnverified, "the signature is wrong")
		}
		if known.err != nil {
			fail = &UnavailableError{x.ID, known.err}
		}
	}
	if out, ok := errors.AsType[*UnavailableError](fail); ok {
		return out
	}
	return refuse(CodeUnverified, "the token is signed with a key that its issuer does not publish")
}

func (i *Issuer) externalKeys(ctx context.Context, x *external, maxAge time.Duration) (remoteKeys, error) {
	uri := x.JWKSURI
	if uri == "" {
		meta, err := i.metadataOf(ctx, x, maxAge)
		if err != nil {
			return remoteKeys{}, err
		}
		if uri = meta.JWKSURI; uri == "" {
			return remoteKeys{}, errors.New("its metadata names no jwks_uri: give jwks-uri in its file")
		}
	}
	known, err := i.remote.get(ctx, uri, maxAge)
	if err == nil && known.goodAt.IsZero() {
		known, err = i.remote.get(ctx, uri, externalRetry)
	}
	return known, err
}

// read judges the claims of a token, or of an answer about one, whose origin was checked.
func (x *external) read(claims map[string]any, now time.Time) (verified, error) {
	v := verified{from: x}
	if fail := x.readTimes(&v, claims, now); fail != nil {
		return v, fail
	}
	if iss, there := claims["iss"]; there && iss != x.Issuer {
		return v, refuse(CodeOtherIssuer, "the token is from another issuer than the one that was asked")
	}
	audiences := ClaimTexts(claims, "aud")
	switch ours := slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(x.Audiences, a) }); {
	case len(audiences) == 0 && !x.AudienceOptional:
		return v, refuse(CodeOtherAudience, "the token names no audience")
	case len(audiences) > 0 && !ours:
		return v, refuse(CodeOtherAudience, "the token is meant for another audience")
	}
	client := ""
	for _, name := range x.ClientClaims {
		if found := ClaimTexts(claims, name); len(found) == 1 && found[0] != "" {
			client = found[0]
			break
		}
	}
	if client == "" || len(client) > maxIDBytes || strings.ContainsAny(client, "\x00") {
		return v, refuse(CodeUnknownClient, "the token names no client in the claims where its issuer puts it: "+ascii(strings.Join(x.ClientClaims, ", ")))
	}
	id, _ := claims["jti"].(string)
	v.known = x.ID + knownKey + client
	v.claims.Issuer, v.claims.ID, v.claims.Scopes = x.Issuer, id, x.scopesOf(claims)
	return v, x.readBinding(&v, claims)
}

func (x *external) readTimes(v *verified, claims map[string]any, now time.Time) error {
	at := map[string]time.Time{}
	for _, name := range []string{"exp", "nbf", "iat"} {
		value, there := claims[name]
		seconds, ok := value.(float64)
		if there && (!ok || seconds < 0 || seconds > 1<<40) {
			return refuse(CodeUnverified, "exp, nbf and iat must be numbers of seconds")
		}
		if there {
			at[name] = time.Unix(int64(seconds), 0)
		}
	}
	switch {
	case !at["exp"].IsZero() && !now.Before(at["exp"]):
		return refuse(CodeExpired, "the token has expired")
	case at["nbf"].After(now.Add(skew)):
		return refuse(CodeExpired, "the token is not valid yet")
	case at["iat"].After(now.Add(skew)):
		return refuse(CodeExpired, "the token is issued in the future")
	}
	v.claims.ExpiresAt = at["exp"]
	return nil
}

// readBinding reads what proves who may use a token. A kind of proof that is not checked here must not pass for none.
func (x *external) readBinding(v *verified, claims map[string]any) error {
	binding, there := claims["cnf"]
	if !there {
		return nil
	}
	members, ok := binding.(map[string]any)
	if !ok {
		return refuse(CodeUnverified, "the claim cnf is not readable")
	}
	known := 0
	for name, into := range map[string]*string{"x5t#S256": &v.claims.Thumbprint, "jkt": &v.claims.Key} {
		if *into, _ = members[name].(string); *into != "" {
			known++
		}
	}
	if known == 0 || known != len(members) {
		return refuse(CodeUnverified, "the token is bound to something else than a certificate or a key (cnf), which is not checked here")
	}
	return nil
}

// scopesOf gives the scopes of ours that a token has.
func (x *external) scopesOf(claims map[string]any) (scopes []string) {
	for _, text := range ClaimTexts(claims, x.ScopeClaim) {
		for s := range strings.FieldsSeq(text) {
			if len(x.Scopes) == 0 {
				scopes = append(scopes, s)
			} else {
				scopes = append(scopes, x.Scopes[s]...)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}
