package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// grant is a token with its lifetime, as the token endpoint gave it.
type grant struct {
	token    string
	lifetime time.Duration
}

type tokenAnswer struct {
	grant
	refresh bool
}

const (
	assumedLifetime = 5 * time.Minute // when the answer does not say
	maxLifetime     = 6 * time.Hour   // SEC-09
	maxTokenLength  = 16 << 10
)

// parseTokenAnswer reads the answer of RFC 6749 5.1.
func parseTokenAnswer(body []byte) (tokenAnswer, error) {
	var raw struct {
		AccessToken  string          `json:"access_token"`
		TokenType    string          `json:"token_type"`
		ExpiresIn    json.RawMessage `json:"expires_in"`
		RefreshToken json.RawMessage `json:"refresh_token"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return tokenAnswer{}, errors.New("the answer is not the JSON object that is expected")
	}
	if raw.TokenType != "" && !strings.EqualFold(raw.TokenType, "Bearer") {
		return tokenAnswer{}, errors.New("the token is not of type Bearer")
	}
	if raw.AccessToken == "" || len(raw.AccessToken) > maxTokenLength || strings.ContainsFunc(raw.AccessToken, notTokenChar) {
		return tokenAnswer{}, errors.New("the answer holds no usable access_token")
	}
	return tokenAnswer{
		grant:   grant{raw.AccessToken, parseLifetime(raw.ExpiresIn)},
		refresh: len(raw.RefreshToken) > 0 && !bytes.Equal(raw.RefreshToken, []byte("null")),
	}, nil
}

// parseLifetime accepts a number, and the number in quotes that some send.
func parseLifetime(raw json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || seconds != seconds {
		return assumedLifetime
	}
	return time.Duration(min(max(seconds, 0), maxLifetime.Seconds()) * float64(time.Second))
}

func notTokenChar(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == ',' || r == ';' }
