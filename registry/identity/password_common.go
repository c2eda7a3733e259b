package identity

import (
	"strings"
	"time"
	"unicode"

	"schakel/registry/identity/wordlist"
)

// longAffix counts the digits and signs around a common word that make up for it: ten random digits take a guesser longer than any
// word does.
const longAffix = 10

// common reports whether guessers try a password early: one of the most common ones, a date, a sequence, or a common word with digits or
// signs around it, with digits for letters (p4ssw0rd), or repeated.
func common(password string) bool {
	password = strings.ToLower(password)
	if sequence(password) || date(password) {
		return true
	}
	unit := once(password)
	texts := []string{password, unit}
	core := strings.TrimFunc(unit, func(r rune) bool { return !unicode.IsLetter(r) })
	head, tail, _ := strings.Cut(unit, core)
	if affix := head + tail; len(affix) < longAffix || sequence(head) || sequence(tail) {
		texts = append(texts, core)
	}
	for _, text := range texts {
		texts = append(texts, plain(text, 'i'), plain(text, 'l'))
	}
	for _, text := range texts {
		texts = append(texts, once(text))
	}
	return wordlist.Holds(texts...)
}

// plain writes letters for the digits and signs that stand for them. A 1 stands for one of two letters.
func plain(text string, one rune) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '@', '4':
			return 'a'
		case '8':
			return 'b'
		case '3', '€':
			return 'e'
		case '6', '9':
			return 'g'
		case '1', '!', '|':
			return one
		case '0':
			return 'o'
		case '5', '$':
			return 's'
		case '7', '+':
			return 't'
		case '2':
			return 'z'
		}
		return r
	}, text)
}

// date reports whether a text is a day from 1900 to 2099 in eight digits: an eighth of the 100,000 most common passwords are birthdays.
func date(text string) bool {
	if len(text) != len("02012006") {
		return false
	}
	for _, layout := range []string{"02012006", "01022006", "20060102"} {
		if day, err := time.Parse(layout, text); err == nil && day.Year() >= 1900 && day.Year() < 2100 {
			return true
		}
	}
	return false
}

// once returns the part that a text repeats, such as "welkom" of "welkomwelkom", or the text itself.
func once(text string) string {
	for n := 1; n <= len(text)/2; n++ {
		if len(text)%n == 0 && strings.Repeat(text[:n], len(text)/n) == text {
			return text[:n]
		}
	}
	return text
}

// sequence reports whether a text goes up, goes down or stays, such as 123456789, cba or 11112222: four signs or more a run.
func sequence(text string) bool {
	signs := []rune(text)
	runs := 0
	for i := 1; i <= len(signs); i++ { // the sign before i begins a run
		runs++
		if i == len(signs) {
			break
		}
		for step := signs[i] - signs[i-1]; step >= -1 && step <= 1 && i < len(signs) && signs[i]-signs[i-1] == step; {
			i++
		}
	}
	return runs > 0 && runs*4 <= len(signs)
}
