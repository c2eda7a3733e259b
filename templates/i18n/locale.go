package i18n

import (
	"context"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Lang is a language of the portal, as a BCP 47 tag.
type Lang string

// The languages of the portal. Pseudo is English with accents and a third longer; it finds texts that are in no catalogue, and
// pages without room for a longer language. Nobody can choose it but in tests.
const (
	English   Lang = "en"
	Dutch     Lang = "nl"
	Norwegian Lang = "nb"
	Pseudo    Lang = "en-XA"
)

// Langs lists the languages that a reader can choose.
func Langs() []Lang { return []Lang{English, Dutch, Norwegian} }

// Name is the name of a language in that language.
func (l Lang) Name() string {
	switch l {
	case Dutch:
		return "Nederlands"
	case Norwegian:
		return "Norsk bokmål"
	}
	return "English"
}

// LangOf finds a language by its tag; ok is false for one that is not there. The empty tag is none.
func LangOf(tag string) (l Lang, ok bool) {
	for _, l := range append(Langs(), Pseudo) {
		if string(l) == tag {
			return l, true
		}
	}
	return "", false
}

// Accepted chooses a language from an Accept-Language header (RFC 9110); ok is false when it names none of ours. Norwegian
// of any kind is bokmål.
func Accepted(header string) (l Lang, ok bool) {
	wanted, _, err := language.ParseAcceptLanguage(header)
	if err != nil || len(wanted) == 0 {
		return "", false
	}
	for _, tag := range wanted {
		switch base, _ := tag.Base(); base.String() {
		case "en":
			return English, true
		case "nl":
			return Dutch, true
		case "nb", "no", "nn":
			return Norwegian, true
		}
	}
	return "", false
}

// Locale writes texts, numbers and times for one reader. It is immutable.
type Locale struct {
	Lang Lang
	// Zone is the time zone of the reader, UTC when it is not known.
	Zone    *time.Location
	printer *message.Printer
	texts   *texts
}

// NewLocale makes a locale; a nil zone is UTC, and an unknown language English.
func NewLocale(l Lang, zone *time.Location) *Locale {
	if zone == nil {
		zone = time.UTC
	}
	load, ok := loaders[l]
	if !ok {
		l, load = English, loaders[English]
	}
	t := load()
	return &Locale{Lang: l, Zone: zone, printer: t.printer, texts: t}
}

type localeKey struct{}

// With gives a context the locale of its reader.
func With(ctx context.Context, l *Locale) context.Context {
	return context.WithValue(ctx, localeKey{}, l)
}

// From is the locale of a context, or English in UTC.
func From(ctx context.Context) *Locale {
	if l, ok := ctx.Value(localeKey{}).(*Locale); ok {
		return l
	}
	return english()
}
