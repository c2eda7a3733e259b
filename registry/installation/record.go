package installation

import (
	"context"
	"encoding/json"
	"strings"

	"schakel/registry"
	"schakel/store"
)

func setRecord(ctx context.Context, tx *store.Tx, setting string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return registry.Wrap("write "+setting, tx.SetSetting(ctx, setting, string(text)))
}

// RecordBackup notes a backup that succeeded: where it went, its size and the key that its secrets are sealed with. by names the command.
func RecordBackup(ctx context.Context, db *store.DB, by string, r Record) error {
	return db.Write(ctx, func(tx *store.Tx) error {
		r.At, r.By = tx.Now.Time, by
		if err := setRecord(ctx, tx, backupSetting, r); err != nil {
			return err
		}
		actor := registry.Actor{Kind: "system", Name: by}
		return registry.Record(ctx, tx, actor, registry.ActionBackupMade, registry.ObjectOf("backup", "", r.Place, ""), registry.Details{"bytes": r.Bytes, "key": r.KeyID})
	})
}

// ConfirmKeyBackup notes that an administrator keeps a copy of the secret key elsewhere. fingerprint is that of the page which asked: when
// another key is in use meanwhile, nothing is confirmed.
func (s *Service) ConfirmKeyBackup(ctx context.Context, actor registry.Actor, fingerprint string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	key, err := registry.StoredKeyID(ctx, s.cfg.DB)
	if err != nil {
		return err
	}
	if key == "" || key != strings.TrimSpace(fingerprint) {
		return registry.Conflict("installation.key.confirm-other")
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := setRecord(ctx, tx, keyBackupSetting, Record{At: tx.Now.Time, By: actor.Name, KeyID: key}); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionKeyBackedUp, registry.ObjectOf("key", key, key, ""), registry.Details{})
	})
}

// mailPurpose ties the proof in a test mail to an account and an address.
func mailPurpose(a registry.Actor, email string) string { return "test mail " + a.ID + " " + email }

// SendTestMail sends a mail to an administrator, with a link that confirms the address. It queues the mail; what becomes of it is told by
// the checks.
func (s *Service) SendTestMail(ctx context.Context, actor registry.Actor) (email string, err error) {
	if err := actor.RequireAdministrator(); err != nil {
		return "", err
	}
	err = s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, actor.ID)
		if err != nil {
			return registry.Found("account", err)
		}
		email = account.Email
		link := "/admin/installation?mail=" + s.cfg.Vault.Prove(mailPurpose(actor, email))
		if err := s.cfg.Mail(ctx, tx, email, s.cfg.Letter("installation.test-mail.subject", link, "installation.test-mail.text", "installation.test-mail.link")); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionTestMailSent, registry.ObjectOf("mail", "", email, ""), registry.Details{})
	})
	return email, err
}

// ConfirmMail notes that the test mail arrived. proof is from its link.
func (s *Service) ConfirmMail(ctx context.Context, actor registry.Actor, proof string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, actor.ID)
		if err != nil {
			return registry.Found("account", err)
		}
		if !s.cfg.Vault.Proves(mailPurpose(actor, account.Email), proof) {
			return registry.Conflict("installation.mail.confirm-other")
		}
		if err := setRecord(ctx, tx, confirmedSetting+actor.ID, Record{At: tx.Now.Time, Email: account.Email}); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionMailConfirmed, registry.ObjectOf("mail", "", account.Email, ""), registry.Details{})
	})
}
