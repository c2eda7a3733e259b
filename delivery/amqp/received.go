package amqp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	goamqp "github.com/Azure/go-amqp"
)

// sealPurpose binds the seal of a message that waits for a person.
const sealPurpose = "amqp-message"

// sealedHead begins sealed bytes; an encoded AMQP message begins with a zero.
const sealedHead = 'b'

// preserve encodes a message as it was received, with every section and the AMQP type of each value, and seals it: its body may
// have come unencrypted, and who is in its properties is nobody's business. A section of the broker's that cannot be encoded is
// left out.
func (b *Bridge) preserve(m *goamqp.Message) ([]byte, error) {
	encoded, err := m.MarshalBinary()
	if err != nil {
		if encoded, err = bare(m).MarshalBinary(); err != nil {
			return nil, fmt.Errorf("encode message as it was received: %w", err)
		}
	}
	return b.cfg.Vault.SealBytes(sealPurpose, encoded), nil
}

// restore reads what preserve made. What an older program stored is not sealed.
func (b *Bridge) restore(stored []byte) (*goamqp.Message, error) {
	encoded := stored
	if bytes.HasPrefix(stored, []byte{sealedHead}) {
		var err error
		if encoded, err = b.cfg.Vault.OpenBytes(sealPurpose, stored); err != nil {
			return nil, err
		}
	}
	m := &goamqp.Message{}
	if err := m.UnmarshalBinary(encoded); err != nil {
		return nil, fmt.Errorf("read stored message: %w", err)
	}
	return m, nil
}

// contentDigest names the content of a message, however often a broker hands it out: the sections that it must not change (AMQP-02).
func contentDigest(m *goamqp.Message) string {
	h := sha256.New()
	if properties, err := (&goamqp.Message{Properties: m.Properties}).MarshalBinary(); err == nil {
		_, _ = h.Write(properties)
	}
	for _, name := range slices.Sorted(maps.Keys(m.ApplicationProperties)) {
		_, _ = fmt.Fprintf(h, "%q %T %v\n", name, m.ApplicationProperties[name], m.ApplicationProperties[name])
	}
	for _, section := range m.Data {
		_, _ = fmt.Fprintf(h, "%d\n", len(section))
		_, _ = h.Write(section)
	}
	_, _ = fmt.Fprintf(h, "%T %v %v", m.Value, m.Value, m.Sequence)
	return hex.EncodeToString(h.Sum(nil))
}
