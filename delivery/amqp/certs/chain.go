package certs

import (
	"crypto/x509"
	"slices"
	"time"
)

// chain gives the first chain to a root. It is cached: whatever certificates come
// along the next time, the signatures in it stay as they are, and its times are
// looked at again.
func (v *Validator) chain(cert *x509.Certificate, others []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	if cached, ok := v.chains.get(string(cert.Raw)); ok && allValid(cached, now) {
		return cached, nil
	}
	between := x509.NewCertPool()
	for _, c := range v.intermediates {
		between.AddCert(c)
	}
	for _, c := range others {
		between.AddCert(c)
	}
	chains, err := cert.Verify(x509.VerifyOptions{
		Roots: v.roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil, err
	}
	chain := slices.Clip(chains[0]) // shared by all who ask: nobody appends in place
	v.chains.put(string(cert.Raw), chain)
	return chain, nil
}

func allValid(chain []*x509.Certificate, now time.Time) bool {
	for _, c := range chain {
		if checkTime(c, now) != nil {
			return false
		}
	}
	return true
}
