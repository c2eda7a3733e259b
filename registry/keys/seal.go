package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// Unopened is a value that no key opens.
type Unopened struct {
	Column, Row string
	Err         error
}

// Error implements error.
func (u Unopened) Error() string {
	return fmt.Sprintf("%s of %s cannot be opened: %v", u.Column, u.Row, u.Err)
}

// sealAnew seals every value with the key in use that another one seals, or that is not sealed and ought to be. What cannot be opened stays,
// and is returned.
func (k *Keys) sealAnew(ctx context.Context) (done int64, unopened []Unopened, err error) {
	for _, c := range k.columns {
		n, bad, err := k.sealColumn(ctx, c)
		done, unopened = done+n, append(unopened, bad...)
		if err != nil {
			return done, unopened, err
		}
	}
	n, err := k.proveAnew(ctx)
	return done + n, unopened, err
}

func (k *Keys) sealColumn(ctx context.Context, c registry.SealedColumn) (done int64, unopened []Unopened, err error) {
	for after := ""; ; {
		rows, err := k.cfg.DB.SealedRows(ctx, query(c), k.cfg.Vault.ID(), after, listed)
		if err != nil {
			return done, unopened, err
		}
		var changed []store.SealedRow
		var values [][]byte
		for _, row := range rows {
			after = row.Key
			value, err := k.again(c, row)
			switch {
			case err != nil:
				unopened = append(unopened, Unopened{c.Table + "." + c.Column, row.Key, err})
			case !bytes.Equal(value, row.Value):
				changed, values = append(changed, row), append(values, value)
			}
		}
		n, err := k.swap(ctx, c, changed, values)
		done += n
		if err != nil || len(rows) < listed {
			return done, unopened, err
		}
	}
}

func (k *Keys) swap(ctx context.Context, c registry.SealedColumn, rows []store.SealedRow, values [][]byte) (done int64, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		done = 0
		for i, row := range rows {
			ok, err := tx.SwapSealed(ctx, query(c), row, values[i])
			if err != nil {
				return err
			}
			if ok { // otherwise somebody wrote it meanwhile, with the key in use
				done++
			}
		}
		return nil
	})
	return done, registry.Wrap("seal anew", err)
}

// again seals a value with the key in use.
func (k *Keys) again(c registry.SealedColumn, row store.SealedRow) ([]byte, error) {
	v, purpose, id := k.cfg.Vault, c.Purpose(row.Of), k.cfg.Vault.ID()
	switch {
	case c.Bytes:
		plain, err := v.OpenBytes(purpose, row.Value)
		if err != nil {
			return nil, err
		}
		return v.SealBytes(purpose, plain), nil
	case c.Old && !sealedText.Match(row.Value):
		return []byte(v.Seal(purpose, row.Value)), nil
	}
	var failed error
	value := sealedText.ReplaceAllFunc(row.Value, func(sealed []byte) []byte {
		if bytes.HasPrefix(sealed, []byte("v1."+id+".")) {
			return sealed
		}
		plain, err := v.Open(purpose, string(sealed))
		if err != nil {
			failed = errors.Join(failed, err)
			return sealed
		}
		return []byte(v.Seal(purpose, plain))
	})
	return value, failed
}

// proveAnew makes what is stored of recovery codes need the key in use.
func (k *Keys) proveAnew(ctx context.Context) (done int64, err error) {
	prefix := k.cfg.Vault.ProofPrefix()
	if prefix == "" {
		return 0, nil
	}
	for {
		rows, err := k.cfg.DB.RecoveryProofs(ctx, prefix, listed)
		if err != nil || len(rows) == 0 {
			return done, registry.Wrap("list recovery codes", err)
		}
		err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
			for _, row := range rows {
				if err := tx.SwapRecoveryProof(ctx, row, k.cfg.Vault.ProveAgain(row.Proof)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, registry.Wrap("prove recovery codes anew", err)
		}
		done += int64(len(rows))
	}
}

// SealOld seals what older versions stored without a seal, and counts it.
func (k *Keys) SealOld(ctx context.Context) (done int64, err error) {
	for _, c := range k.columns {
		if !c.Old {
			continue
		}
		n, _, err := k.sealColumn(ctx, c)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
