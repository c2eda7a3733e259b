package cpa

import (
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strings"

	"schakel/registry/xmlscan"
)

// certificates reads the certificates of a party and sorts them by what their key may be used for, as the exchange
// does (AMQP-59): encipherment to encrypt, non-repudiation to sign. For one that does not say, the name it has in the
// document decides.
func (r *reader) certificates(info *xmlscan.Node) Certificates {
	var out Certificates
	for _, n := range info.AllLocal("Certificate") {
		cert := r.certificate(n)
		if cert == nil {
			continue
		}
		encrypts := cert.KeyUsage&(x509.KeyUsageKeyEncipherment|x509.KeyUsageDataEncipherment) != 0
		signs := cert.KeyUsage&x509.KeyUsageContentCommitment != 0
		if !encrypts && !signs {
			id := strings.ToLower(n.Attribute("certId"))
			encrypts, signs = strings.HasPrefix(id, "enc"), strings.HasPrefix(id, "sign")
			r.note(n.Line, "the certificate %s says neither that it signs nor that it encrypts", brief(id))
		}
		if encrypts {
			out.Encrypt = append(out.Encrypt, cert)
		}
		if signs {
			out.Sign = append(out.Sign, cert)
		}
	}
	if len(out.Encrypt) == 0 {
		r.note(info.Line, "the party has no certificate to encrypt for it with")
	}
	if len(out.Sign) == 0 {
		r.note(info.Line, "the party has no certificate that signs")
	}
	newestFirst(out.Encrypt)
	newestFirst(out.Sign)
	return out
}

// certificate reads a Certificate element: the first of a chain is that of the party.
func (r *reader) certificate(n *xmlscan.Node) *x509.Certificate {
	text := n.FindLocal("KeyInfo", "X509Data", "X509Certificate").Text()
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(der) == 0 {
		r.note(n.Line, "the certificate %s cannot be read", brief(n.Attribute("certId")))
		return nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		r.note(n.Line, "the certificate %s cannot be read", brief(n.Attribute("certId")))
		return nil
	}
	return cert
}

// newestFirst sorts by the start of validity, for a roll-over has two (AMQP-64).
func newestFirst(all []*x509.Certificate) {
	slices.SortStableFunc(all, func(a, b *x509.Certificate) int { return b.NotBefore.Compare(a.NotBefore) })
}
