package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"filippo.io/age"
)

// ageHeader begins a file in the age format, version 1.
const ageHeader = "age-encryption.org/v1\n"

// ErrEncrypted is returned for an encrypted backup that is to be read without an identity.
var ErrEncrypted = errors.New("the backup is encrypted: give the age identity of one of those it was made for")

// ErrNoIdentity is returned for an encrypted backup that no identity given opens.
var ErrNoIdentity = errors.New("none of these age identities opens the backup: give the one of a recipient it was made for")

// Recipients reads for whom a backup is encrypted: each name is an age recipient (age1…), or a file with one a line.
func Recipients(names []string) (all []age.Recipient, err error) {
	for _, name := range names {
		text := []byte(name)
		if !strings.HasPrefix(name, "age1") {
			if text, err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("%q is no age recipient (age1…), and no file with them: %w", name, err)
			}
		}
		found, err := age.ParseRecipients(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("age recipient %q: %w", name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Encrypt returns a writer that encrypts for recipients what is written to it, in the age format and as a stream; it must be closed. Without
// recipients nothing is encrypted.
func Encrypt(w io.Writer, recipients []age.Recipient) (io.WriteCloser, error) {
	if len(recipients) == 0 {
		return plain{w}, nil
	}
	to, err := age.Encrypt(w, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt backup: %w", err)
	}
	return to, nil
}

type plain struct{ io.Writer }

// Close implements io.Closer.
func (plain) Close() error { return nil }

// Decrypt returns a backup of size bytes as it was before it was encrypted, and its size then, without writing it anywhere. One that is not
// encrypted it returns as it is. identities is the text of a file with age identities; it may be empty.
func Decrypt(r io.ReaderAt, size int64, identities []byte) (io.ReaderAt, int64, error) {
	head := make([]byte, len(ageHeader))
	if n, _ := r.ReadAt(head, 0); string(head[:n]) != ageHeader {
		return r, size, nil
	}
	if len(bytes.TrimSpace(identities)) == 0 {
		return nil, 0, ErrEncrypted
	}
	known, err := age.ParseIdentities(bytes.NewReader(identities))
	if err != nil {
		return nil, 0, fmt.Errorf("read age identities: %w", err)
	}
	opened, size, err := age.DecryptReaderAt(r, size, known...)
	switch other := (*age.NoIdentityMatchError)(nil); {
	case errors.As(err, &other):
		return nil, 0, ErrNoIdentity
	case err != nil:
		return nil, 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return decrypted{opened}, size, nil
}

// decrypted tells damage for what it is.
type decrypted struct{ r io.ReaderAt }

// ReadAt implements io.ReaderAt.
func (d decrypted) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.r.ReadAt(p, at)
	if err != nil && !slices.Contains([]error{io.EOF, io.ErrUnexpectedEOF}, err) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}
