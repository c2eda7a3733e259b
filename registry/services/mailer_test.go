package services

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/mail"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/templates/i18n"
)

// smtpServer is a small mail server: it takes each message, or answers the given reply to RCPT.
type smtpServer struct {
	addr     *net.TCPAddr
	messages chan string
}

func newSMTPServer(t *testing.T, rcptReply string) *smtpServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := &smtpServer{addr: l.Addr().(*net.TCPAddr), messages: make(chan string, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn, rcptReply)
		}
	}()
	return s
}

func (s *smtpServer) serve(conn net.Conn, rcptReply string) {
	defer func() { _ = conn.Close() }()
	say := func(text string) { _, _ = fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 test")
	in := bufio.NewScanner(conn)
	for in.Scan() {
		switch verb := strings.ToUpper(in.Text() + "    ")[:4]; verb {
		case "EHLO", "HELO", "MAIL", "RSET", "NOOP":
			say("250 ok")
		case "RCPT":
			say(rcptReply)
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for in.Scan() && in.Text() != "." {
				b.WriteString(in.Text() + "\n")
			}
			s.messages <- b.String()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("502 what?")
		}
	}
}

func (s *smtpServer) sender(t *testing.T, clock *storetest.Clock) mail.Sender {
	t.Helper()
	sender, err := mail.NewSMTPSender(mail.SMTP{Host: "127.0.0.1", Port: s.addr.Port, From: "schakel@office.example", TLS: "none", HELO: "test"}, clock.Now)
	must(t, err)
	return sender
}

func queue(t *testing.T, w *world, to string) {
	t.Helper()
	must(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		return w.cfg.Mail(t.Context(), tx, to, w.cfg.Letter("Één\r\nBcc: x@evil.example", "/login", "Geachte heer"))
	}))
}

func TestMailerSends(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		server := newSMTPServer(t, "250 ok")
		queue(t, w, "anna@noord.example")
		m := mail.NewMailer(w.cfg, server.sender(t, w.clock))
		must(t, m.Start(t.Context()))
		got := <-server.messages
		stop, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		must(t, m.Stop(stop))
		for _, want := range []string{
			"To: <anna@noord.example>", "From: <schakel@office.example>", "Auto-Submitted: auto-generated", "https://schakel.example/login",
			"Subject: =?UTF-8?",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if strings.Contains(got, "\nBcc:") {
			t.Errorf("a subject added a header: %s", got)
		}
		sent := w.mailsTo(t, "anna@noord.example")[0]
		if sent.Status != store.MailSent || sent.SentAt.IsZero() || m.Ready(t.Context()) != nil {
			t.Errorf("got %+v, ready %v", sent, m.Ready(t.Context()))
		}
		must(t, m.SendDue(t.Context()))
		if len(server.messages) != 0 {
			t.Error("sent twice")
		}
	})
}

func TestMailerTriesAgain(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		busy, good := newSMTPServer(t, "451 later"), newSMTPServer(t, "250 ok")
		queue(t, w, "anna@noord.example")
		m := mail.NewMailer(w.cfg, busy.sender(t, w.clock))
		must(t, m.SendDue(t.Context()))
		sent := w.mailsTo(t, "anna@noord.example")[0]
		if sent.Status != store.MailPending || sent.Attempts != 1 || sent.Error == "" || sent.DueAt.Sub(w.clock.Now()).Round(time.Second) != 30*time.Second {
			t.Fatalf("got %+v", sent)
		}
		m = mail.NewMailer(w.cfg, good.sender(t, w.clock))
		must(t, m.SendDue(t.Context()))
		if len(good.messages) != 0 {
			t.Error("tried again before it was due")
		}
		w.clock.Advance(30 * time.Second)
		must(t, m.SendDue(t.Context()))
		if sent = w.mailsTo(t, "anna@noord.example")[0]; sent.Status != store.MailSent || sent.Error != "" {
			t.Errorf("got %+v", sent)
		}
		queue(t, w, "bob@noord.example")
		m = mail.NewMailer(w.cfg, busy.sender(t, w.clock))
		w.clock.Advance(73 * time.Hour)
		must(t, m.SendDue(t.Context()))
		if sent = w.mailsTo(t, "bob@noord.example")[0]; sent.Status != store.MailFailed {
			t.Errorf("an old mail is %s", sent.Status)
		}
	})
}

func TestMailerGivesUpOnRefusal(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		queue(t, w, "nobody@noord.example")
		m := mail.NewMailer(w.cfg, newSMTPServer(t, "550 no such mailbox").sender(t, w.clock))
		must(t, m.SendDue(t.Context()))
		if sent := w.mailsTo(t, "nobody@noord.example")[0]; sent.Status != store.MailFailed || !strings.Contains(sent.Error, "550") {
			t.Errorf("got %+v", sent)
		}
	})
}

