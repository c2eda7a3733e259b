package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func TestParseJWKS(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	good, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	set := func(keys ...jose.JSONWebKey) string { return string(publicSet(t, keys...)) }
	one, err := json.Marshal(jose.JSONWebKey{Key: ec.Public()})
	must(t, err)
	offCurve := strings.Replace(string(one), `"y":"`, `"y":"AA`, 1)
	for name, tc := range map[string]struct{ raw, want string }{
		"EC":             {set(jose.JSONWebKey{Key: ec.Public()}), ""},
		"RSA and Ed":     {set(jose.JSONWebKey{Key: good.Public(), KeyID: "a"}, jose.JSONWebKey{Key: ed.Public(), KeyID: "b"}), ""},
		"with enc key":   {set(jose.JSONWebKey{Key: good.Public(), Use: "enc", Algorithm: "RSA-OAEP-256"}, jose.JSONWebKey{Key: ec.Public()}), ""},
		"enc key only":   {set(jose.JSONWebKey{Key: good.Public(), Use: "enc"}), "no key to check"},
		"private EC":     {set(jose.JSONWebKey{Key: ec}), "key 1: it contains the private key"},
		"private RSA":    {set(jose.JSONWebKey{Key: ec.Public()}, jose.JSONWebKey{Key: good}), "key 2: it contains the private key"},
		"private Ed":     {set(jose.JSONWebKey{Key: ed}), "private key"},
		"symmetric":      {set(jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef")}), "symmetric"},
		"small RSA":      {set(jose.JSONWebKey{Key: modulus(1024)}), "RSA of 1024 bits"},
		"RSA 2047":       {set(jose.JSONWebKey{Key: modulus(2047)}), "RSA of 2047 bits"},
		"huge RSA":       {set(jose.JSONWebKey{Key: modulus(4104)}), "key 1"},
		"exponent 2":     {set(jose.JSONWebKey{Key: &rsa.PublicKey{N: good.N, E: 2}}), "key 1"},
		"exponent 1":     {set(jose.JSONWebKey{Key: &rsa.PublicKey{N: good.N, E: 1}}), "key 1"},
		"HS256 alg":      {set(jose.JSONWebKey{Key: ec.Public(), Algorithm: "HS256"}), "alg"},
		"alg misfit":     {set(jose.JSONWebKey{Key: ec.Public(), Algorithm: "RS256"}), "alg"},
		"same kid":       {set(jose.JSONWebKey{Key: ec.Public(), KeyID: "a"}, jose.JSONWebKey{Key: ed.Public(), KeyID: "a"}), "key 2: its kid"},
		"off curve":      {`{"keys":[` + offCurve + `]}`, "damaged"},
		"short Ed25519":  {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`, "key 1"},
		"unknown kind":   {`{"keys":[{"kty":"XYZ"}]}`, "not supported"},
		"no kind":        {`{"keys":[{}]}`, "not supported"},
		"single key":     {string(one), "single key"},
		"empty":          {`{"keys":[]}`, "no keys"},
		"no member":      {`{}`, "no keys"},
		"key is text":    {`{"keys":["x"]}`, "not a JSON object"},
		"key is null":    {`{"keys":[null]}`, "key 1"},
		"PEM":            {"-----BEGIN PUBLIC KEY-----\n", "PEM"},
		"not JSON":       {"hello", "not a JWK set"},
		"nothing":        {"", "not a JWK set"},
		"trailing":       {set(jose.JSONWebKey{Key: ec.Public()}) + "{}", "not a JWK set"},
		"too many":       {`{"keys":[` + strings.Repeat("{},", 20) + `{}]}`, "more than 20"},
		"too large":      {`{"keys":[],"x":"` + strings.Repeat("x", maxJWKSBytes) + `"}`, "64 KiB"},
		"deeply nested":  {`{"keys":[` + strings.Repeat("[", 30000), "not a JWK set"},
		"private in two": {fmt.Sprintf(`{"keys":[%s]}`, strings.Replace(string(one), "{", `{"d":null,`, 1)), "private key"},
	} {
		err := ParseJWKS([]byte(tc.raw))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// modulus makes a public key of exactly bits bits; that it has no private half
// does not matter here.
func modulus(bits int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
}
