package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"schakel/registry"
	"schakel/store"
)

// Sender hands one mail to a mail server.
type Sender interface {
	Send(ctx context.Context, mail store.Mail) error
}

// PermanentError marks a mail no server will ever take; it is not tried again.
type PermanentError struct{ Err error }

// Error returns the cause.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// How the mailer works.
const (
	mailPoll   = 2 * time.Second  // how often it looks
	mailBatch  = 20               // how many it takes at a time
	mailLease  = 10 * time.Minute // after which another node may take a mail again
	mailFirst  = 30 * time.Second // first wait after a failure; it doubles
	mailMost   = time.Hour        // longest wait
	mailGiveUp = 72 * time.Hour   // age at which a mail that cannot be sent has failed
)

// Mailer sends the mails that wait. It is a service: Start once, then Stop.
// Without a sender mails stay pending, where the mailbox page shows them.
type Mailer struct {
	cfg    registry.Config
	sender Sender
	cancel context.CancelFunc
	done   sync.WaitGroup
	failed error
	mu     sync.Mutex
	warned bool
}

// NewMailer makes a mailer; sender is nil when no mail server is set.
func NewMailer(cfg registry.Config, sender Sender) *Mailer {
	return &Mailer{cfg: cfg.WithDefaults(), sender: sender}
}

// Name names the service in logs and readiness.
func (m *Mailer) Name() string { return "mailer" }

// Start begins sending in the background.
func (m *Mailer) Start(ctx context.Context) error {
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() { m.run(ctx) })
	return nil
}

// Stop lets the mail under way be sent, until ctx ends.
func (m *Mailer) Stop(ctx context.Context) error {
	if m.cancel == nil {
		return nil
	}
	m.cancel()
	stopped := make(chan struct{})
	go func() { m.done.Wait(); close(stopped) }()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop mailer: %w", context.Cause(ctx))
	}
}

// Ready returns the error of the last time it looked for mails in the database.
// A mail server that is away does not make the program unready.
func (m *Mailer) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

func (m *Mailer) run(ctx context.Context) {
	ticker := time.NewTicker(mailPoll)
	defer ticker.Stop()
	for {
		err := m.SendDue(ctx)
		if ctx.Err() != nil {
			return
		}
		m.note(err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m *Mailer) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && m.failed == nil {
		m.cfg.Log.Error("mails cannot be read", "error", err)
	}
	m.failed = err
}

// SendDue sends what is due now, each mail once.
func (m *Mailer) SendDue(ctx context.Context) error {
	if err := m.queueDigests(ctx); err != nil {
		return err
	}
	due, err := m.cfg.DB.NextMailDue(ctx)
	if err != nil {
		return fmt.Errorf("look for mails: %w", err)
	}
	if due.IsZero() || due.After(m.cfg.Now()) {
		return nil
	}
	if m.sender == nil {
		m.warn()
		return nil
	}
	var mails []store.Mail
	err = m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		mails, err = tx.ClaimMails(ctx, mailBatch, store.At(tx.Now.Add(mailLease)))
		return err
	})
	if err != nil {
		return fmt.Errorf("claim mails: %w", err)
	}
	for _, mail := range mails {
		if err := m.send(ctx, mail); err != nil {
			return err
		}
	}
	return nil
}

// warn says once that mails wait.
func (m *Mailer) warn() {
	if !m.warned {
		m.cfg.Log.Warn("mail waits: no SMTP server is set")
	}
	m.warned = true
}

// send sends one mail and writes what came of it. Both end when the program
// stops but for the mail under way, so that it is not sent again needlessly.
func (m *Mailer) send(ctx context.Context, mail store.Mail) error {
	if ctx.Err() != nil {
		return nil // claimed and not begun: due again when the lease ends
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	opened, err := m.cfg.OpenMail(mail)
	if err == nil {
		err = m.sender.Send(ctx, opened)
	}
	now := m.cfg.Now()
	switch permanent, ok := errors.AsType[*PermanentError](err); {
	case err == nil:
		mail.Status, mail.SentAt, mail.DueAt, mail.Error = store.MailSent, store.At(now), store.Time{}, ""
	case ok || now.Sub(mail.CreatedAt.Time) > mailGiveUp:
		mail.Status, mail.DueAt, mail.Error = store.MailFailed, store.Time{}, err.Error()
		m.cfg.Log.Error("mail cannot be sent", "mail", mail.ID, "permanent", permanent != nil)
	default:
		mail.DueAt, mail.Error = store.At(now.Add(mailWait(mail.Attempts))), err.Error()
		m.cfg.Log.Warn("mail will be tried again", "mail", mail.ID, "attempts", mail.Attempts)
	}
	err = m.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.UpdateMail(ctx, &mail) })
	return registry.Wrap("write what came of a mail", err)
}