func TestMailerWithoutServer(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		queue(t, w, "anna@noord.example")
		m := mail.NewMailer(w.cfg, nil)
		must(t, m.SendDue(t.Context()))
		if sent := w.mailsTo(t, "anna@noord.example")[0]; sent.Status != store.MailPending || sent.Attempts != 0 {
			t.Errorf("got %+v", sent)
		}
		must(t, m.Stop(t.Context()))
	})
}

func TestSMTPSettings(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]mail.SMTP{
		"no host": {From: "a@b.nl"}, "no sender": {Host: "mail.b.nl"}, "unknown TLS": {Host: "mail.b.nl", From: "a@b.nl", TLS: "perhaps"},
	} {
		if _, err := mail.NewSMTPSender(s, time.Now); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for _, tls := range []string{"", "starttls", "implicit", "none"} {
		if _, err := mail.NewSMTPSender(mail.SMTP{Host: "mail.b.nl", From: "a@b.nl", TLS: tls, User: "u", Password: "p"}, time.Now); err != nil {
			t.Errorf("%q: %v", tls, err)
		}
	}
}

// A server that cannot encrypt gets no mail unless that was asked for.
func TestSMTPWantsEncryption(t *testing.T) {
	t.Parallel()
	server := newSMTPServer(t, "250 ok")
	sender, err := mail.NewSMTPSender(mail.SMTP{Host: "127.0.0.1", Port: server.addr.Port, From: "a@b.nl", HELO: "test"}, time.Now)
	must(t, err)
	err = sender.Send(t.Context(), store.Mail{ID: "mal_1", Recipient: "x@y.nl", Subject: "s", Body: "b"})
	if _, permanent := errors.AsType[*mail.PermanentError](err); err == nil || permanent || len(server.messages) != 0 {
		t.Errorf("got %v", err)
	}
}

func TestPasswordLinkMail(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, _ = w.partner(t, "Noord", goodOIN, "anna@noord.example")
		before := len(w.mailsTo(t, "anna@noord.example"))
		must(t, w.Mails.PasswordLink(t.Context(), w.Accounts, "Anna@noord.example"))
		must(t, w.Mails.PasswordLink(t.Context(), w.Accounts, "stranger@noord.example"))
		list := w.mailsTo(t, "anna@noord.example")
		if len(list) != before+1 || !strings.Contains(list[0].Body, "/account/password-reset/") || len(w.mailsTo(t, "stranger@noord.example")) != 0 {
			t.Errorf("got %+v", list[0])
		}
	})
}

// A mail names the sender, the queue and the number of messages, and leads to a page that administrators may open.
//
// Rules: AMQP-49, AMQP-53, AMQP-89.
func TestAMQPMails(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for _, tt := range []struct {
			trouble mail.AMQPTrouble
			groups  []mail.AMQPGroup
			words   []string
		}{
			{mail.AMQPQuarantined, []mail.AMQPGroup{{HerID: 8094866, Own: "Clinic", Queue: "8141703_async", Count: 1, MessageID: "amm_1"}}, []string{
				"AMQP messages in quarantine: 1 message from HER-id 8094866", "queue 8141703_async (of Clinic)", "/admin/amqp/messages/amm_1\n", "reprocess",
			}},
			{mail.AMQPQuarantined, []mail.AMQPGroup{{HerID: 8094866, Queue: "8141703_async", Count: 3, MessageID: "amm_1"}}, []string{
				"3 messages from HER-id 8094866", "/admin/amqp/messages?state=quarantined&herId=8094866\n",
			}},
			{mail.AMQPQuarantined, []mail.AMQPGroup{{Queue: "8141703_async", Count: 2}, {HerID: 7, Queue: "8141703_async", Count: 40}}, []string{
				"quarantine: 42 messages\n", "- 2 messages from a sender that gives no HER-id, queue", "- 40 messages from HER-id 7", "/admin/amqp/messages?state=quarantined\n",
			}},
			{mail.AMQPHeld, []mail.AMQPGroup{{Name: "Legekontor", HerID: 9, Own: "Clinic", PartyID: "amp_1", Queue: "q", Count: 2}}, []string{
				"without a recipient: 2 messages from Legekontor (HER-id 9)", "state=held&party=amp_1", "no AppRec",
			}},
			{mail.AMQPDead, []mail.AMQPGroup{{Name: "Legekontor", Queue: "1_dl", Count: 1, MessageID: "amm_2"}}, []string{"Dead letters by AMQP: 1 message from Legekontor", "messages/amm_2"}},
			{mail.AMQPOverdue, []mail.AMQPGroup{{Name: "Legekontor", Queue: "1_async", Count: 5, PartyID: "amp_1"}}, []string{"AppRec overdue: 5 messages to Legekontor", "state=overdue&party=amp_1"}},
		} {
			must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return w.Mails.AMQPWaiting(t.Context(), tx, tt.trouble, tt.groups) }))
			mails := w.mailsTo(t, "admin@example.nl")
			text := mails[0].Subject + "\n" + mails[0].Body
			for _, word := range tt.words {
				if !strings.Contains(text, word) {
					t.Errorf("%s: no %q in\n%s", tt.trouble, word, text)
				}
			}
		}
	})
}

