package token

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TLSClientAuth is the method of a client that proves who it is with the certificate of its TLS connection (RFC 8705, SEC-03).
const TLSClientAuth = "tls_client_auth"

// ErrRevocationUnknown is the error of [Config.CheckChain] when nobody says now whether a certificate was revoked.
var ErrRevocationUnknown = errors.New("whether the certificate was revoked is not known now")

// Thumbprint is the SHA-256 of a certificate as a token names it (x5t#S256 of RFC 8705).
func Thumbprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// CertificateOIN returns the OIN of the organisation that a certificate was given to: the serialNumber of its subject, 20 digits as
// PKIoverheid writes it, or with OIN: before them (SEC-15). It is empty when there is none.
func CertificateOIN(c *x509.Certificate) string {
	oin := strings.ToLower(strings.Join(strings.Fields(c.Subject.SerialNumber), ""))
	oin = strings.TrimPrefix(strings.TrimPrefix(oin, "urn:nld:"), "oin:")
	if len(oin) != 20 || strings.Trim(oin, "0123456789") != "" {
		return ""
	}
	return oin
}

// Why a certificate is not one of a client.
const (
	OtherOIN     = "other-oin"     // it names another organisation
	NoOIN        = "no-oin"        // it names none
	PartnerNoOIN = "partner-oin"   // the partner has no OIN to compare with
	OtherSubject = "other-subject" // the client is registered with another subject
)

// CertificateError says why a certificate that is good by itself is not one of a client. Its text quotes digits and a subject that a
// trusted issuer signed.
type CertificateError struct {
	Why          string
	Found, Wants string // OINs or subjects
}

// Error names both sides.
func (e *CertificateError) Error() string {
	switch e.Why {
	case OtherOIN:
		return fmt.Sprintf("the certificate is of OIN %s, the client belongs to OIN %s", e.Found, e.Wants)
	case NoOIN:
		return fmt.Sprintf("the subject of the certificate has no OIN as serialNumber, the client belongs to OIN %s", e.Wants)
	case PartnerNoOIN:
		return fmt.Sprintf("the certificate is of OIN %s, and no OIN is registered of the organisation of the client", e.Found)
	}
	return fmt.Sprintf("the subject of the certificate is %s, the client is registered with %s", e.Found, e.Wants)
}

// CheckCertificate compares a certificate, whose chain was checked, with what is registered of a client: an OIN in it must be that of the
// partner, and the subject the one that is registered, if any. Its error is a *CertificateError.
func (c Client) CheckCertificate(cert *x509.Certificate) error {
	found := CertificateOIN(cert)
	switch {
	case found != "" && c.OIN == "":
		return &CertificateError{PartnerNoOIN, found, ""}
	case found != c.OIN && found != "":
		return &CertificateError{OtherOIN, found, c.OIN}
	case c.CertificateSubject != "" && !SameSubject(c.CertificateSubject, cert):
		return &CertificateError{OtherSubject, cert.Subject.String(), c.CertificateSubject}
	case found == "" && c.CertificateSubject == "":
		return &CertificateError{NoOIN, "", c.OIN}
	}
	return nil
}

// attributeNames are the object identifiers of the attributes that a subject is written with, and of those that PKIoverheid adds.
var attributeNames = map[string]string{
	"CN": "2.5.4.3", "SERIALNUMBER": "2.5.4.5", "C": "2.5.4.6", "L": "2.5.4.7", "ST": "2.5.4.8", "S": "2.5.4.8", "STREET": "2.5.4.9",
	"O": "2.5.4.10", "OU": "2.5.4.11", "ORGANIZATIONIDENTIFIER": "2.5.4.97", "DC": "0.9.2342.19200300.100.1.25", "UID": "0.9.2342.19200300.100.1.1",
}

