package partners

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of the client certificates of an endpoint.
const (
	mostCertificates    = 3         // beside each other
	mostCertificateWait = 90 * 24   // hours before a new one is used
	mostPEMBytes        = 128 << 10 // of a certificate with its chain, or of a key
	leastRSABits        = 2048
)

// certificatePurpose binds the sealed keys of client certificates to their use.
const certificatePurpose = "endpoint-client-key"

// EndpointCertificate is a client certificate that an endpoint is shown, to prove who sends.
type EndpointCertificate struct {
	ID        string     `json:"id"`          // of its SHA-256
	Chain     string     `json:"certificate"` // PEM, with those that lead to its root
	Sealed    string     `json:"sealed"`      // its key
	Subject   string     `json:"subject"`
	Issuer    string     `json:"issuer"`
	NotBefore store.Time `json:"notBefore"`
	NotAfter  store.Time `json:"notAfter"`
	UsedFrom  store.Time `json:"usedFrom"` // until then the one before is shown
	AddedAt   store.Time `json:"addedAt"`
}

// Certificates lists the client certificates of an endpoint, newest first.
func Certificates(e store.Endpoint) (list []EndpointCertificate, err error) {
	if e.Certificates == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(e.Certificates), &list); err != nil {
		return nil, fmt.Errorf("read client certificates of endpoint: %w", err)
	}
	return list, nil
}

// ShownAt returns the certificate of a list, newest first, that is shown at a moment: the newest that is used by then and valid, else the newest that
// is used, else the last. until is when another is due; zero for never. It is nil for an empty list.
func ShownAt(list []EndpointCertificate, now time.Time) (shown *EndpointCertificate, until time.Time) {
	for i, c := range list {
		switch {
		case now.Before(c.UsedFrom.Time):
			if until.IsZero() || c.UsedFrom.Before(until) {
				until = c.UsedFrom.Time
			}
		case now.Before(c.NotAfter.Time) && !now.Before(c.NotBefore.Time):
			if until.IsZero() || c.NotAfter.Before(until) {
				until = c.NotAfter.Time
			}
			return &list[i], until
		case shown == nil:
			shown = &list[i]
		}
	}
	if shown == nil && len(list) > 0 {
		shown = &list[len(list)-1]
	}
	return shown, until
}

// ClientCertificate opens the client certificate that an endpoint is shown at a moment, and says until when; nil without one.
func (e *Endpoints) ClientCertificate(endpoint store.Endpoint, now time.Time) (cert *tls.Certificate, id string, until time.Time, err error) {
	list, err := Certificates(endpoint)
	if err != nil {
		return nil, "", until, err
	}
	shown, until := ShownAt(list, now)
	if shown == nil {
		return nil, "", until, nil
	}
	key, err := e.cfg.Vault.OpenKey(certificatePurpose, shown.Sealed)
	if err != nil {
		return nil, "", until, fmt.Errorf("open client key of endpoint: %w", err)
	}
	cert = &tls.Certificate{PrivateKey: key}
	for block, rest := pem.Decode([]byte(shown.Chain)); block != nil; block, rest = pem.Decode(rest) {
		cert.Certificate = append(cert.Certificate, block.Bytes)
	}
	return cert, shown.ID, until, nil
}

// TypedCertificate reads a client certificate and key as they are typed, for who tries them before they are stored; nil when none is.
func TypedCertificate(in EndpointInput) (*tls.Certificate, string) {
	wrong := registry.Problems{}
	c := readTyped(in, wrong, time.Time{})
	if c.leaf == nil || len(wrong) > 0 {
		return nil, ""
	}
	cert := &tls.Certificate{PrivateKey: c.key}
	for _, one := range c.chain {
		cert.Certificate = append(cert.Certificate, one.Raw)
	}
	return cert, certificateID(c.leaf)
}

func certificateID(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:16])
}

// typedCertificate is a certificate that was typed, with its chain, itself first, and its key.
type typedCertificate struct {
	leaf  *x509.Certificate
	chain []*x509.Certificate
	key   crypto.Signer
}

