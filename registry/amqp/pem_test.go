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
