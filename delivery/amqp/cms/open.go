package cms

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // #nosec G505 -- the default hash of RSA-OAEP, which parties use unless the operator refuses it
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/delivery/amqp/certs"
)

const maxRecipients = 64

// errUnreadable is the one cause of DecryptionFailed that depends on the key, whatever went wrong.
var errUnreadable = errors.New("the content could not be decrypted")

// Opened is a message without its envelope.
type Opened struct {
	Content   []byte            // what was encrypted: a signed message, if the sender signed
	Recipient *x509.Certificate // the certificate of ours that it was encrypted for
}

// Open is Limits.Open with the default limits.
func Open(body []byte, keys []Identity) (Opened, error) { return Limits{}.Open(body, keys) }

// Open decrypts body with the one of our keys that it was encrypted for, old or new (AMQP-64, AMQP-68). The error is a *Failure
// of the kinds InvalidCMS, UnknownRecipient or DecryptionFailed, or ErrKey when the identity that fits has no RSA key.
func (l Limits) Open(body []byte, keys []Identity) (Opened, error) {
	sealed, named, err := l.readEnvelope(body)
	if err != nil {
		return Opened{}, invalid(err)
	}
	recipients, err := readRecipients(named)
	if err != nil {
		return Opened{}, invalid(err)
	}
	for _, r := range recipients {
		i := slices.IndexFunc(keys, func(k Identity) bool { return k.Certificate != nil && r.id.fits(k.Certificate) })
		if i < 0 {
			continue
		}
		content, err := l.decrypt(sealed, r.keyTransport, keys[i].Key)
		if errors.Is(err, ErrKey) {
			return Opened{}, fmt.Errorf("open: %w", err)
		}
		if err != nil {
			return Opened{}, unreadable(keys[i].Certificate, err)
		}
		return Opened{Content: content, Recipient: keys[i].Certificate}, nil
	}
	return Opened{}, unknown(recipients, keys)
}

// readEnvelope reads an EnvelopedData or an AuthEnvelopedData: its content, and its recipients.
func (l Limits) readEnvelope(body []byte) (sealedContent, []asn1.RawValue, error) {
	outer, err := l.readOuter(body)
	if err != nil {
		return sealedContent{}, nil, err
	}
	switch {
	case outer.Type.Equal(oidEnvelopedData()):
		var data envelopedData
		err := unmarshal(outer.Content.Bytes, &data)
		return sealedContent{encryptedContent: data.Encrypted}, data.Recipients, err
	case outer.Type.Equal(oidAuthEnvelopedData()):
		var data authEnvelopedData
		err := unmarshal(outer.Content.Bytes, &data)
		return sealedContent{data.Encrypted, true, data.Attributes, data.MAC}, data.Recipients, err
	}
	return sealedContent{}, nil, fmt.Errorf("content type %s where an envelope is wanted", outer.Type)
}

// unreadable is a message for us that cannot be decrypted. The cause is about what stands in the clear, or errUnreadable.
func unreadable(ours *x509.Certificate, cause error) *Failure {
	thumbprint := certs.Thumbprint(ours)
	return &Failure{Kind: DecryptionFailed, Expected: thumbprint, Actual: thumbprint, err: cause}
}

func unknown(recipients []recipient, keys []Identity) *Failure {
	var ours []*x509.Certificate
	for _, k := range keys {
		if k.Certificate != nil {
			ours = append(ours, k.Certificate)
		}
	}
	var named []string
	for _, r := range recipients {
		named = append(named, r.id.String())
	}
	return &Failure{
		Kind: UnknownRecipient, Expected: thumbprints(ours), Actual: shorten(strings.Join(named, "; ")),
		err: errors.New("not encrypted for a certificate of ours"),
	}
}

type recipient struct {
	keyTransport

	id certificateID
}

// readRecipients gives those with an RSA key; other kinds cannot be ours.
func readRecipients(named []asn1.RawValue) ([]recipient, error) {
	if len(named) > maxRecipients {
		return nil, fmt.Errorf("%d recipients, more than %d", len(named), maxRecipients)
	}
	var out []recipient
	for _, raw := range named {
		if raw.FullBytes[0] != tagSequence {
			continue
		}
		var r recipient
		if err := unmarshal(raw.FullBytes, &r.keyTransport); err != nil {
			return nil, err
		}
		id, err := readCertificateID(r.Recipient)
		if err != nil {
			return nil, err
		}
		r.id = id
		out = append(out, r)
	}
	return out, nil
}

func oidOAEP() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 7} }

