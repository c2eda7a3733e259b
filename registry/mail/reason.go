package mail

import (
	"strings"

	"schakel/templates/i18n"
)

// reasonOf names why a delivery is stuck; a reason without a text is its code.
func reasonOf(code string) i18n.Message {
	reasons := map[string]i18n.Message{
		"rejected":                "mail.reason.rejected",
		"subscription-paused":     "mail.reason.subscription-paused",
		"subscription-suspended":  "mail.reason.subscription-suspended",
		"subscription-ended":      "mail.reason.subscription-ended",
		"endpoint-suspended":      "mail.reason.endpoint-suspended",
		"event-expired":           "mail.reason.event-expired",
		"delivery-count-exceeded": "mail.reason.delivery-count-exceeded",
		"attempts-exhausted":      "mail.reason.attempts-exhausted",
		"data-erased":             "mail.reason.data-erased",
		"data-unreadable":         "mail.reason.data-unreadable",
		"deadline-passed":         "mail.reason.deadline-passed",
		"key-expired":             "mail.reason.key-expired",
		"busy":                    "mail.reason.busy",
		"server-error":            "mail.reason.server-error",
		"unreachable":             "mail.reason.unreachable",
		"tls":                     "mail.reason.tls",
		"blocked-address":         "mail.reason.blocked-address",
		"bad-answer":              "mail.reason.bad-answer",
		"token":                   "mail.reason.token",
		"unauthorized":            "mail.reason.unauthorized",
		"forbidden":               "mail.reason.forbidden",
		"gone":                    "mail.reason.gone",
		"redirected":              "mail.reason.redirected",
		"batch-rejected":          "mail.reason.batch-rejected",
		"unexpected-status":       "mail.reason.unexpected-status",
		"encryption":              "mail.reason.encryption",
		"request":                 "mail.reason.request",
		"no-recipient":            "mail.reason.no-recipient",
		"apprec-rejected":         "mail.reason.apprec-rejected",
		"amqp-no-party":           "mail.reason.amqp-no-party",
		"amqp-no-process":         "mail.reason.amqp-no-process",
		"amqp-document":           "mail.reason.amqp-document",
		"amqp-other-party":        "mail.reason.amqp-other-party",
		"amqp-sent-before":        "mail.reason.amqp-sent-before",
		"amqp-certificate":        "mail.reason.amqp-certificate",
		"amqp-no-queue":           "mail.reason.amqp-no-queue",
		"amqp-broker":             "mail.reason.amqp-broker",
		"amqp-unanswered":         "mail.reason.amqp-unanswered",
	}
	if text, ok := reasons[code]; ok {
		return text
	}
	return i18n.Raw(strings.ReplaceAll(code, "-", " "))
}
