package site

import (
	"context"
	"errors"
	"slices"
	"strings"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Sentence tells an error of the engine, whose texts may be shown.
func Sentence(err error) i18n.Message {
	for known, text := range map[error]i18n.Message{
		outbox.ErrTooManyJobs:          "site.engine-too-many-jobs",
		outbox.ErrDecided:              "site.engine-decided",
		outbox.ErrAllKnown:             "site.engine-all-known",
		outbox.ErrSenderStopped:        "site.engine-sender-stopped",
		outbox.ErrClientStopped:        "site.engine-client-stopped",
		outbox.ErrNotGranted:           "site.engine-not-granted",
		outbox.ErrNothingSelected:      "site.engine-nothing-selected",
		outbox.ErrTooManySubscriptions: "site.engine-too-many-subscriptions",
		outbox.ErrTooManyEvents:        "site.engine-too-many-events",
		outbox.ErrNotApproved:          "site.engine-not-approved",
		outbox.ErrNotResendable:        "site.engine-not-resendable",
		outbox.ErrEventExpired:         "site.engine-event-expired",
		outbox.ErrDataErased:           "outbox.data-erased",
		outbox.ErrNotDiscardable:       "site.engine-not-discardable",
		outbox.ErrReasonMissing:        "site.engine-reason-missing",
		outbox.ErrNothingSent:          "site.engine-nothing-sent",
	} {
		if errors.Is(err, known) {
			return text
		}
	}
	return i18n.Raw(Capital(err.Error()) + ".")
}

// FirstLine cuts a text to one line of at most so many characters.
func FirstLine(text string, most int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Quoted puts a word between quotes that a shell leaves as it is.
func Quoted(word string) string { return "'" + InShell(word) + "'" }

// AskSecret is a command for bash and zsh that asks for the secret of a client and writes it out: so it stands in no history and in
// no list of processes.
const AskSecret = `printf 'client_secret: ' >&2; read -rs SECRET; echo >&2; printf %s "$SECRET"` // #nosec G101 -- a command without a secret

// KindLabel names a kind of endpoint for people.
func KindLabel(ctx context.Context, kind string) string { return i18n.Of(ctx, "site.kind", kind) }

// InShell writes text inside single quotes: what people typed stays one word.
func InShell(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// EndpointKindOptions lists the kinds of endpoints, with the chosen ones ticked.
func EndpointKindOptions(ctx context.Context, chosen []string) []ui.Option {
	options := []ui.Option{
		{Value: store.EndpointWebhook, Hint: i18n.T(ctx, "site.kind-webhook-hint")},
		{Value: store.EndpointPull, Hint: i18n.T(ctx, "site.kind-pull-hint")},
		{Value: store.EndpointAMQP, Hint: i18n.T(ctx, "site.kind-amqp-hint")},
		{Value: store.EndpointFiles, Hint: i18n.T(ctx, "site.kind-files-hint")},
	}
	for i := range options {
		options[i].Label = KindLabel(ctx, options[i].Value)
		options[i].Selected = slices.Contains(chosen, options[i].Value)
	}
	return options
}
