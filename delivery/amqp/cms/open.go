package cms

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/delivery/amqp/certs"
)

// maxRecipients limits the recipients of a message.
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

// Open decrypts body with the one of our keys that it was encrypted for, old or
// new (AMQP-64, AMQP-68). The error is a *Failure of the kinds InvalidCMS,
// UnknownRecipient or DecryptionFailed, or ErrKey when the identity that fits
// has no RSA key.
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

// recipient is one for whom the content key was encrypted.
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
