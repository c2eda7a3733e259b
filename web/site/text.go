package site

import (
	"slices"
	"strings"

	"schakel/store"
	"schakel/templates/ui"
)

// Sentence makes an error of the engine, whose texts may be shown, into a sentence.
func Sentence(err error) string { return Capital(err.Error()) + "." }

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

// KindLabel names a kind of endpoint for people.
func KindLabel(kind string) string {
	for _, o := range EndpointKindOptions(nil) {
		if o.Value == kind {
			return o.Label
		}
	}
	return kind
}

// InShell writes text inside single quotes: what people typed stays one word.
func InShell(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// EndpointKindOptions lists the kinds of endpoints, with the chosen ones ticked.
func EndpointKindOptions(chosen []string) []ui.Option {
	options := []ui.Option{
		{Value: store.EndpointWebhook, Label: "Webhook", Hint: "We send each event to an https address of yours."},
		{Value: store.EndpointPull, Label: "Pull", Hint: "You fetch events from us when it suits you."},
		{Value: store.EndpointAMQP, Label: "AMQP 1.0", Hint: "By queues of a message broker."},
		{Value: store.EndpointFiles, Label: "Mutation files", Hint: "Files with what changed in a dataset."},
	}
	for i := range options {
		options[i].Selected = slices.Contains(chosen, options[i].Value)
	}
	return options
}
