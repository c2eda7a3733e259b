package identity

import (
	"testing"
	"time"
)

// TestTOTP holds codes against the vectors of RFC 6238, appendix B, of which apps show the last six digits.
func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		if got := totpCode(secret, at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
		now := time.Unix(at, 0)
		for drift, ok := range map[time.Duration]bool{0: true, 30 * time.Second: true, -30 * time.Second: true, time.Minute: false, -time.Minute: false} {
			if at+int64(drift/time.Second) < 0 {
				continue // before 1970
			}
			step, got := totpMatch(secret, want, now.Add(drift), totpDrift, 0)
			if got != ok || ok && step != at/30 {
				t.Errorf("at %d, a clock %s off: %v in step %d", at, drift, got, step)
			}
			if _, got := totpMatch(secret, want, now.Add(drift), 0, 0); got != (drift == 0) {
				t.Errorf("at %d, a clock %s off, exact: %v", at, drift, got)
			}
		}
		if _, ok := totpMatch(secret, want, now, totpDrift, at/30); ok {
			t.Errorf("at %d a code works twice", at)
		}
	}
	if got := totpURI(secret, "Keten bureau", "a@example.nl"); got != "otpauth://totp/Keten%20bureau:a@example.nl?issuer=Keten%20bureau&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" {
		t.Errorf("address of the QR code: %s", got)
	}
}
