package amqp

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// AddCertificates adds the certificates in a PEM text to a party, each for what its key usage allows; those of authorities
// go with the one before. Of an own party keys holds the private keys. It counts the new ones. Fields: certificates,
// privateKeys.
func (a *AMQP) AddCertificates(ctx context.Context, actor registry.Actor, partyID, certificates, keys string) (int, error) {
	added := 0
	_, err := a.changeParty(ctx, actor, partyID, func(tx *store.Tx, row *store.AMQPParty) error {
		if row.Kind != store.AMQPHealth {
			return registry.Conflict("A party in CloudEvents signs and encrypts nothing, so it has no certificates.")
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
		wrong.Add("certificates", registry.AsSentence(err.Error()))
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
	if !own && keys != "" {
		wrong.Add("privateKeys", "A private key is its owner's alone. Paste the certificates only.")
	}
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
				return 0, registry.Invalid(registry.Problems{"certificates": "A party has at most 20 certificates. Remove those that are not used any more."})
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
	_, err := a.changeParty(ctx, actor, partyID, func(tx *store.Tx, p *store.AMQPParty) error {
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
