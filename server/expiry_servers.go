package main

import (
	"context"
	"crypto/x509"
	"net/url"
	"strings"
	"time"

	"schakel/delivery/jwe"
	"schakel/delivery/outbound"
	"schakel/registry/installation"
	"schakel/store"
	"schakel/templates/i18n"
)

// receiverEnds lists the keys that data is encrypted with, the certificates in keys that this node read, and the certificates that endpoints, their
// token endpoints and the hosts of keys showed to it: a host that it did not connect to since it started is not among them.
func (e *examiner) receiverEnds(ctx context.Context) (list []installation.Expiry) {
	if e.db == nil {
		return nil
	}
	encrypted, err := e.db.SubscriptionsEncrypted(ctx)
	if err != nil {
		return nil // the database is a check of its own
	}
	of := func(row store.KeptKeys, pages string, one installation.Expiry) installation.Expiry {
		one.ID, one.Severe, one.Href, one.PartnerHref = row.ID, true, "/admin/"+pages+row.ID, "/partner/"+pages+row.ID
		if !row.Own {
			one.PartnerID = row.PartnerID
		}
		return one
	}
	var hosts []store.KeptKeys // whose keys are behind an address
	for _, row := range encrypted {
		one := of(row, "subscriptions/", installation.Expiry{
			Kind: installation.ExpiryRecipient, What: i18n.M("installation.expiry.recipient", row.Name, row.Owner), Remedy: "installation.expiry.recipient-remedy",
		})
		if jwe.IsAddress(row.Keys) {
			one.Kind = installation.ExpiryKeySet
			hosts = append(hosts, row)
		}
		if one.Until = lastEnd(e.encrypter.Keys(row.Keys)); !one.Until.IsZero() {
			list = append(list, one)
		}
	}
	receiver := func(r store.KeptKeys) i18n.Message { return i18n.M("installation.expiry.receiver", r.Name, r.Owner) }
	tokens := func(r store.KeptKeys) i18n.Message {
		return i18n.M("installation.expiry.token-endpoint", r.Name, r.Owner)
	}
	keys := func(r store.KeptKeys) i18n.Message {
		return i18n.M("installation.expiry.client-key-address", r.Name, r.Owner)
	}
	keySets := func(r store.KeptKeys) i18n.Message {
		return i18n.M("installation.expiry.key-set-host", r.Name, r.Owner)
	}
	told := map[string]bool{} // a receiver that gives the tokens too is told of once
	for _, host := range []struct {
		read        func(context.Context) ([]store.KeptKeys, error)
		kind, pages string
		what        func(store.KeptKeys) i18n.Message
		remedy      i18n.Message
	}{
		{e.db.EndpointAddresses, installation.ExpiryReceiver, "endpoints/", receiver, "installation.expiry.receiver-remedy"},
		{e.db.TokenAddresses, installation.ExpiryToken, "endpoints/", tokens, "installation.expiry.receiver-remedy"},
		{e.db.KeyAddresses, installation.ExpiryKeyHost, "clients/", keys, "installation.expiry.client-key-address-remedy"},
		{func(context.Context) ([]store.KeptKeys, error) { return hosts, nil }, installation.ExpiryKeySetHost, "subscriptions/", keySets, "installation.expiry.client-key-address-remedy"},
	} {
		rows, _ := host.read(ctx) // the database is a check of its own
		for _, row := range rows {
			u, err := url.Parse(row.Keys)
			if err != nil {
				continue
			}
			if c := e.lastCertificate(host.kind, row.Keys); c != nil {
				list = append(list, of(row, host.pages, installation.Expiry{
					Kind: installation.ExpiryClientKeySet, What: i18n.M("installation.expiry.client-key-set", row.Name, row.Owner), From: c.NotBefore, Until: c.NotAfter,
					Remedy: "installation.expiry.client-key-set-remedy",
				}))
			}
			if told[row.ID+" "+u.Hostname()] {
				continue
			}
			if seen, is := e.client.Certificate(u.Hostname()); is {
				told[row.ID+" "+u.Hostname()] = true
				list = append(list, of(row, host.pages, installation.Expiry{
					Kind: host.kind, What: host.what(row), From: seen.From, Until: seen.Until, Remedy: host.remedy,
				}))
			}
		}
	}
	return list
}

