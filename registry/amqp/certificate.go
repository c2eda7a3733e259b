package amqp

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- a thumbprint names a certificate, as the profile writes it; nothing rests on it
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// AddCertificates adds the certificates in a PEM text to a party, each for what its key usage allows; those of authorities go
// with the one before. Of an own party keys holds the private keys. It counts the new ones. Fields: certificates, privateKeys.
func (a *AMQP) AddCertificates(ctx context.Context, actor registry.Actor, partyID, certificates, keys string) (int, error) {
	added := 0
	held, err := a.HoldsDestination(ctx, actor)
	if err != nil {
		return 0, err
	}
	party, err := a.cfg.DB.AMQPParty(ctx, partyID)
	if err != nil {
		return 0, registry.Found("party", err)
	}
	add := func(ctx context.Context) (err error) {
		added, err = a.addToParty(ctx, actor, partyID, certificates, keys, held)
		return err
	}
	if party.Own {
		return added, add(ctx)
	}
	approved, err := flows(ctx, &a.cfg.DB.Queries, party.EndpointID)
	if err != nil || !approved {
		return added, cmp.Or(err, add(ctx))
	}
	list, err := a.readEnterprise(certificates, keys, false)
	if err != nil {
		return 0, err
	}
	asked := partyAsk{Change: asksCertificates, Certificates: certificates}
	err = a.hold(ctx, actor, partyObject(party), asked, "amqp_party", party, party, certificateLine(list), add)
	return added, err
}

func (a *AMQP) addToParty(ctx context.Context, actor registry.Actor, partyID, certificates, keys string, held bool) (added int, err error) {
	_, err = a.changeParty(ctx, actor, partyID, func(tx *store.Tx, row *store.AMQPParty) error {
		if row.Kind != store.AMQPHealth {
			return registry.Conflict("amqp.certificate.cloudevents")
		}
		if held {
			// The first certificates of a party redirect nothing, without one nothing is sent to it, unless what is sent was approved already.
			there, err := tx.AMQPCertificates(ctx, row.ID)
			approved, failed := flows(ctx, &tx.Queries, row.EndpointID)
			if err := errors.Join(err, failed); err != nil || len(there) > 0 || approved {
				return cmp.Or(err, registry.Invalid(registry.Problems{"certificates": destinationHeld}))
			}
		}
		list, err := a.readEnterprise(certificates, keys, row.Own)
		if err != nil {
			return err
		}
		added, err = a.addCertificates(ctx, tx, actor, *row, list, store.AMQPEntered)
		return err
	})
	return added, err
}

// enterprise is a certificate of a party, with its sealed key when it is one of ours.
type enterprise struct {
	certificateChain
	sealed string
}

