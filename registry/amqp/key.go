package amqp

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"schakel/store"
)

// KeyPair is a certificate of an own party for one purpose, with its private key.
type KeyPair struct {
	Purpose     string // store.AMQPSign or store.AMQPEncrypt
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
	Key         crypto.PrivateKey
}

// OwnKeys opens the keys of an own party, those of the newest certificate first (AMQP-64). Expired ones are among them:
// what was encrypted for one can still be read.
func (a *AMQP) OwnKeys(ctx context.Context, partyID string) ([]KeyPair, error) {
	rows, err := a.cfg.DB.AMQPCertificates(ctx, partyID)
	if err != nil {
		return nil, fmt.Errorf("list own certificates: %w", err)
	}
	var pairs []KeyPair
	for _, row := range rows {
		if row.PrivateKey == "" {
			continue
		}
		pair, err := a.openPair(row)
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", row.ID, err)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

func (a *AMQP) openPair(row store.AMQPCertificate) (KeyPair, error) {
	c, err := storedChain(row.Certificate)
	if err != nil {
		return KeyPair{}, err
	}
	key, err := a.cfg.Vault.OpenKey(partyKeyPurpose(row.Thumbprint), row.PrivateKey)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{row.Purpose, c.leaf, c.chain, key}, nil
}

// partyKeyPurpose ties a sealed key to its certificate, so that two cannot be swapped.
func partyKeyPurpose(thumbprint string) string { return "amqp-party-key:" + thumbprint }

// Purposes that the secrets of brokers are sealed for.
const (
	brokerPasswordPurpose = "amqp-broker-password"
	brokerKeyPurpose      = "amqp-broker-key"
)

// BrokerSecrets opens what a connection to a broker needs: the password, our certificate, and whom we trust. What is not
// used is empty or nil; no pool stands for that of the system.
func (a *AMQP) BrokerSecrets(_ context.Context, b store.AMQPBroker) (password string, client *tls.Certificate, ca *x509.CertPool, err error) {
	if b.Secret != "" {
		plain, err := a.cfg.Vault.Open(brokerPasswordPurpose, b.Secret)
		if err != nil {
			return "", nil, nil, fmt.Errorf("password of broker %s: %w", b.Name, err)
		}
		password = string(plain)
	}
	if b.Certificate != "" && b.PrivateKey != "" {
		if client, err = a.brokerCertificate(b); err != nil {
			return "", nil, nil, fmt.Errorf("certificate for broker %s: %w", b.Name, err)
		}
	}
	if b.CA != "" {
		ca = x509.NewCertPool()
		if !ca.AppendCertsFromPEM([]byte(b.CA)) {
			return "", nil, nil, fmt.Errorf("authorities of broker %s: no certificate in PEM", b.Name)
		}
	}
	return password, client, ca, nil
}

func (a *AMQP) brokerCertificate(b store.AMQPBroker) (*tls.Certificate, error) {
	c, err := storedChain(b.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := a.cfg.Vault.OpenKey(brokerKeyPurpose, b.PrivateKey)
	if err != nil {
		return nil, err
	}
	client := &tls.Certificate{Certificate: [][]byte{c.leaf.Raw}, PrivateKey: key, Leaf: c.leaf}
	for _, one := range c.chain {
		client.Certificate = append(client.Certificate, one.Raw)
	}
	return client, nil
}

// storedChain reads a certificate with its chain, as writeChain wrote it.
func storedChain(text string) (certificateChain, error) {
	list, err := readCertificates(text)
	if err != nil {
		return certificateChain{}, err
	}
	if len(list) != 1 {
		return certificateChain{}, fmt.Errorf("%d certificates where one belongs", len(list))
	}
	return list[0], nil
}