func oidMGF1() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8} }

func oidPSpecified() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 9} }

// maxLabel bounds the label of RSA-OAEP, in bytes.
const maxLabel = 1024

// oaepParameters are RSAES-OAEP-params of RFC 4055, 4.1.
type oaepParameters struct {
	Hash  pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:0"`
	Mask  pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:1"`
	Label pkix.AlgorithmIdentifier `asn1:"optional,explicit,tag:2"`
}

// keyOptions reads how a content key is encrypted: the options for the private key, and the names of the algorithms. A content
// key has size octets. Every error is about what stands in the clear.
func keyOptions(algorithm pkix.AlgorithmIdentifier, size int) (crypto.DecrypterOpts, []string, error) {
	switch {
	case algorithm.Algorithm.Equal(oidRSA()):
		//nolint:staticcheck // SA1019: most of the profile's parties write no other padding, and a wrong one is not reported
		return &rsa.PKCS1v15DecryptOptions{SessionKeyLen: size}, []string{KeyRSA}, nil
	case !algorithm.Algorithm.Equal(oidOAEP()):
		return nil, nil, unknownAlgorithm(algorithm.Algorithm.String() + " for the content key")
	}
	var p oaepParameters
	if raw := algorithm.Parameters.FullBytes; len(raw) > 0 && algorithm.Parameters.Tag != asn1.TagNull {
		if err := unmarshal(raw, &p); err != nil {
			return nil, nil, err
		}
	}
	hash, err := hashOf(p.Hash)
	if err != nil {
		return nil, nil, err
	}
	mask, err := maskOf(p.Mask)
	if err != nil {
		return nil, nil, err
	}
	label, err := labelOf(p.Label)
	if err != nil {
		return nil, nil, err
	}
	names := []string{KeyOAEP}
	if hash == crypto.SHA1 || mask == crypto.SHA1 {
		names = append(names, KeyOAEPSHA1)
	}
	return &rsa.OAEPOptions{Hash: hash, MGFHash: mask, Label: label}, names, nil
}

// hashOf reads a hash algorithm; without one it is SHA-1, as RFC 4055 says.
func hashOf(a pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	switch a.Algorithm.String() {
	case "", "1.3.14.3.2.26":
		return crypto.SHA1, nil
	case "2.16.840.1.101.3.4.2.1":
		return crypto.SHA256, nil
	case "2.16.840.1.101.3.4.2.2":
		return crypto.SHA384, nil
	case "2.16.840.1.101.3.4.2.3":
		return crypto.SHA512, nil
	}
	return 0, unknownAlgorithm("with hash " + a.Algorithm.String())
}

// maskOf reads the hash of a mask generation function; without one it is MGF1 with SHA-1.
func maskOf(a pkix.AlgorithmIdentifier) (crypto.Hash, error) {
	if len(a.Algorithm) == 0 {
		return crypto.SHA1, nil
	}
	if !a.Algorithm.Equal(oidMGF1()) {
		return 0, unknownAlgorithm("with mask generation function " + a.Algorithm.String())
	}
	var inner pkix.AlgorithmIdentifier
	if err := unmarshal(a.Parameters.FullBytes, &inner); err != nil {
		return 0, err
	}
	return hashOf(inner)
}

func labelOf(a pkix.AlgorithmIdentifier) ([]byte, error) {
	if len(a.Algorithm) == 0 {
		return nil, nil
	}
	if !a.Algorithm.Equal(oidPSpecified()) {
		return nil, unknownAlgorithm("with label " + a.Algorithm.String())
	}
	var label []byte
	if err := unmarshal(a.Parameters.FullBytes, &label); err != nil {
		return nil, err
	}
	if len(label) > maxLabel {
		return nil, errors.New("the label of RSA-OAEP is too long")
	}
	return label, nil
}

// contentKey decrypts the content key. One with a wrong padding or of another size is replaced by a random one and used, so
// that nothing that follows tells them apart. The error is ErrKey alone.
func contentKey(sent []byte, key crypto.PrivateKey, options crypto.DecrypterOpts, size int) ([]byte, error) {
	decrypter, ok := key.(crypto.Decrypter)
	if !ok {
		return nil, ErrKey
	}
	if _, ok := decrypter.Public().(*rsa.PublicKey); !ok {
		return nil, ErrKey
	}
	secret, err := decrypter.Decrypt(rand.Reader, sent, options)
	if err != nil || len(secret) != size {
		secret = make([]byte, size)
		rand.Read(secret) // it never fails
	}
	return secret, nil
}
