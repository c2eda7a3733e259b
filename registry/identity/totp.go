package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // #nosec G505 -- what authenticator apps speak; RFC 6238 needs no more of the hash than that it is keyed
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Codes of authenticator apps follow RFC 6238 with the values that every app takes: thirty lines on the standard library, where a
// dependency would be more to trust.
const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20 // bytes, as long as the hash
	totpDrift  = 1  // steps that the clock of a phone may be off, each way, unless codes are exact
)

func newTOTPSecret() []byte {
	secret := make([]byte, totpSecret)
	_, _ = rand.Read(secret) // never fails: the runtime stops the program instead
	return secret
}

// totpText writes a secret as apps take it by hand.
func totpText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// totpURI is the address in the QR code.
func totpURI(secret []byte, issuer, email string) string {
	q := url.Values{"secret": {totpText(secret)}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20") // apps show a plus as it stands
}

// totpCode is the code of a step.
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// totpMatch gives the step of a code that is right now, or within a drift of so many steps, and was not used: those up to last were. ok is false for
// any other.
func totpMatch(secret []byte, code string, now time.Time, drift, last int64) (step int64, ok bool) {
	at := now.Unix() / int64(totpStep/time.Second)
	for step = at - drift; step <= at+drift; step++ {
		if step > last && subtle.ConstantTimeCompare([]byte(code), []byte(totpCode(secret, step))) == 1 {
			return step, true
		}
	}
	return 0, false
}

// drift returns how many steps the clock of a phone may be off.
func (a *Accounts) drift() int64 {
	if a.cfg.ExactCodes {
		return 0
	}
	return totpDrift
}
