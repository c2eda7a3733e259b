package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
)

// The settings that hold the key of checkpoints: the private half sealed by the vault, the public one as hex.
const (
	keySetting    = "audit_signing_key"
	publicSetting = "audit_public_key"
)

// keepAll sets how long every checkpoint is kept; of older ones a day keeps one.
const keepAll = 48 * time.Hour

// format names the form of a checkpoint, in its first line.
const format = "schakel-audit-checkpoint/1"

// Checkpoint states that the entry of a chain at Seq had this hash at a moment.
type Checkpoint struct {
	Kind, Chain string
	Seq         int64
	Hash        string
	At          time.Time
	Key         ed25519.PublicKey
}

// Chain signs checkpoints of the audit trail.
type Chain struct{ cfg registry.Config }

// New makes the service.
func New(cfg registry.Config) *Chain { return &Chain{cfg} }

// Sign makes a checkpoint of the chain as it is now, keeps it in the database and returns its text. A chain without entries has none:
// the text is empty then.
func (c *Chain) Sign(ctx context.Context) (text string, err error) {
	err = c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		head, err := tx.LockAuditHead(ctx)
		if err != nil || head.Seq == 0 {
			return err
		}
		text, err = c.sign(ctx, tx, Checkpoint{Kind: store.CheckpointOfHead, Chain: head.Chain, Seq: head.Seq, Hash: head.Hash, At: tx.Now.Time})
		if err != nil {
			return err
		}
		return tx.ThinAuditCheckpoints(ctx, store.At(tx.Now.Add(-keepAll)))
	})
	return text, registry.Wrap("sign checkpoint of the audit trail", err)
}

// SignNew is Sign when the chain grew since the last checkpoint; otherwise the text is empty.
func (c *Chain) SignNew(ctx context.Context) (string, error) {
	head, err := c.cfg.DB.AuditHead(ctx)
	if err != nil {
		return "", registry.Wrap("read head of the audit trail", err)
	}
	known, err := c.cfg.DB.AuditCheckpoints(ctx)
	if err != nil {
		return "", registry.Wrap("read checkpoints", err)
	}
	for _, k := range known {
		if k.Seq >= head.Seq {
			return "", nil
		}
	}
	return c.Sign(ctx)
}

// Prune is a step of retention: it removes old entries and signs which was the last of them.
func (c *Chain) Prune(tx *store.Tx, ctx context.Context, before store.Time, cursor string, limit int) (store.Pruned, error) {
	done, err := tx.PruneAudit(ctx, before, cursor, limit)
	if err != nil || done.Rows == 0 {
		return done, err
	}
	head, err := tx.LockAuditHead(ctx)
	if err != nil {
		return done, err
	}
	_, err = c.sign(ctx, tx, Checkpoint{Kind: store.CheckpointOfPruned, Chain: head.Chain, Seq: head.FloorSeq, Hash: head.FloorHash, At: tx.Now.Time})
	return done, errors.Join(err, tx.ThinAuditCheckpoints(ctx, store.At(tx.Now.Add(-keepAll))))
}

func (c *Chain) sign(ctx context.Context, tx *store.Tx, p Checkpoint) (string, error) {
	key, err := c.key(ctx, tx)
	if err != nil {
		return "", err
	}
	p.Key, _ = key.Public().(ed25519.PublicKey)
	signed := p.body()
	text := signed + "signature: " + base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(signed))) + "\n"
	return text, tx.InsertAuditCheckpoint(ctx, store.AuditCheckpoint{Kind: p.Kind, Seq: p.Seq, Text: text})
}

// key opens the key of checkpoints, and makes it the first time. The head of the chain is locked, so that two nodes do not make two.
func (c *Chain) key(ctx context.Context, tx *store.Tx) (ed25519.PrivateKey, error) {
	sealed, err := tx.Setting(ctx, keySetting)
	if err != nil {
		return nil, err
	}
	if sealed == "" {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		if sealed, err = c.cfg.Vault.SealKey(keySetting, private); err != nil {
			return nil, err
		}
		return private, errors.Join(tx.SetSetting(ctx, keySetting, sealed), tx.SetSetting(ctx, publicSetting, hex.EncodeToString(public)))
	}
	signer, err := c.cfg.Vault.OpenKey(keySetting, sealed)
	if err != nil {
		return nil, err
	}
	key, ok := signer.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the key of checkpoints is of another kind than Ed25519")
	}
	return key, nil
}

// body writes what is signed.
func (p Checkpoint) body() string {
	return fmt.Sprintf("%s\nkind: %s\nchain: %s\nseq: %d\nhash: %s\nat: %s\nkey: %s\n",
		format, p.Kind, p.Chain, p.Seq, p.Hash, p.At.UTC().Format(time.RFC3339), hex.EncodeToString(p.Key))
}

// ReadCheckpoint reads a checkpoint and checks its signature against the key that it names.
func ReadCheckpoint(text []byte) (Checkpoint, error) {
	text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\r\n"), []byte("\n")) // it may have come by mail
	at := bytes.LastIndex(text, []byte("signature: "))
	if at < 0 || !bytes.HasPrefix(text, []byte(format+"\n")) {
		return Checkpoint{}, errors.New("this is no checkpoint: its first line must be " + format + " and its last one a signature")
	}
	var p Checkpoint
	for line := range strings.Lines(string(text[len(format)+1 : at])) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch name {
		case "kind":
			p.Kind = value
		case "chain":
			p.Chain = value
		case "hash":
			p.Hash = value
		case "seq":
			p.Seq, err = strconv.ParseInt(value, 10, 64)
		case "at":
			p.At, err = time.Parse(time.RFC3339, value)
		case "key":
			p.Key, err = hex.DecodeString(value)
		}
		if err != nil {
			return p, fmt.Errorf("read checkpoint: %s: %w", name, err)
		}
	}
	signature, err := base64.StdEncoding.DecodeString(string(text[at+len("signature: "):]))
	if err != nil || len(p.Key) != ed25519.PublicKeySize || !ed25519.Verify(p.Key, text[:at], signature) {
		return p, errors.New("the signature of the checkpoint is wrong: it was changed, or cut off")
	}
	return p, nil
}
