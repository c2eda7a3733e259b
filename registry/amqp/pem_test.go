package amqp

import "testing"

func FuzzReadCertificates(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		if list, err := readCertificates(text); err == nil && len(list) == 0 {
			t.Error("nothing was read and nothing is wrong")
		}
		if keys, err := readKeys(text); err == nil && len(keys) == 0 {
			t.Error("no key was read and nothing is wrong")
		}
	})
}

// A broker on this machine itself needs no encryption; another does.
func TestBrokerURL(t *testing.T) {
	t.Parallel()
	for raw, good := range map[string]bool{
		"amqp://127.0.0.1:5672": true, "amqp://[::1]:5672": true, "amqp://localhost": true, "amqps://b.example/": true,
		"amqp://b.example": false, "amqp://localhost.example": false, "amqps://": false, "AMQPS://b.example": true, "amqps:b": false, "%": false,
	} {
		if got := checkBrokerURL(raw, false); (got == "") != good {
			t.Errorf("%s: %q", raw, got)
		}
	}
	if checkBrokerURL("amqp://b.example", true) != "" {
		t.Error("a network without encryption was not allowed though the program says so")
	}
}