// readTyped reads the certificate and key of input; what is wrong goes to wrong. At a zero now the dates are not judged.
func readTyped(in EndpointInput, wrong registry.Problems, now time.Time) (c typedCertificate) {
	if in.Certificate == "" && in.CertificateKey == "" {
		return c
	}
	wrong.AddIf(in.Certificate == "", "certificate", "partners.certificate.missing")
	wrong.AddIf(in.CertificateKey == "", "certificateKey", "partners.certificate.key-missing")
	registry.CheckBetween(wrong, "certificateWaitHours", in.CertificateWaitHours, 0, mostCertificateWait)
	if len(wrong) > 0 {
		return c
	}
	wrong.Add("certificate", c.readChain(in.Certificate, now))
	wrong.Add("certificateKey", c.readKey(in.CertificateKey))
	if c.leaf != nil && c.key != nil {
		public, ok := c.key.Public().(interface{ Equal(crypto.PublicKey) bool })
		wrong.AddIf(!ok || !public.Equal(c.leaf.PublicKey), "certificateKey", "partners.certificate.key-other")
	}
	return c
}

func (c *typedCertificate) readChain(text string, now time.Time) i18n.Message {
	if len(text) > mostPEMBytes {
		return "partners.certificate.too-long"
	}
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return i18n.M("partners.certificate.not-certificate", strings.ToLower(block.Type))
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return i18n.M("partners.certificate.unreadable", err.Error())
		}
		c.chain = append(c.chain, one)
	}
	if len(c.chain) == 0 {
		return "partners.certificate.no-pem"
	}
	leaf := c.chain[0]
	usage := leaf.ExtKeyUsage
	key, isRSA := leaf.PublicKey.(*rsa.PublicKey)
	_, isEC := leaf.PublicKey.(*ecdsa.PublicKey)
	switch {
	case leaf.IsCA:
		return i18n.M("partners.certificate.authority", leaf.Subject.String())
	case slices.ContainsFunc(c.chain[1:], func(o *x509.Certificate) bool { return !o.IsCA }):
		return "partners.certificate.several"
	case len(usage) > 0 && !slices.Contains(usage, x509.ExtKeyUsageClientAuth) && !slices.Contains(usage, x509.ExtKeyUsageAny):
		return i18n.M("partners.certificate.not-client", leaf.Subject.String())
	case !isRSA && !isEC || isRSA && key.N.BitLen() < leastRSABits:
		return i18n.M("partners.certificate.weak", leastRSABits)
	case !now.IsZero() && !now.Before(leaf.NotAfter):
		return i18n.M("partners.certificate.expired", leaf.Subject.String(), leaf.NotAfter)
	}
	c.leaf = leaf
	return ""
}

func (c *typedCertificate) readKey(text string) i18n.Message {
	if len(text) > mostPEMBytes {
		return "partners.certificate.too-long"
	}
	block, rest := pem.Decode([]byte(text))
	for block != nil && block.Type == "EC PARAMETERS" { // which OpenSSL writes before a key
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil:
		return "partners.certificate.key-no-pem"
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["Proc-Type"] != "":
		return "partners.certificate.key-encrypted"
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			parsed, err = x509.ParseECPrivateKey(block.Bytes)
		}
	}
	key, ok := parsed.(crypto.Signer)
	if err != nil || !ok {
		return "partners.certificate.key-unreadable"
	}
	c.key = key
	return ""
}

// checkCertificate judges the client certificate of input, and a method that needs one.
func (e *Endpoints) checkCertificate(in EndpointInput, old store.Endpoint, wrong registry.Problems) {
	found := registry.Problems{}
	c := readTyped(in, found, e.cfg.Now())
	for field, why := range found {
		wrong.Add(field, why)
	}
	before, err := Certificates(old)
	if err == nil && c.leaf != nil {
		kept := keptCertificates(before, e.cfg.Now())
		wrong.AddIf(slices.ContainsFunc(kept, func(o EndpointCertificate) bool { return o.ID == certificateID(c.leaf) }), "certificate", "partners.certificate.known")
		wrong.AddIf(len(kept) >= mostCertificates, "certificate", i18n.M("partners.certificate.most", mostCertificates))
	}
	none := len(before) == 0 && in.Certificate == "" && !e.cfg.ShowsCertificate
	wrong.AddIf(needsCertificate(in.TokenAuthMethod) && none, "certificate", "partners.certificate.needed")
}

// keptCertificates leaves out those that have ended.
func keptCertificates(list []EndpointCertificate, now time.Time) []EndpointCertificate {
	return slices.DeleteFunc(slices.Clone(list), func(c EndpointCertificate) bool { return !now.Before(c.NotAfter.Time) })
}