func mailWait(attempts int64) time.Duration {
	return min(mailFirst<<min(max(attempts-1, 0), 10), mailMost)
}

// SMTP holds the address of the mail server and the credentials for it.
type SMTP struct {
	Host string
	Port int    // 0 follows from TLS: 587, or 465 for implicit
	From string // address of the sender
	// User and Password are for servers that ask for them.
	User, Password string
	// TLS is "starttls" (the default: the connection must be encrypted), "implicit", or "none" for a server on this machine.
	TLS string
	// HELO is the name we tell the server. Default the machine's.
	HELO string
	// Roots issue the certificate of the server. Default those of the system.
	Roots *x509.CertPool
	// Certificate gives the client certificate for a server that asks for one. Default none.
	Certificate func() (*tls.Certificate, error)
	// Verify looks at each connection over TLS. Optional.
	Verify func(tls.ConnectionState) error
}

type smtpSender struct {
	from   string
	host   string
	client *gomail.Client
	now    func() time.Time
}

// NewSMTPSender makes a Sender for a mail server.
func NewSMTPSender(s SMTP, now func() time.Time) (Sender, error) {
	if !registry.ValidEmail(registry.CleanEmail(s.From)) {
		return nil, fmt.Errorf("set up mail: %q is no address to send from", s.From)
	}
	options, err := s.options()
	if err != nil {
		return nil, err
	}
	client, err := gomail.NewClient(s.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("set up mail: %w", err)
	}
	_, domain, _ := strings.Cut(registry.CleanEmail(s.From), "@")
	return &smtpSender{from: s.From, host: domain, client: client, now: now}, nil
}

func (s SMTP) options() ([]gomail.Option, error) {
	options := []gomail.Option{gomail.WithTimeout(30 * time.Second), gomail.WithTLSConfig(s.secure())}
	switch s.TLS {
	case "", "starttls":
		options = append(options, gomail.WithTLSPortPolicy(gomail.TLSMandatory))
	case "implicit":
		options = append(options, gomail.WithSSLPort(false))
	case "none":
		options = append(options, gomail.WithTLSPortPolicy(gomail.NoTLS))
	default:
		return nil, fmt.Errorf("set up mail: TLS is starttls, implicit or none, not %q", s.TLS)
	}
	if s.Port != 0 {
		options = append(options, gomail.WithPort(s.Port))
	}
	if s.HELO != "" {
		options = append(options, gomail.WithHELO(s.HELO))
	}
	if s.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.User), gomail.WithPassword(s.Password))
	}
	return options, nil
}

// secure gives the settings of TLS.
func (s SMTP) secure() *tls.Config {
	c := &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12, RootCAs: s.Roots, VerifyConnection: s.Verify}
	if s.Certificate != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate() }
	}
	return c
}

// Send implements Sender. The same mail has the same Message-ID each time, so that a second copy can be told.
func (s *smtpSender) Send(ctx context.Context, mail store.Mail) error {
	msg := gomail.NewMsg()
	if err := msg.From(s.from); err != nil {
		return &PermanentError{fmt.Errorf("mail from: %w", err)}
	}
	if err := msg.To(mail.Recipient); err != nil {
		return &PermanentError{fmt.Errorf("mail to: %w", err)}
	}
	msg.Subject(mail.Subject)
	msg.SetMessageIDWithValue(mail.ID + "@" + s.host)
	msg.SetDateWithValue(s.now())
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, mail.Body)
	if err := s.client.DialAndSendWithContext(ctx, msg); err != nil {
		return smtpError(err)
	}
	return nil
}

// smtpError distinguishes a refusal for ever (5xx on this mail) from a temporary failure.
func smtpError(err error) error {
	refused, ok := errors.AsType[*gomail.SendError](err)
	if ok && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		return &PermanentError{fmt.Errorf("send mail: %w", err)}
	}
	return fmt.Errorf("send mail: %w", err)
}