// lastCertificate is the last of the certificates in the keys behind an address of a client; nil without one, and for addresses of another kind.
func (e *examiner) lastCertificate(kind, uri string) *x509.Certificate {
	if kind != installation.ExpiryKeyHost || e.issuer == nil {
		return nil
	}
	return e.issuer.LastCertificate(uri)
}

// lastEnd is the moment after which none of the keys is left; zero when one has no end.
func lastEnd(keys []jwe.Key) (until time.Time) {
	for _, k := range keys {
		if k.Expires.IsZero() {
			return time.Time{}
		}
		if k.Expires.After(until) {
			until = k.Expires
		}
	}
	return until
}

// serverEnds lists the certificates that the other servers which this installation needs showed to this node. A host with several tasks is told of
// once.
func (e *examiner) serverEnds(ctx context.Context) (list []installation.Expiry) {
	add := func(kind, id, href string, what i18n.Message, severe bool, seen outbound.Validity) {
		list = append(list, installation.Expiry{
			Kind: kind, ID: id, What: what, From: seen.From, Until: seen.Until, Severe: severe, Remedy: "installation.expiry.server-remedy", Href: href,
		})
	}
	servers := e.flags.Servers
	told := map[string]bool{} // hosts that requests go to
	for _, of := range []struct {
		kind, what string
		severe     bool
	}{
		{installation.ExpiryProvider, "installation.expiry.provider", true},
		{installation.ExpiryMandates, "installation.expiry.mandates", true},
		{installation.ExpiryOINRegister, "installation.expiry.oin-register", false},
		{installation.ExpiryRevocation, "installation.expiry.revocation", true},
		{installation.ExpiryMailServer, "installation.expiry.mail-server", true},
		{installation.ExpirySyslog, "installation.expiry.syslog-server", true},
		{installation.ExpiryTraces, "installation.expiry.trace-collector", false},
		{installation.ExpiryDatabaseServer, "installation.expiry.database-server", true},
	} {
		for _, id := range servers.Of(of.kind) {
			if told[id] {
				continue
			}
			told[id] = true
			seen, _ := servers.Last(of.kind, id)
			add(of.kind, id, "", i18n.M(of.what, id), of.severe, seen)
		}
	}
	hosts := func(kind, what, owner, name, href string, severe bool, addresses []string) {
		for _, address := range addresses {
			u, err := url.Parse(address[strings.LastIndexByte(address, ' ')+1:]) // an id may stand before it
			if err != nil || u.Scheme != "https" || told[u.Host] || told[owner+" "+u.Host] {
				continue
			}
			if seen, is := e.client.Certificate(u.Hostname()); is {
				told[owner+" "+u.Host] = true
				add(kind, owner+" "+u.Host, href, i18n.M(what, name, u.Host), severe, seen)
			}
		}
	}
	if e.issuer != nil {
		e.issuer.EachAddress(func(id string, addresses []string) {
			hosts(installation.ExpiryTokenIssuer, "installation.expiry.token-issuer", id, id, "", true, addresses)
		})
	}
	if e.db == nil {
		return list
	}
	mirrors, _ := e.db.MirrorSources(ctx) // the database is a check of its own
	for _, m := range mirrors {
		if m.Enabled {
			hosts(installation.ExpiryMirror, "installation.expiry.mirror", m.ID, m.Name, "/admin/mirrors/"+m.ID, false, append(m.URLs, m.URL))
		}
	}
	brokers, _ := e.db.AMQPBrokers(ctx)
	for _, b := range brokers {
		if seen, is := servers.Last(installation.ExpiryBrokerServer, b.ID); is && b.Enabled {
			add(installation.ExpiryBrokerServer, b.ID, "/admin/amqp/brokers/"+b.ID, i18n.M("installation.expiry.amqp-broker-server", b.Name), true, seen)
		}
	}
	return list
}
