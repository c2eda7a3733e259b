package registry

import (
	"slices"
	"strings"

	"schakel/templates/i18n"
)

// IssueCause describes the cause of an issue: why attempts failed.
func IssueCause(cause string) i18n.Message {
	if status, ok := strings.CutPrefix(cause, "http-"); ok {
		return i18n.M("issue.answered", status)
	}
	if i18n.Has("site.failure", cause) {
		return i18n.Word("site.failure", cause)
	}
	if i18n.Has("issue.cause", cause) {
		return i18n.Word("issue.cause", cause)
	}
	if strings.Contains(cause, ":") {
		return i18n.M("issue.amqp-error", cause)
	}
	if amqpAnswer(cause) {
		return i18n.M("issue.apprec-code", cause)
	}
	return i18n.Raw(strings.ReplaceAll(cause, "-", " "))
}

// amqpAnswer reports whether a receiver of messages answered with a cause: an error such as "transport:…" or a code of an AppRec such as "T02".
func amqpAnswer(cause string) bool {
	return strings.Contains(cause, ":") || len(cause) <= 4 && cause != "" && cause == strings.ToUpper(cause)
}

// IssueAdvice tells the reader what to do about the cause of an issue: an administrator of this Schakel, or the partner that receives.
func IssueAdvice(cause string, administrator bool) i18n.Message {
	if administrator {
		return i18n.Word("issue.advice-admin", adviceKind(cause))
	}
	return i18n.Word("issue.advice-partner", adviceKind(cause))
}

// adviceKind groups the causes that ask for the same of people.
func adviceKind(cause string) string {
	status, answered := strings.CutPrefix(cause, "http-")
	switch {
	case slices.Contains([]string{"401", "403"}, status) && answered:
		return "unauthorized"
	case status == "429" && answered:
		return "busy"
	case slices.Contains([]string{"404", "405", "410"}, status) && answered:
		return "address"
	case answered && strings.HasPrefix(status, "3"):
		return "redirected"
	case answered && strings.HasPrefix(status, "5"):
		return "server"
	case answered:
		return "rejected"
	case slices.Contains([]string{"response-too-large", "protocol", "unasked-answer"}, cause):
		return "answer"
	case slices.Contains([]string{"dns", "connect", "tls", "timeout", "token", "blocked-address", "request", "data-erased", "data-unreadable"}, cause):
		return cause
	case slices.Contains([]string{"amqp-no-party", "amqp-no-process", "amqp-certificate", "amqp-no-queue", "amqp-broker"}, cause):
		return "amqp-setup"
	case slices.Contains([]string{"amqp-document", "amqp-other-party", "amqp-sent-before", "apprec-rejected", "soap-fault"}, cause), amqpAnswer(cause):
		return "amqp-message"
	case slices.Contains([]string{"rejected", "delivery-count-exceeded", "key-expired", "event-expired"}, cause):
		return "pull-" + cause
	}
	return "message"
}
