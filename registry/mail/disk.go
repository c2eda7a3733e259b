package mail

import (
	"context"
	"fmt"
	"time"

	"schakel/store"
)

// diskMailEvery is the least time between mails to the administrators about the same folder.
const diskMailEvery = time.Hour

// DiskLow tells the administrators that the volume of the database runs full, while there is still room: when it is full, events are
// rejected. free and size are in bytes. Another alert about the same folder within the hour gets no mail of its own.
func (m *Mails) DiskLow(ctx context.Context, dir string, free, size uint64) error {
	name := "disk.mailed." + dir
	err := m.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Setting(ctx, name)
		if err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339, before); err == nil && tx.Now.Sub(at) < diskMailEvery && !tx.Now.Before(at) {
			return nil
		}
		if err := tx.SetSetting(ctx, name, tx.Now.Format(time.RFC3339)); err != nil {
			return err
		}
		return m.cfg.MailAdministrators(ctx, tx, m.cfg.Letter("Low disk space", "/admin",
			fmt.Sprintf("%d of %d MiB are free on the volume of %s, which holds the database.", free>>20, size>>20, dir),
			"When it is full, events are rejected: their senders get the answer 503 and try again. Nothing that was accepted is lost.",
			"Free space or enlarge the volume. Schakel goes on by itself when there is room."))
	})
	if err != nil {
		return fmt.Errorf("mail about disk space: %w", err)
	}
	return nil
}
