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
		{"longest", strings.Repeat("drie zwanen x ", 9) + "ab", []string{"a@example.nl"}, true},
		{"too long", strings.Repeat("drie zwanen x ", 9) + "abc", []string{"a@example.nl"}, false},
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
			if got := CheckPassword(tt.password, MinPasswordLength, tt.about...); (got == "") != tt.ok {
				t.Errorf("got %q, want ok=%v", got, tt.ok)
			}
		})
	}
}

// TestCommonPasswords: what guessers try first is refused also where eight characters would do, and what only looks like it is not.
func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	for password, refused := range map[string]bool{
		"Welkom123456": true, "welkom2026!": true, "Welkom123456789": true, "P@ssw0rd2026": true, "w3lk0m123": true, "!!wachtwoord!!": true,
		"zwangerschap": true, "12345678": true, "1234567890123456": true, "qwertyuiop": true, "aaaabbbbccccddddeeee": true, "abcdefghijklmnop": true,
		"welkomwelkom": true, "Welkom#Welkom#": true, "password1": true, "Velkommen2026": true, "trustno1trustno1": true, "letmein!!": true,
		"07021998": true, "12301987": true, "19840229": true, "strawberr": true, "robvandam": true, "Praetorian": true, "31139867": false, "45132089": false,
		"correct horse battery": false, "drie blauwe zwanen": false, "welkom8350461927": false, "vR4#kd92": false, "8350461927460193": false,
		"knisperende lantaarn": false,
	} {
		if got := CheckPassword(password, MinBesideFactor, "ada@example.nl", "Ada"); (got == "identity.password-common") != refused || !refused && got != "" {
			t.Errorf("%s: %q", password, got)
		}
	}
	if got := CheckPassword("Welkom123456789", MinPasswordLength); got != "identity.password-common" {
		t.Errorf("long enough, but common: %q", got)
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