func (a *AMQP) readEnterprise(certificates, keys string, own bool) ([]enterprise, error) {
	wrong := registry.Problems{}
	chains, err := readCertificates(certificates)
	if err != nil {
		wrong.Add("certificates", whyUnread(err))
		return nil, wrong.Err()
	}
	list := make([]enterprise, 0, len(chains))
	for _, c := range chains {
		wrong.Add("certificates", checkEnterprise(c.leaf))
		e := enterprise{certificateChain: c}
		if own {
			if key := keyThatFits(keys, c, "privateKeys", wrong); key != nil {
				if e.sealed, err = a.cfg.Vault.SealKey(partyKeyPurpose(thumbprint(c.leaf)), key); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, e)
	}
	wrong.AddIf(!own && keys != "", "privateKeys", "amqp.certificate.key-not-yours")
	return list, wrong.Err()
}

// addCertificates adds those that the party does not have yet.
func (a *AMQP) addCertificates(ctx context.Context, tx *store.Tx, actor registry.Actor, p store.AMQPParty, list []enterprise, source string) (int, error) {
	there, err := tx.AMQPCertificates(ctx, p.ID)
	if err != nil {
		return 0, fmt.Errorf("list certificates: %w", err)
	}
	has := map[string]bool{}
	for _, row := range there {
		has[row.Purpose+row.Thumbprint] = true
	}
	added := 0
	for _, e := range list {
		for _, row := range e.rows(p.ID, source) {
			if has[row.Purpose+row.Thumbprint] {
				continue
			}
			if len(has) >= maxCertificates {
				return 0, registry.Invalid(registry.Problems{"certificates": i18n.M("amqp.certificate.too-many", maxCertificates)})
			}
			if err := tx.InsertAMQPCertificate(ctx, &row); err != nil {
				return 0, fmt.Errorf("add certificate: %w", err)
			}
			has[row.Purpose+row.Thumbprint] = true
			added++
			if err := registry.Record(ctx, tx, actor, registry.ActionCertificateAdded, partyObject(p), certificateDetails(row)); err != nil {
				return 0, err
			}
		}
	}
	return added, nil
}

// rows are a certificate for each of its purposes.
func (e enterprise) rows(partyID, source string) []store.AMQPCertificate {
	var rows []store.AMQPCertificate
	for _, purpose := range purposesOf(e.leaf) {
		rows = append(rows, store.AMQPCertificate{
			PartyID: partyID, Purpose: purpose, Thumbprint: thumbprint(e.leaf), Certificate: writeChain(e.certificateChain), PrivateKey: e.sealed,
			Subject: e.leaf.Subject.String(), NotBefore: store.At(e.leaf.NotBefore), NotAfter: store.At(e.leaf.NotAfter), Source: source,
		})
	}
	return rows
}

// RemoveCertificate removes a certificate of a party, with its key.
func (a *AMQP) RemoveCertificate(ctx context.Context, actor registry.Actor, partyID, id string) error {
	held, err := a.HoldsDestination(ctx, actor)
	if err != nil {
		return err
	}
	_, err = a.changeParty(ctx, actor, partyID, func(tx *store.Tx, p *store.AMQPParty) error {
		if held {
			return &registry.Error{Code: registry.CodeForbidden, Message: destinationHeld}
		}
		rows, err := tx.AMQPCertificates(ctx, partyID)
		if err != nil {
			return fmt.Errorf("list certificates: %w", err)
		}
		for _, row := range rows {
			if row.ID != id {
				continue
			}
			if err := tx.DeleteAMQPCertificate(ctx, partyID, id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("remove certificate: %w", err)
			}
			return registry.Record(ctx, tx, actor, registry.ActionCertificateRemoved, partyObject(*p), certificateDetails(row))
		}
		return registry.NotFound("certificate")
	})
	return err
}

func certificateDetails(c store.AMQPCertificate) registry.Details {
	return registry.Details{"from": c.Subject, "purpose": c.Purpose, "thumbprint": c.Thumbprint, "notAfter": c.NotAfter.UTC().Format("2006-01-02")}
}

// maxPEMBytes bounds a text with certificates or a key.
const maxPEMBytes = 128 << 10

// leastRSABits is the shortest RSA key that is taken.
const leastRSABits = 2048

// certificateChain is a certificate with those that lead to its root.
type certificateChain struct {
	leaf  *x509.Certificate
	chain []*x509.Certificate
}

// thumbprint names a certificate: SHA-1, upper-case hex, as NHN writes it.
func thumbprint(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw) // #nosec G401 -- see the import
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// unreadError is why certificates or keys cannot be read, for people.
type unreadError i18n.Message

// Error implements error.
func (e unreadError) Error() string { return i18n.Message(e).String() }

// whyUnread gives the reason for people why certificates or keys cannot be read.
func whyUnread(err error) i18n.Message {
	if why, ok := errors.AsType[unreadError](err); ok {
		return i18n.Message(why)
	}
	return i18n.Raw(registry.AsSentence(err.Error()))
}

// readCertificates reads certificates in PEM. Each that is no CA's begins a new one; those of CAs belong to the one before.
// Its error is an [unreadError].
func readCertificates(text string) ([]certificateChain, error) {
	var list []certificateChain
	err := eachBlock(text, func(b *pem.Block) error {
		if b.Type != "CERTIFICATE" {
			return unreadError(i18n.M("amqp.pem.not-certificate", strings.ToLower(b.Type)))
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return unreadError(i18n.M("amqp.pem.unreadable-certificate", err.Error()))
		}
		if last := len(list) - 1; c.IsCA && last >= 0 {
			list[last].chain = append(list[last].chain, c)
		} else {
			list = append(list, certificateChain{leaf: c})
		}
		return nil
	})
	return list, err
}

// readKeys reads private keys in PEM: PKCS#8, PKCS#1 or SEC 1, none of them encrypted.
func readKeys(text string) ([]crypto.Signer, error) {
	var list []crypto.Signer
	err := eachBlock(text, func(b *pem.Block) error {
		key, err := readKey(b)
		if err == nil {
			list = append(list, key)
		}
		return err
	})
	return list, err
}

func readKey(b *pem.Block) (crypto.Signer, error) {
	if b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["Proc-Type"] != "" {
		return nil, unreadError("amqp.pem.encrypted-key")
	}
	key, err := parseKey(b)
	if err != nil {
		return nil, unreadError("amqp.pem.unreadable-key")
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	case ed25519.PrivateKey:
		return k, nil
	}
	return nil, unreadError("amqp.pem.unused-key")
}

func parseKey(b *pem.Block) (any, error) {
	switch b.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(b.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(b.Bytes)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(b.Bytes)
	}
	return nil, errors.New("not a private key")
}

// eachBlock hands out the blocks of a PEM text, of which there must be one or more.
func eachBlock(text string, fn func(*pem.Block) error) error {
	if len(text) > maxPEMBytes {
		return unreadError("amqp.pem.too-long")
	}
	n := 0
	for rest := []byte(text); ; n++ {
		block, more := pem.Decode(rest)
		if block == nil {
			break
		}
		if err := fn(block); err != nil {
			return err
		}
		rest = more
	}
	if n == 0 {
		return unreadError("amqp.pem.missing")
	}
	return nil
}

func writeChain(c certificateChain) string {
	var b bytes.Buffer
	for _, one := range append([]*x509.Certificate{c.leaf}, c.chain...) {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}) // to memory
	}
	return b.String()
}

func fits(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// purposesOf lists the uses of a certificate by its key usage, OID 2.5.29.15 (AMQP-59, AMQP-69, AMQP-70). Key
// Encipherment does for Data Encipherment (INC-21).
func purposesOf(c *x509.Certificate) []string {
	var list []string
	if c.KeyUsage&x509.KeyUsageContentCommitment != 0 {
		list = append(list, store.AMQPSign)
	}
	if c.KeyUsage&(x509.KeyUsageDataEncipherment|x509.KeyUsageKeyEncipherment) != 0 {
		list = append(list, store.AMQPEncrypt)
	}
	return list
}

// checkEnterprise returns the reason why a certificate cannot be an enterprise certificate; empty when it can.
func checkEnterprise(c *x509.Certificate) i18n.Message {
	key, ok := c.PublicKey.(*rsa.PublicKey)
	switch {
	case c.IsCA:
		return i18n.M("amqp.certificate.authority", c.Subject.CommonName)
	case !ok:
		return i18n.M("amqp.certificate.not-rsa", c.Subject.CommonName)
	case key.N.BitLen() < leastRSABits:
		return i18n.M("amqp.certificate.short-key", c.Subject.CommonName, leastRSABits)
	case len(purposesOf(c)) == 0:
		return i18n.M("amqp.certificate.no-purpose", c.Subject.CommonName)
	}
	return ""
}
