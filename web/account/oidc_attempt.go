package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"
)

// maxNext bounds the address to go to after a login, so that the cookie stays smaller than browsers take.
const maxNext = 1000

// oidcAttempt is a login at the provider that began in a browser. The browser keeps it, sealed: a row of ours for everyone who
// follows a link would fill the database.
type oidcAttempt struct {
	State string `json:"s"` // what the provider must bring back
	Nonce string `json:"n"`
	Proof string `json:"p"` // PKCE verifier
	Next  string `json:"x"` // page to go to after the login
	Until int64  `json:"u"` // when it must be done, Unix seconds
}

func newAttempt(next string, until int64) oidcAttempt {
	if len(next) > maxNext {
		next = ""
	}
	return oidcAttempt{State: rand.Text(), Nonce: rand.Text(), Proof: oauth2.GenerateVerifier(), Next: next, Until: until}
}

// attemptSeal makes what seals attempts. Its key comes from our secret at the provider, which all nodes have.
func attemptSeal(clientSecret string) (cipher.AEAD, error) {
	secret := []byte(clientSecret)
	if len(secret) == 0 {
		secret = []byte(rand.Text())
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "schakel login attempt", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// keepAttempt gives the browser an attempt to keep.
func (a *logins) keepAttempt(c echo.Context, attempt oidcAttempt) error {
	text, err := json.Marshal(attempt)
	if err != nil {
		return err
	}
	sealed := a.oidc.seal.Seal(nil, nil, text, nil)
	c.SetCookie(a.attemptCookie(base64.RawURLEncoding.EncodeToString(sealed), int(OIDCWindow.Seconds())))
	return nil
}

// takeAttempt takes the attempt back from the browser; the zero one, which no answer fits, when there is none of ours.
func (a *logins) takeAttempt(c echo.Context) (attempt oidcAttempt) {
	cookie, err := c.Cookie(a.attemptCookie("", 0).Name)
	if err != nil {
		return oidcAttempt{}
	}
	c.SetCookie(a.attemptCookie("", -1))
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return oidcAttempt{}
	}
	text, err := a.oidc.seal.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(text, &attempt) != nil {
		return oidcAttempt{}
	}
	return attempt
}

// attemptCookie goes along when the provider sends the browser back, which is why it is not strict.
func (a *logins) attemptCookie(value string, maxAge int) *http.Cookie {
	cookie := &http.Cookie{Name: "schakel-login", Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if a.HTTPS() {
		cookie.Name, cookie.Secure = "__Host-schakel-login", true
	}
	return cookie
}
