package registry

import (
	"bytes"
	"errors"
	"fmt"
)

// SealBytes is [Vault.Seal] for what is large and stored as bytes, without the third that base64 adds.
func (v *Vault) SealBytes(purpose string, plain []byte) []byte {
	head := []byte("b1." + v.id + ".")
	return v.aead.Seal(head, nil, plain, []byte(purpose))
}

// OpenBytes decrypts what SealBytes made for the same purpose. It answers ErrWrongKey for what another key sealed.
func (v *Vault) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte("b1."))
	id, raw, there := bytes.Cut(rest, []byte("."))
	if !ok || !there {
		return nil, errors.New("open sealed bytes: they are not sealed")
	}
	if string(id) != v.id {
		return nil, fmt.Errorf("open sealed bytes: %w", ErrWrongKey)
	}
	plain, err := v.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errors.New("open sealed bytes: they were damaged, or sealed for something else")
	}
	return plain, nil
}
