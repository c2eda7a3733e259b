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
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"
)

// OIDCWindow bounds the time of a login at the provider.
const OIDCWindow = 10 * time.Minute

// maxNext bounds the address to go to after a login, so that the cookie stays smaller than browsers take.
const maxNext = 1000

// What somebody goes to a provider for.
const (
	toLogIn = ""      // to begin a session
	toRenew = "renew" // to have a session go on, without being seen
	toProve = "prove" // to show again who it is, before a form is handled
)

// oidcAttempt is a login at the provider that began in a browser. The browser keeps it, sealed: a row of ours for everyone who
// follows a link would fill the database.
type oidcAttempt struct {
	Provider string `json:"i"` // id of the provider, which alone answers it
	Purpose  string `json:"w"`
	State    string `json:"s"` // what the provider must bring back
	Nonce    string `json:"n"`
	Proof    string `json:"p"` // PKCE verifier
	Next     string `json:"x"` // page to go to after the login
	From     int64  `json:"f"` // when it began, Unix seconds
	Until    int64  `json:"u"` // when it must be done, Unix seconds
}

func newAttempt(provider, purpose, next string, now time.Time) oidcAttempt {
	if len(next) > maxNext {
		next = ""
	}
	return oidcAttempt{
		Provider: provider, Purpose: purpose, State: rand.Text(), Nonce: rand.Text(), Proof: oauth2.GenerateVerifier(), Next: next,
		From: now.Unix(), Until: now.Add(OIDCWindow).Unix(),
	}
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

// Names of what browsers keep, sealed.
const (
	attemptName = "schakel-login"
	leavingName = "schakel-logout" // where the provider ends its session
)

// keep gives the browser something to keep under a name, sealed by a provider's seal and bound to the name.
func (a *logins) keep(c echo.Context, l *oidcLogin, name string, what any, life time.Duration) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	sealed := l.seal.Seal(nil, nil, text, []byte(name)) // #nosec G407 -- the AEAD makes its nonce at random
	c.SetCookie(a.keptCookie(name, base64.RawURLEncoding.EncodeToString(sealed), int(life.Seconds())))
	return nil
}

// take takes back what the browser keeps under a name; false when there is none of ours.
func (a *logins) take(c echo.Context, name string, what any) bool {
	cookie, err := c.Cookie(a.keptCookie(name, "", 0).Name)
	if err != nil {
		return false
	}
	c.SetCookie(a.keptCookie(name, "", -1))
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return false
	}
	for _, l := range a.providers {
		if text, err := l.seal.Open(nil, nil, sealed, []byte(name)); err == nil {
			return json.Unmarshal(text, what) == nil
		}
	}
	return false
}

// keptCookie goes along when the provider sends the browser back, which is why it is not strict.
func (a *logins) keptCookie(name, value string, maxAge int) *http.Cookie {
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if a.HTTPS() {
		cookie.Name, cookie.Secure = "__Host-"+name, true
	}
	return cookie
}
