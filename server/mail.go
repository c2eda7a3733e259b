package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	"schakel/delivery/outbound"
	"schakel/registry"
	"schakel/registry/installation"
	"schakel/registry/mail"
	"schakel/server/cli"
)

// CheckFlags checks what flags cannot say one by one.
func (f MailFlags) CheckFlags() error {
	switch {
	case f.SMTPHost != "" && f.SMTPFrom == "":
		return errors.New("--smtp-from is required with --smtp-host")
	case (f.SMTPCertificate == "") != (f.SMTPKey == ""):
		return errors.New("--smtp-certificate and --smtp-key go together")
	case f.SMTPTLS == "none" && (f.SMTPCertificate != "" || f.SMTPCA != ""):
		return errors.New("--smtp-certificate and --smtp-ca do nothing with --smtp-tls=none: choose starttls or implicit")
	}
	return nil
}

// newMailer sends the mails that wait; without a mail server they stay where the portal shows them.
func newMailer(cfg registry.Config, f MailFlags, servers *outbound.Servers) (*mail.Mailer, error) {
	if f.SMTPHost == "" {
		return mail.NewMailer(cfg, nil), nil
	}
	sender, err := f.sender(servers)
	if err != nil {
		return nil, fmt.Errorf("mail server: %w", err)
	}
	return mail.NewMailer(cfg, sender), nil
}

// sender makes what hands mails to the mail server.
func (f MailFlags) sender(servers *outbound.Servers) (mail.Sender, error) {
	s := mail.SMTP{Host: f.SMTPHost, Port: f.SMTPPort, TLS: f.SMTPTLS, User: f.SMTPUser, From: f.SMTPFrom}
	s.Verify = servers.At(installation.ExpiryMailServer, net.JoinHostPort(f.SMTPHost, strconv.Itoa(f.SMTPPort)))
	var err error
	if s.Password, err = cli.ReadSecretFile(f.SMTPPasswordFile); err != nil {
		return nil, fmt.Errorf("--smtp-password-file: %w", err)
	}
	if s.Roots, err = cli.ReadRoots(f.SMTPCA); err != nil {
		return nil, fmt.Errorf("--smtp-ca: %w", err)
	}
	if f.SMTPCertificate != "" {
		shown, err := loadCertificate(f.SMTPCertificate, f.SMTPKey, cli.Clock)
		if err != nil {
			return nil, fmt.Errorf("--smtp-certificate: %w", err)
		}
		s.Certificate = func() (*tls.Certificate, error) { return shown.get(nil) }
	}
	return mail.NewSMTPSender(s, cli.Clock)
}