// SameSubject compares a subject as a person writes it (RFC 4514) with that of a certificate, in any order of its attributes.
func SameSubject(written string, c *x509.Certificate) bool {
	want, err := readSubject(written)
	if err != nil {
		return false
	}
	var have []string
	for _, a := range c.Subject.Names {
		have = append(have, a.Type.String()+"="+fmt.Sprint(a.Value))
	}
	slices.Sort(have)
	return slices.Equal(want, have)
}

// CheckSubject reads a subject that somebody wants to register. Its error is for the person who wrote it.
func CheckSubject(written string) error {
	_, err := readSubject(written)
	return err
}

// readSubject reads a subject into its attributes, in a fixed order.
func readSubject(written string) ([]string, error) {
	var parts []string
	var part strings.Builder
	escaped := false
	for _, r := range written + "," {
		switch {
		case escaped:
			part.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ',' || r == '+':
			name, value, ok := strings.Cut(part.String(), "=")
			id := strings.ToUpper(strings.TrimSpace(name))
			if known := attributeNames[id]; known != "" {
				id = known
			}
			if !ok || strings.TrimSpace(value) == "" || id == "" || (strings.Trim(id, "0123456789.") != "") {
				return nil, fmt.Errorf("%q is no attribute of a subject; write it as CN=events.example.nl,serialNumber=00000001234567890000,O=Example,C=NL", strings.TrimSpace(part.String()))
			}
			parts = append(parts, id+"="+strings.TrimSpace(value))
			part.Reset()
		default:
			part.WriteRune(r)
		}
	}
	slices.Sort(parts)
	return parts, nil
}

// checkTLS authenticates a client by the certificate of its connection, which the caller has checked (SEC-03).
func (i *Issuer) checkTLS(ctx context.Context, cred credentials) (Client, *OAuthError) {
	client, err := i.cfg.Clients.TokenClient(ctx, cred.clientID)
	switch {
	case errors.Is(err, ErrUnknownClient):
		return Client{}, notAuthenticated(err)
	case err != nil:
		return Client{}, unavailable(fmt.Errorf("find client: %w", err))
	case client.AuthMethod != TLSClientAuth:
		return Client{}, notAuthenticated(nil)
	}
	return client, nil // its certificate is compared in admit, as those of all clients
}

// chainOf reads the certificates in the header of an assertion (x5c, RFC 7515 4.1.6), that of the key first; none when it has none.
func chainOf(raw string) ([]*x509.Certificate, error) {
	part, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil, err
	}
	var header struct {
		X5C []string `json:"x5c"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, errors.New("x5c is no list of certificates")
	}
	if len(header.X5C) > 10 {
		return nil, errors.New("x5c has more than 10 certificates")
	}
	var chain []*x509.Certificate
	for _, encoded := range header.X5C {
		der, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, errors.New("x5c is not in base64")
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, errors.New("a certificate in x5c cannot be read")
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// checkChain holds the certificates of an assertion against the roots, the client and its signature (SEC-06). Errors that are for the
// developer of the client are *OAuthError.
func (i *Issuer) checkChain(ctx context.Context, client Client, tok signed, chain []*x509.Certificate) *OAuthError {
	if _, err := tok.jws.Verify(chain[0].PublicKey); err != nil {
		return notAuthenticated(errors.New("the key of the certificate in x5c did not sign the assertion"))
	}
	err := i.cfg.CheckChain(ctx, chain)
	if errors.Is(err, ErrRevocationUnknown) { // the client is to ask again, not to take it for refused
		fail := unavailable(err)
		fail.Description = "client_assertion: " + ErrRevocationUnknown.Error() + ", try again later"
		return fail
	}
	if err != nil {
		return invalidClient("client_assertion: the certificate in x5c is refused: "+ascii(err.Error()), err)
	}
	if err := client.CheckCertificate(chain[0]); err != nil {
		return invalidClient("client_assertion: "+ascii(err.Error()), err)
	}
	return nil
}

// ascii keeps a text fit for error_description (RFC 6749, 5.2).
func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
}
