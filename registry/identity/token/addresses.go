package token

import "crypto/x509"

// EachAddress gives, for each other issuer by its ID, where it is asked: the addresses in its file, and those in its metadata as it was read last. Some
// may be empty.
func (i *Issuer) EachAddress(give func(id string, addresses []string)) {
	for _, x := range i.externals {
		list := []string{x.Issuer, x.JWKSURI}
		if x.Introspection != nil {
			list = append(list, x.Introspection.Endpoint)
		}
		if read, is := i.metadata.kept.get(x.ID); is {
			list = append(list, read.value.meta.JWKSURI, read.value.meta.Introspection)
		}
		give(x.ID, list)
	}
}

// LastCertificate returns, of the certificates (x5c) in the keys behind a jwks_uri as they were read last, the one that ends last; nil without one.
func (i *Issuer) LastCertificate(uri string) (last *x509.Certificate) {
	known, _ := i.remote.kept.get(uri)
	for _, key := range known.value.keys {
		if len(key.Certificates) > 0 && (last == nil || key.Certificates[0].NotAfter.After(last.NotAfter)) {
			last = key.Certificates[0]
		}
	}
	return last
}
