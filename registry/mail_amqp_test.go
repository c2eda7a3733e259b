package registry

import "testing"

// Rules: AMQP-49, AMQP-53, AMQP-89.
func TestAMQPMails(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		before := len(w.mailsTo(t, "admin@example.nl"))
		mailed := func(want int) {
			t.Helper()
			if got := len(w.mailsTo(t, "admin@example.nl")) - before; got != want {
				t.Errorf("%d mails, want %d", got, want)
			}
		}
		for range 2 {
			must(t, w.Mails.AMQPDead(t.Context(), "HER 100", "amm_1"))
		}
		mailed(1)
		must(t, w.Mails.AMQPOverdue(t.Context(), "HER 100", "amm_2", 3))
		must(t, w.Mails.AMQPDead(t.Context(), "HER 200", "amm_3"))
		mailed(3)
		w.clock.Advance(amqpMailEvery)
		must(t, w.Mails.AMQPDead(t.Context(), "HER 100", "amm_4"))
		mailed(4)
	})
}
