package token

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// compactAlphabet lists the characters of a compact JWS.
const compactAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// signed is a parsed JWS whose signature has not been checked.
type signed struct {
	jws *jose.JSONWebSignature
	kid string
	alg string
	typ string // lower case, without "application/"
}

// parseCompact reads a compact JWS. Its errors never quote the input, so they
// may be shown.
func parseCompact(raw string, limit int, algs []jose.SignatureAlgorithm) (signed, error) {
	if len(raw) > limit {
		return signed{}, errors.New("the token is too large")
	}
	if !oneSpelling(raw) {
		return signed{}, errors.New("the token is not a JWT")
	}
	jws, err := jose.ParseSignedCompact(raw, algs)
	var wrong *jose.ErrUnexpectedSignatureAlgorithm
	if errors.As(err, &wrong) {
		return signed{}, errors.New("the signature algorithm is not allowed")
	}
	if err != nil || len(jws.Signatures) != 1 {
		return signed{}, errors.New("the token is not a JWT")
	}
	return readHeader(jws)
}

// oneSpelling refuses line breaks and loose bits at the end of a part, which
// the decoder below us skips: one token would have many spellings, and a list of
// refused tokens would be easy to get around.
func oneSpelling(raw string) bool {
	if raw == "" || strings.Trim(raw, compactAlphabet) != "" {
		return false
	}
	for part := range strings.SplitSeq(raw, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// readHeader refuses crit altogether: none of the extensions is ours, and b64
// would change what is signed.
func readHeader(jws *jose.JSONWebSignature) (signed, error) {
	h := jws.Signatures[0].Protected
	for _, name := range []jose.HeaderKey{"crit", "b64"} {
		if _, ok := h.ExtraHeaders[name]; ok {
			return signed{}, errors.New("the token has a critical header that is not supported")
		}
	}
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return signed{jws: jws, kid: h.KeyID, alg: h.Algorithm, typ: typ}, nil
}
