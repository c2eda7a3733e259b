package store

import "context"

// States of a mail.
const (
	MailPending = "pending"
	MailSent    = "sent"
	MailFailed  = "failed"
	MailHeld    = "held" // its recipient gets too many: not sent unless an administrator says so
)

// Mail is a message to a person, written in the transaction of what it tells of and sent afterwards.
type Mail struct {
	ID        string `db:"id"`
	Recipient string `db:"recipient"`
	Subject   string `db:"subject"`
	Body      string `db:"body"` // plain text
	Status    string `db:"status"`
	Attempts  int64  `db:"attempts"`
	DueAt     Time   `db:"due_at"`
	Error     string `db:"error"`
	CreatedAt Time   `db:"created_at"`
	SentAt    Time   `db:"sent_at"`
}

// InsertMail queues a mail; without a status it is pending, and without a time due at once.
func (tx *Tx) InsertMail(ctx context.Context, m *Mail) error {
	m.ID, m.CreatedAt = tx.NewID("mal"), tx.Now
	if m.Status == "" {
		m.Status = MailPending
	}
	if m.Status == MailPending && m.DueAt.IsZero() {
		m.DueAt = tx.Now
	}
	return tx.insert(ctx, "mail", m)
}

// ClaimMails takes up to limit due mails until lease, so that no other node sends them meanwhile.
func (tx *Tx) ClaimMails(ctx context.Context, limit int, lease Time) ([]Mail, error) {
	return listOf[Mail](ctx, &tx.Queries, `WITH due AS MATERIALIZED
		(SELECT id FROM mail WHERE status = 'pending' AND due_at <= ? ORDER BY due_at, id LIMIT ?`+tx.skipLocked("mail")+`)
		UPDATE mail SET due_at = ?, attempts = attempts + 1 WHERE id IN (SELECT id FROM due) RETURNING *`,
		tx.Now, limit, lease)
}

// WaitingMail finds a mail to a recipient with this subject that nothing was tried with yet, and that is not due.
func (tx *Tx) WaitingMail(ctx context.Context, recipient, subject string) (Mail, error) {
	return getOne[Mail](ctx, &tx.Queries, `SELECT * FROM mail WHERE status = 'pending' AND due_at > ? AND recipient = ? AND subject = ? AND attempts = 0
		ORDER BY due_at DESC LIMIT 1`, tx.Now, recipient, subject)
}

// RewriteMail writes another text into a mail that nothing was tried with yet.
func (tx *Tx) RewriteMail(ctx context.Context, id, body string) error {
	return tx.one(ctx, `UPDATE mail SET body = ? WHERE id = ? AND status = 'pending' AND attempts = 0`, body, id)
}

// UpdateMail writes what came of sending a mail.
func (tx *Tx) UpdateMail(ctx context.Context, m *Mail) error {
	return tx.update(ctx, "mail", m, "status", "due_at", "error", "sent_at")
}

// NextMailDue returns when the earliest pending mail is due; zero when none waits.
func (q *Queries) NextMailDue(ctx context.Context) (Time, error) {
	return getOne[Time](ctx, q, `SELECT MIN(due_at) FROM mail WHERE status = 'pending'`)
}

// Mails lists mails, newest first, with their total count up to [ListBound] + 1.
func (q *Queries) Mails(ctx context.Context, p Page) ([]Mail, int, error) {
	return longPageOf[Mail](ctx, q, `*`, `mail`, where{}, `id DESC`, p)
}

// Mail finds one mail.
func (q *Queries) Mail(ctx context.Context, id string) (Mail, error) {
	return getOne[Mail](ctx, q, `SELECT * FROM mail WHERE id = ?`, id)
}

// skipLocked lets several nodes claim at once; SQLite has one writer and needs nothing.
func (q *Queries) skipLocked(table string) string {
	if q.dialect == Postgres {
		return ` FOR UPDATE OF ` + table + ` SKIP LOCKED`
	}
	return ""
}
