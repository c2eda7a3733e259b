package services

import (
	"strings"
	"testing"

	"schakel/registry/mail"
	"schakel/store"
)

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
