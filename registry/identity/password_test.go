package identity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, password string
		about          []string
		ok             bool
	}{
		{"long enough", "fifteen chars x", []string{"a@example.nl"}, true},
		{"fourteen", "fourteen chars", []string{"a@example.nl"}, false},
		{"what people choose", "Welkom123456", nil, false},
		{"counts characters, not bytes", "éèêëàâäçñöüïîô", []string{"a@example.nl"}, false},
		{"longest", strings.Repeat("abcdefgh", 16), []string{"a@example.nl"}, true},
		{"too long", strings.Repeat("abcdefgh", 16) + "i", []string{"a@example.nl"}, false},
		{"one character", "aaaaaaaaaaaaaaa", []string{"a@example.nl"}, false},
		{"the address", "Someone@Example.nl", []string{"someone@example.nl"}, false},
		{"holds the address", "x someone@example.nl x", []string{"someone@example.nl"}, false},
		{"the organisation", "ScholengroepNoord1", []string{"ict@noord.example", "Scholengroep Noord"}, false},
		{"the name and a year", "Anna.de.Vries.2026!", []string{"x@noord.example", "Anna de Vries"}, false},
		{"a name and more", "Anna telt blauwe zwanen", []string{"x@noord.example", "Anna de Vries"}, true},
		{"not text", "fifteen chars x\xff", []string{"a@example.nl"}, false},
		{"nothing known", "fifteen chars x", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := CheckPassword(tt.password, tt.about...); (got == "") != tt.ok {
				t.Errorf("got %q, want ok=%v", got, tt.ok)
			}
		})
	}
}

func TestPasswordHasher(t *testing.T) {
	t.Parallel()
	h, err := newPasswordHasher(fullCost)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := h.hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, password, hash string
		want                 bool
	}{
		{"right", "correct horse battery", hash, true},
		{"wrong", "correct horse batterz", hash, false},
		{"no hash", "correct horse battery", "", false},
		{"no hash, the dummy's password", "no account has this password", "", false},
		{"too long to try", strings.Repeat("a", MaxPasswordLength+1), hash, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := h.matches(t.Context(), tt.password, tt.hash); err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

// The hashes of the program take time and memory to guess; only who asks for weak ones gets those, and they work alike.
func TestPasswordCost(t *testing.T) {
	t.Parallel()
	const password = "correct horse battery"
	for want, options := range map[string][]AccountOption{
		"$argon2id$v=19$m=19456,t=2,p=1$": nil, "$argon2id$v=19$m=8,t=1,p=1$": {WithWeakPasswords()},
	} {
		a, err := NewAccounts(nil, time.Now, options...)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := a.hasher.hash(t.Context(), password)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(hash, want) || !strings.HasPrefix(a.hasher.dummy, want) {
			t.Errorf("got %s and for no account %s, want %s", hash, a.hasher.dummy, want)
		}
		for tried, right := range map[string]bool{password: true, password + "x": false} {
			if got, err := a.hasher.matches(t.Context(), tried, hash); err != nil || got != right {
				t.Errorf("%s: %q matches: %v, %v", want, tried, got, err)
			}
		}
	}
}

func TestPasswordHasherWaits(t *testing.T) {
	t.Parallel()
	h, err := newPasswordHasher(fullCost)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(h.slots) {
		h.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.matches(ctx, "x", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled: a full house must not hash more", err)
	}
}
