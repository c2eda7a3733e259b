package installation

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// storedEnds reads the certificates and keys that the database has, and that end. What others no longer use is left out a while after its end.
func storedEnds(ctx context.Context, q *store.Queries, now time.Time) (list []Expiry, err error) {
	after := store.At(now.Add(-expiryForgotten))
	for _, read := range []func() ([]Expiry, error){
		func() ([]Expiry, error) { return partyEnds(ctx, q) },
		func() ([]Expiry, error) { return brokerEnds(ctx, q) },
		func() ([]Expiry, error) { return clientEnds(ctx, q, after) },
		func() ([]Expiry, error) { return clientKeyEnds(ctx, q, after) },
		func() ([]Expiry, error) { return readKeyEnds(ctx, q, after) },
		func() ([]Expiry, error) { return signKeyEnds(ctx, q, now) },
		func() ([]Expiry, error) { return endpointEnds(ctx, q) },
		func() ([]Expiry, error) { return assertionEnds(ctx, q) },
	} {
		some, err := read()
		if err != nil {
			return nil, registry.Wrap("list what ends", err)
		}
		list = append(list, some...)
	}
	return list, nil
}

// theirs is the id of a partner, whose people are told; empty for the own organisation.
func theirs(partnerID string, own bool) string {
	if own {
		return ""
	}
	return partnerID
}

func partyEnds(ctx context.Context, q *store.Queries) (list []Expiry, err error) {
	rows, err := q.ExpiringParties(ctx)
	for _, row := range rows {
		party, _, _ := strings.Cut(row.ID, ":")
		e := Expiry{
			Kind: ExpiryParty, ID: row.ID, What: i18n.M("installation.expiry.amqp-party", row.Owner, row.Name), From: row.From.Time, Until: row.Until.Time,
			PartnerID: theirs(row.PartnerID, row.Own), Severe: true, Remedy: "installation.certificate.party-remedy", Href: "/admin/amqp/parties/" + party,
		}
		if !row.Own {
			e.Remedy, e.PartnerHref = "installation.certificate.theirs-remedy", "/partner/amqp/parties/"+party
		}
		list = append(list, e)
	}
	return list, err
}

func brokerEnds(ctx context.Context, q *store.Queries) (list []Expiry, err error) {
	brokers, err := q.AMQPBrokers(ctx)
	for _, b := range brokers {
		if !b.Enabled {
			continue
		}
		href := "/admin/amqp/brokers/" + b.ID
		for i, c := range CertificatesIn([]byte(b.Certificate)) {
			if i > 0 && c.IsCA {
				continue // the broker has that
			}
			list = append(list, Expiry{
				Kind: ExpiryBroker, ID: b.ID, What: i18n.M("installation.expiry.amqp-broker", b.Name), From: c.NotBefore, Until: c.NotAfter, Severe: true,
				Remedy: "installation.expiry.amqp-broker-remedy", Href: href,
			})
		}
		for _, c := range CertificatesIn([]byte(b.CA)) {
			list = append(list, Expiry{
				Kind: ExpiryBrokerCA, ID: b.ID + ":" + Fingerprint(c), What: i18n.M("installation.expiry.amqp-broker-ca", c.Subject.String(), b.Name), From: c.NotBefore, Until: c.NotAfter,
				Remedy: "installation.expiry.amqp-broker-ca-remedy", Href: href,
			})
		}
	}
	return list, err
}

func clientEnds(ctx context.Context, q *store.Queries, after store.Time) (list []Expiry, err error) {
	rows, err := q.ExpiringClients(ctx, after)
	for _, row := range rows {
		list = append(list, Expiry{
			Kind: ExpiryClient, ID: row.ID, What: i18n.M("installation.expiry.client", row.Name, row.Owner), Until: row.Until.Time, PartnerID: theirs(row.PartnerID, row.Own),
			Remedy: "installation.expiry.client-remedy", Href: "/admin/clients/" + row.ID, PartnerHref: "/partner/clients/" + row.ID,
		})
	}
	return list, err
}

// clientKeyEnds reads the certificates in registered keys. The newest certificate counts of a key with the same id.
func clientKeyEnds(ctx context.Context, q *store.Queries, after store.Time) (list []Expiry, err error) {
	rows, err := q.ClientsWithCertificates(ctx)
	for _, row := range rows {
		var set struct {
			Keys []struct {
				KID string   `json:"kid"`
				X5C []string `json:"x5c"`
			} `json:"keys"`
		}
		if json.Unmarshal([]byte(row.Keys), &set) != nil {
			continue // what registers keys judges them
		}
		for _, key := range set.Keys {
			if len(key.X5C) == 0 {
				continue
			}
			der, _ := base64.StdEncoding.DecodeString(key.X5C[0])
			c, err := x509.ParseCertificate(der)
			if err != nil || !c.NotAfter.After(after.Time) {
				continue
			}
			list = append(list, Expiry{
				Kind: ExpiryClientKey, ID: row.ID + ":" + Fingerprint(c), What: i18n.M("installation.expiry.client-key", key.KID, row.Name, row.Owner), From: c.NotBefore, Until: c.NotAfter,
				PartnerID: theirs(row.PartnerID, row.Own), Remedy: "installation.expiry.client-key-remedy", Href: "/admin/clients/" + row.ID, PartnerHref: "/partner/clients/" + row.ID,
			})
		}
	}
	return list, err
}

