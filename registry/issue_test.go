package registry

import "testing"

// A message that was answered, or that our side could not make, is told apart from a receiver of webhooks whose request could not be made.
func TestAdviceOnMessages(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]string{
		"T02": "amqp-message", "transport:not-well-formed-xml": "amqp-message", "soap-fault": "amqp-message", "amqp-sent-before": "amqp-message",
		"amqp-no-process": "amqp-setup", "amqp-certificate": "amqp-setup", "amqp-unanswered": "message", "request": "request", "http-503": "server", "rejected": "pull-rejected",
	} {
		if got := adviceKind(cause); got != want {
			t.Errorf("%s: %s, want %s", cause, got, want)
		}
		for _, administrator := range []bool{true, false} {
			if IssueAdvice(cause, administrator) == "" {
				t.Errorf("%s has no advice", cause)
			}
		}
	}
}
