package mail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"schakel/registry"
	"schakel/store"
)

// SMTP holds the address of the mail server and the credentials for it.
type SMTP struct {
	Host string
	Port int    // 0 follows from TLS: 587, or 465 for implicit
	From string // address of the sender
	// User and Password are for servers that ask for them.
	User, Password string
	// TLS is "starttls" (the default: the connection must be encrypted),
	// "implicit", or "none" for a server on this machine.
	TLS string
	// HELO is the name we tell the server. Default the machine's.
	HELO string
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
	options := []gomail.Option{gomail.WithTimeout(30 * time.Second)}
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

// Send implements Sender. The same mail has the same Message-ID each time, so
// that a second copy can be told.
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