func readKeyEnds(ctx context.Context, q *store.Queries, after store.Time) (list []Expiry, err error) {
	rows, err := q.ExpiringReadKeys(ctx, after)
	for _, row := range rows {
		list = append(list, Expiry{
			Kind: ExpiryReadKey, ID: row.ID, What: i18n.M("installation.expiry.read-key", row.Name, row.Owner), From: row.From.Time, Until: row.Until.Time, PartnerID: theirs(row.PartnerID, row.Own),
			Remedy: "installation.expiry.read-key-remedy", Href: "/admin/partners/" + row.PartnerID + "/keys", PartnerHref: "/partner/keys",
		})
	}
	return list, err
}

// signKeyEnds reads the keys that sign beside a newer one. Those that have retired do nothing any more: that is no trouble.
func signKeyEnds(ctx context.Context, q *store.Queries, now time.Time) (list []Expiry, err error) {
	rows, err := q.EndpointsWithEndingKeys(ctx)
	for _, row := range rows {
		var keys []struct {
			ID        string     `json:"id"`
			CreatedAt store.Time `json:"createdAt"`
			RetiresAt store.Time `json:"retiresAt"`
		}
		if json.Unmarshal([]byte(row.Keys), &keys) != nil {
			continue // the engine tells that it cannot sign
		}
		for _, key := range keys {
			if key.RetiresAt.IsZero() || !now.Before(key.RetiresAt.Time) {
				continue
			}
			list = append(list, Expiry{
				Kind: ExpirySignKey, ID: row.ID + ":" + key.ID, What: i18n.M("installation.expiry.endpoint-signing", key.ID, row.Name, row.Owner), From: key.RetiresAt.Add(-shortLived), Until: key.RetiresAt.Time,
				PartnerID: theirs(row.PartnerID, row.Own), Remedy: "installation.expiry.endpoint-signing-remedy", Href: "/admin/endpoints/" + row.ID, PartnerHref: "/partner/endpoints/" + row.ID,
			})
		}
	}
	return list, err
}

// endpointEnds reads the client certificates that endpoints are shown: of each the last to end, so that one which was renewed is over.
func endpointEnds(ctx context.Context, q *store.Queries) (list []Expiry, err error) {
	rows, err := q.EndpointsWithCertificates(ctx)
	for _, row := range rows {
		var certificates []struct {
			NotBefore store.Time `json:"notBefore"`
			NotAfter  store.Time `json:"notAfter"`
		}
		if json.Unmarshal([]byte(row.Keys), &certificates) != nil || len(certificates) == 0 {
			continue // the engine tells that it cannot prove who it is
		}
		last := certificates[0]
		for _, c := range certificates {
			if c.NotAfter.After(last.NotAfter.Time) {
				last = c
			}
		}
		list = append(list, Expiry{
			Kind: ExpiryEndpoint, ID: row.ID, What: i18n.M("installation.expiry.endpoint-certificate", row.Name, row.Owner), From: last.NotBefore.Time, Until: last.NotAfter.Time,
			PartnerID: theirs(row.PartnerID, row.Own), Severe: true, Remedy: "installation.expiry.endpoint-certificate-remedy", Href: "/admin/endpoints/" + row.ID, PartnerHref: "/partner/endpoints/" + row.ID,
		})
	}
	return list, err
}

// assertionEnds reads the certificate of the key that signs our client assertions, or will.
func assertionEnds(ctx context.Context, q *store.Queries) (list []Expiry, err error) {
	rows, err := q.AssertionKeys(ctx)
	for _, row := range rows {
		id := "assertion"
		if !row.RetiredAt.IsZero() {
			if row.RetiredAt.Before(row.NotAfter.Time) {
				continue // another takes its place before its certificate ends
			}
			id += ":" + row.ID
		}
		list = append(list, Expiry{
			Kind: ExpiryAssertion, ID: id, What: i18n.M("installation.expiry.assertion-key", row.ID), Until: row.NotAfter.Time, Severe: true,
			Remedy: "installation.expiry.assertion-key-remedy", Href: "/docs/certificates",
		})
	}
	return list, err
}

// CertificatesIn reads the certificates in a PEM text, and passes over all else.
func CertificatesIn(text []byte) (list []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// Fingerprint names a certificate: the first half of its SHA-256, in hex.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:16])
}
