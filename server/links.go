package main

import (
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"schakel/registry/installation"
	"schakel/store/pipe"
)

// links finds the connections to other machines that are not protected by TLS with a certificate that is held against the name of the host.
func (e *examiner) links(ctx context.Context) []installation.Link {
	list := databaseLink(e.flags.Database)
	if f := e.flags.MailFlags; f.SMTPHost != "" && f.SMTPTLS == "none" && !localHost(f.SMTPHost) {
		list = append(list, installation.Link{Kind: installation.LinkMail, To: f.SMTPHost})
	}
	if e.db == nil {
		return list
	}
	brokers, err := e.db.AMQPBrokers(ctx)
	if err != nil {
		return list // the check of the database says so
	}
	for _, b := range brokers {
		if u, err := url.Parse(b.URL); err == nil && b.Enabled && u.Scheme == "amqp" && !localHost(u.Hostname()) {
			list = append(list, installation.Link{Kind: installation.LinkBroker, To: b.Name})
		}
	}
	return list
}

// databaseLink judges the connections to a PostgreSQL, through a pooler and past it, as its driver reads the address, with the variables
// of the environment.
func databaseLink(database string) []installation.Link {
	if !strings.HasPrefix(database, "postgres") {
		return nil
	}
	at, err := pipe.ParseAddress(database)
	if err != nil {
		return nil
	}
	found := linkTo(at.Pool)
	if at.Pooler {
		found = append(found, linkTo(at.Direct)...)
	}
	return found
}

func linkTo(database string) []installation.Link {
	cfg, err := pgx.ParseConfig(database)
	if err != nil || localHost(cfg.Host) {
		return nil
	}
	l := installation.Link{Kind: installation.LinkDatabase, To: cfg.Host, Encrypted: cfg.TLSConfig != nil}
	for _, other := range cfg.Fallbacks {
		l.Encrypted = l.Encrypted && other.TLSConfig != nil // sslmode=prefer goes on without
	}
	if cfg.TLSConfig != nil && !cfg.TLSConfig.InsecureSkipVerify && l.Encrypted {
		return nil
	}
	return []installation.Link{l}
}

// localHost reports whether a host is this machine, or a socket on it.
func localHost(host string) bool {
	return strings.HasPrefix(host, "/") || installation.Local("tcp://"+net.JoinHostPort(host, "1"))
}
