package registry

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"schakel/templates/i18n"
)

// CleanName returns a name in the form in which it is stored and compared: Unicode form NFC, with single spaces.
func CleanName(name string) string {
	return norm.NFC.String(strings.Join(strings.Fields(name), " "))
}

// CheckName is CheckLine for names by which people tell organisations, people and systems apart. It also refuses characters that
// CheckLine lets by because they belong to words of some scripts and are not seen by themselves: with them two names that look the same
// differ.
func CheckName(name string, least, most int) i18n.Message {
	if text := CheckLine(name, least, most); text != "" {
		return text
	}
	if strings.ContainsFunc(name, hidden) {
		return "registry.name-hidden"
	}
	return ""
}

// hidden holds for joiners, fillers, variation selectors, the blank of Braille, and characters that no font of Unicode knows.
func hidden(r rune) bool {
	const blank = '\u2800'
	return unseen(r) || r == blank ||
		unicode.In(r, unicode.Join_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Co, unicode.Noncharacter_Code_Point)
}