// addCertificate puts the checked client certificate of input before those that the endpoint has; without one it changes nothing, as where nothing
// is sent to.
func (e *Endpoints) addCertificate(to *store.Endpoint, in EndpointInput, now time.Time) error {
	if to.Kind != store.EndpointWebhook {
		return nil
	}
	c := readTyped(in, registry.Problems{}, now)
	if c.leaf == nil || c.key == nil {
		return nil
	}
	before, err := Certificates(*to)
	if err != nil {
		return err
	}
	added := EndpointCertificate{
		ID: certificateID(c.leaf), Subject: c.leaf.Subject.String(), Issuer: c.leaf.Issuer.String(), NotBefore: store.At(c.leaf.NotBefore),
		NotAfter: store.At(c.leaf.NotAfter), UsedFrom: store.At(now.Add(time.Duration(in.CertificateWaitHours) * time.Hour)), AddedAt: store.At(now),
	}
	if added.NotBefore.After(added.UsedFrom.Time) {
		added.UsedFrom = added.NotBefore
	}
	var chain strings.Builder
	for _, one := range c.chain {
		_ = pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}) // to memory
	}
	added.Chain = chain.String()
	if added.Sealed, err = e.cfg.Vault.SealKey(certificatePurpose, c.key); err != nil {
		return err
	}
	return writeCertificates(to, append([]EndpointCertificate{added}, keptCertificates(before, now)...))
}

func writeCertificates(to *store.Endpoint, list []EndpointCertificate) error {
	if to.Certificates = ""; len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	to.Certificates = string(text)
	return registry.Wrap("write client certificates", err)
}

// HoldsRemovals reports whether an administrator removes client certificates for an actor.
func (e *Endpoints) HoldsRemovals(ctx context.Context, actor registry.Actor) (bool, error) {
	set, err := e.profile.InForce(ctx)
	if err != nil {
		return false, fmt.Errorf("read whether a destination waits: %w", err)
	}
	return set.NewDestination == registry.DestinationApproval && !actor.Administrator && actor.Kind != registry.ActorSystem, nil
}

// RemoveCertificate takes a client certificate of an endpoint away, with its key. Where a changed destination waits for approval an administrator does it
// for the people and machines of a partner: the certificate that is shown then is another one.
func (e *Endpoints) RemoveCertificate(ctx context.Context, actor registry.Actor, endpointID, id string) (store.Endpoint, error) {
	held, err := e.HoldsRemovals(ctx, actor)
	if err != nil {
		return store.Endpoint{}, err
	}
	return e.change(ctx, actor, endpointID, func(tx *store.Tx, endpoint *store.Endpoint) error {
		if endpoint.Status == store.EndpointEnded {
			return registry.Conflict("partners.endpoint.has-ended")
		}
		list, err := Certificates(*endpoint)
		if err != nil {
			return err
		}
		before := *endpoint
		left := slices.DeleteFunc(slices.Clone(list), func(c EndpointCertificate) bool { return c.ID == id })
		if len(left) == len(list) {
			return registry.NotFound("certificate")
		}
		if held {
			return registry.Conflict("partners.certificate.removal-held")
		}
		if len(left) == 0 && needsCertificate(endpoint.TokenAuthMethod) && !e.cfg.ShowsCertificate {
			return registry.Conflict("partners.certificate.needed")
		}
		if err := writeCertificates(endpoint, left); err != nil {
			return err
		}
		if err := tx.UpdateEndpoint(ctx, endpoint); err != nil {
			return fmt.Errorf("update endpoint: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionEndpointUpdated, endpointObject(*endpoint), registry.Details{"certificateRemoved": id}); err != nil {
			return err
		}
		return e.mailRedirected(ctx, tx, actor, before, *endpoint, "partners.mail.redirected-subject", "")
	})
}

// sameCertificates reports whether two endpoints have the same client certificates.
func sameCertificates(a, b store.Endpoint) bool {
	one, err := Certificates(a)
	other, failed := Certificates(b)
	if err != nil || failed != nil {
		return a.Certificates == b.Certificates
	}
	return slices.EqualFunc(one, other, func(c, o EndpointCertificate) bool { return c.ID == o.ID })
}

// CertificateWords describe the client certificates of an endpoint, for people.
func CertificateWords(e store.Endpoint) string {
	list, _ := Certificates(e) // what cannot be read is not told
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = c.Subject + ", " + c.NotAfter.UTC().Format(time.DateOnly)
	}
	return strings.Join(words, "; ")
}