// A mail about queues whose messages expire names each with what is known of it.
//
// Rules: AMQP-42, INC-22
func TestAMQPExpiryMail(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		loss := mail.AMQPQueueLoss{Queue: "100_async", Own: "Clinic", Detail: "its messages expire after 15m0s"}
		for subject, queues := range map[string][]mail.AMQPQueueLoss{
			"Messages in queue 100_async expire": {loss}, "Messages in 2 queues expire": {loss, {Queue: "100_error", Detail: "a message expired in it"}},
		} {
			must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return w.Mails.AMQPExpiry(t.Context(), tx, queues) }))
			mail := w.mailsTo(t, "admin@example.nl")[0]
			if mail.Subject != subject || !strings.Contains(mail.Body, "- Queue 100_async (of Clinic): its messages expire after 15m0s") || !strings.Contains(mail.Body, "/admin/amqp\n") {
				t.Errorf("%s\n%s", mail.Subject, mail.Body)
			}
		}
		before := len(w.mailsTo(t, "admin@example.nl"))
		must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return w.Mails.AMQPExpiry(t.Context(), tx, nil) }))
		if n := len(w.mailsTo(t, "admin@example.nl")); n != before {
			t.Error("a mail about nothing")
		}
	})
}

func TestMailsAreInTheLanguageOfTheirRecipient(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		must(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
			for email, chosen := range map[string][3]string{"anna@noord.example": {"nb", "Europe/Oslo", "nl"}, "piet@noord.example": {}, "kari@noord.example": {"", "Europe/Oslo", "nb"}} {
				account := store.Account{Email: email, Name: email, Role: store.RoleManager, Status: store.AccountActive, Language: chosen[0], TimeZone: chosen[1], LastLanguage: chosen[2]}
				if err := tx.InsertAccount(t.Context(), &account); err != nil {
					return err
				}
			}
			return nil
		}))
		cfg := w.cfg
		cfg.Language, cfg.TimeZone = i18n.Dutch, nil
		noon := time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)
		msg := cfg.Letter("ui.log-out", "/login", registry.Because("Ø"), "", i18n.M("mail.item", noon)).Lines(registry.Bullet("ui.log-in"), i18n.Raw("x"))
		for to, want := range map[string][2]string{
			"Anna@noord.example": {"Logg ut", "Begrunnelse: Ø\n\n- 1. juli 2026 12:00:00 CEST\n\n- Logg inn\nx\n\n" + cfg.BaseURL + "/login\n\nDenne meldingen er sendt av Schakel hos " + cfg.Organisation + ".\n"},
			"kari@noord.example": {"Logg ut", "Begrunnelse: Ø\n\n- 1. juli 2026 12:00:00 CEST\n\n- Logg inn\nx\n\n" + cfg.BaseURL + "/login\n\nDenne meldingen er sendt av Schakel hos " + cfg.Organisation + ".\n"},
			"piet@noord.example": {"Uitloggen", "De reden: Ø\n\n- 1 jul 2026 10:00:00 UTC\n\n- Inloggen\nx\n\n" + cfg.BaseURL + "/login\n\nDit bericht is verzonden door Schakel van " + cfg.Organisation + ".\n"},
			"jan@zuid.example":   {"Uitloggen", "De reden: Ø\n\n- 1 jul 2026 10:00:00 UTC\n\n- Inloggen\nx\n\n" + cfg.BaseURL + "/login\n\nDit bericht is verzonden door Schakel van " + cfg.Organisation + ".\n"},
		} {
			must(t, w.db.Write(t.Context(), func(tx *store.Tx) error { return cfg.Mail(t.Context(), tx, to, msg) }))
			if got := w.mailsTo(t, to)[0]; got.Subject != want[0] || got.Body != want[1] {
				t.Errorf("to %s: %q, %q", to, got.Subject, got.Body)
			}
		}
	})
}
