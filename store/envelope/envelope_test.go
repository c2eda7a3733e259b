package envelope

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// TestVectors holds the cipher against the vectors of the specification of C2SP.
func TestVectors(t *testing.T) {
	t.Parallel()
	nonce := []byte("ABCDEFGHIJKLMNOPQRSTUVWX")
	for _, v := range []struct {
		key           byte
		place, sealed string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		k, err := New(bytes.Repeat([]byte{v.key}, KeySize))
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := hex.DecodeString(v.sealed)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := k.Open(append(bytes.Clone(nonce), sealed...), []byte(v.place)); err != nil || string(plain) != "XAES-256-GCM" {
			t.Errorf("key %d: %q, %v", v.key, plain, err)
		}
	}
}

// TestOpen: a value opens with its key and for its place, and nothing of it can be changed.
func TestOpen(t *testing.T) {
	t.Parallel()
	k, err := New(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []string{"", "a", "data of an event"} {
		sealed := k.Seal([]byte(plain), []byte("here"))
		if len(sealed) != len(plain)+Overhead || len(plain) > 8 && bytes.Contains(sealed, []byte(plain)) {
			t.Errorf("%q became %x", plain, sealed)
		}
		if got, err := k.Open(sealed, []byte("here")); err != nil || string(got) != plain {
			t.Errorf("%q opened as %q, %v", plain, got, err)
		}
		if _, err := k.Open(sealed, []byte("there")); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q opened elsewhere: %v", plain, err)
		}
		if _, err := other.Open(sealed, []byte("here")); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q opened with another key: %v", plain, err)
		}
		for i := range sealed {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1
			if _, err := k.Open(changed, []byte("here")); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%q opened with byte %d changed: %v", plain, i, err)
			}
		}
	}
	if _, err := k.Open(make([]byte, Overhead-1), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("too short: %v", err)
	}
}

func BenchmarkSeal(b *testing.B) {
	k, _ := New(NewKey())
	plain := make([]byte, 1024)
	for b.Loop() {
		k.Seal(plain, []byte("here"))
	}
}

func BenchmarkOpen(b *testing.B) {
	k, _ := New(NewKey())
	sealed := k.Seal(make([]byte, 1024), []byte("here"))
	for b.Loop() {
		if _, err := k.Open(sealed, []byte("here")); err != nil {
			b.Fatal(err)
		}
	}
}
