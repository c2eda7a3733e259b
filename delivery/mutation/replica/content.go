package replica

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// headBytes bounds the part of a file that is looked at before it is known whether the copy may have it already, in bytes.
const headBytes = 64 << 10

// content reads a file and hashes its bytes, which distinguish it from others: deliveries of several registers share a delivery id
// (leveringsId).
type content struct {
	io.Closer
	in   io.Reader
	sum  hash.Hash
	head string // SHA-256 of the first headBytes, hexadecimal
}

// newContent looks at the head of a file.
func newContent(body io.ReadCloser) (*content, error) {
	in := bufio.NewReaderSize(body, headBytes)
	head, err := in.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the head of a file: %w", err)
	}
	sum := sha256.Sum256(head)
	c := &content{Closer: body, sum: sha256.New(), head: hex.EncodeToString(sum[:])}
	c.in = io.TeeReader(in, c.sum)
	return c, nil
}

// Read reads on.
func (c *content) Read(p []byte) (int, error) { return c.in.Read(p) }

// whole reads what is left, and gives the SHA-256 of all bytes, hexadecimal.
func (c *content) whole() (string, error) {
	if _, err := io.Copy(io.Discard, c.in); err != nil {
		return "", fmt.Errorf("read the rest of a file: %w", err)
	}
	return hex.EncodeToString(c.sum.Sum(nil)), nil
}

// errAgain is met when a file was read to its end to tell it from another one, and must be opened again to be applied.
var errAgain = errors.New("the file must be opened again")

// applied reports whether a delivery is in the copy, and why it is passed over then. One of a file is when its bytes were applied;
// of deliveries that came otherwise, or were applied before bytes were remembered, the id decides.
func (f *Follower) applied(ctx context.Context, d *Delivery) (why string, err error) {
	var sums []string
	byID := false
	err = f.db.inTx(ctx, func(t *transaction) error {
		var one int
		if byID, err = t.get(`SELECT 1 FROM follow_delivery WHERE copy = ? AND id = ? AND head = ''`, []any{f.copy.Name, d.ID}, &one); err != nil || d.content == nil {
			return err
		}
		return t.each(`SELECT id FROM follow_delivery WHERE copy = ? AND head = ?`, []any{f.copy.Name, d.content.head}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			sums = append(sums, id)
			return err
		})
	})
	switch {
	case err != nil:
		return "", err
	case byID && d.content != nil:
		return "the copy has a delivery with the id " + short(d.ID) + ", of which no bytes were remembered; make the copy anew to be sure of it (--anew)", nil
	case byID:
		return "the copy has it", nil
	case len(sums) == 0 || d.other:
		return "", nil
	}
	sum, err := d.content.whole()
	if err != nil {
		return "", err
	}
	for _, id := range sums {
		if id == contentID(sum) {
			return "the copy has these bytes", nil
		}
	}
	return "", errAgain
}

// contentID identifies a remembered file by its content.
func contentID(sum string) string { return "sha256:" + sum }
