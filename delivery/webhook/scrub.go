package webhook

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
)

const (
	redacted       = "[redacted]"
	maxStoredBody  = 4 << 10
	maxStoredHead  = 4 << 10
	maxStoredValue = 256
)

// Secret is text that must not be seen. Every common way of printing it gives "[redacted]"; string(secret) gives the text.
type Secret string

// String hides the text.
func (Secret) String() string { return redacted }

// GoString hides the text.
func (Secret) GoString() string { return redacted }

// LogValue hides the text.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the text.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// scrub bounds what will be stored, the body to most bytes, and takes out secrets
// that the other side sent back to us, as echoing receivers and error pages do.
func (o *Outcome) scrub(token string, cfg *TokenConfig, most int) {
	secrets := []string{token}
	if cfg != nil {
		secrets = append(secrets, string(cfg.Secret))
	}
	for _, secret := range secrets {
		o.hide(secret)
	}
	if len(o.ResponseBody) > most {
		// A copy lets go of the larger buffer.
		o.ResponseBody, o.Truncated = bytes.Clone(o.ResponseBody[:most]), true
	}
	if _, ok := o.ResponseHeader["Set-Cookie"]; ok {
		o.ResponseHeader["Set-Cookie"] = []string{redacted}
	}
	if headerSize(o.ResponseHeader) > maxStoredHead {
		o.ResponseHeader = essentials(o.ResponseHeader)
	}
}

// setAnswer puts an answer in the outcome unchanged, cut off after most bytes.
func (o *Outcome) setAnswer(body []byte, most int) {
	if len(body) > most {
		body, o.Truncated = body[:most], true
	}
	o.ResponseBody = body
}

func (o *Outcome) hide(secret string) {
	if secret == "" {
		return
	}
	if bytes.Contains(o.ResponseBody, []byte(secret)) {
		o.ResponseBody = bytes.ReplaceAll(o.ResponseBody, []byte(secret), []byte(redacted))
	}
	for _, values := range o.ResponseHeader {
		for i, value := range values {
			values[i] = strings.ReplaceAll(value, secret, redacted)
		}
	}
}

func headerSize(header http.Header) (size int) {
	for name, values := range header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

// essentials returns the headers that help to find a fault when the whole is too much.
func essentials(header http.Header) http.Header {
	short := http.Header{}
	for _, name := range []string{"Content-Type", "Date", "Location", "Retry-After", "Server", "Www-Authenticate"} {
		if value := header.Get(name); value != "" {
			short.Set(name, cut(value, maxStoredValue))
		}
	}
	return short
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
