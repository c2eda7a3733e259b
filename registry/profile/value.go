package profile

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
)

// maxWaits bounds the pauses of a retry schedule.
const maxWaits = 20

// set reads a value into a profile; it answers what is wrong with the text, with
// the remedy. A profile with a wrong value stays as it was.
func (s Setting) set(p *registry.Profile, text string) string {
	text = strings.TrimSpace(text)
	switch to := s.at(p).(type) {
	case *string:
		if s.index(text) < 0 {
			return "Choose one of: " + s.choiceList() + "."
		}
		*to = text
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return "Write a whole number, such as " + s.example() + "."
		}
		*to = n
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xXeEpP_") {
			return "Write a number, such as " + s.example() + "."
		}
		*to = n
	case *time.Duration:
		d, err := registry.ParseDuration(text)
		if err != nil {
			return "Write a time with its unit, such as 30s, 10m or 168h."
		}
		*to = d
	case *[]time.Duration:
		list, err := registry.ParseDurations(text)
		if err != nil {
			return "Write times with their units and commas between them, such as 5s, 30s, 10m."
		}
		*to = list
	case *[]string:
		list, wrong := parseWords(text)
		if wrong != "" {
			return wrong
		}
		*to = list
	}
	return ""
}

// ReadSetting reads the text of the setting with a key into a profile, and explains what is wrong with it.
func ReadSetting(p *registry.Profile, key, text string) string {
	s, known := SettingOf(key)
	if !known {
		panic("there is no setting " + key)
	}
	if wrong := s.set(p, text); wrong != "" {
		return wrong
	}
	return s.check(p)
}

// parseWords reads codes with commas or spaces between them.
func parseWords(text string) (list []string, wrong string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r <= ' ' }) {
		bad := func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
		if len(word) > 100 || strings.ContainsFunc(word, bad) {
			return nil, "Write codes of capitals, digits and _ with commas between them, such as DIALOG_INNBYGGER_EKONTAKT."
		}
		if slices.Contains(list, word) {
			return nil, "The code " + word + " stands there twice."
		}
		list = append(list, word)
	}
	return list, ""
}

// check holds the value in a profile against the bounds of the setting.
func (s Setting) check(p *registry.Profile) string {
	if s.Choices != nil {
		return ""
	}
	for _, text := range s.parts(p) {
		if n := s.size(text); n < s.size(s.Least) || n > s.size(s.Most) {
			return "Choose from " + s.Least + " to " + s.Most + s.unitEnd() + "; " + text + " is outside that."
		}
	}
	if list, ok := s.at(p).(*[]time.Duration); ok && len(*list) > maxWaits {
		return "Use at most " + strconv.Itoa(maxWaits) + " pauses; the last one repeats."
	}
	return ""
}

// parts are the values to hold against the bounds: one, those of a list, or how many words there are.
func (s Setting) parts(p *registry.Profile) []string {
	if words, ok := s.at(p).(*[]string); ok {
		return []string{strconv.Itoa(len(*words))}
	}
	return strings.Split(s.Value(p), ", ")
}

func (s Setting) unitEnd() string {
	if s.Unit == "" {
		return ""
	}
	return " " + s.Unit
}

func (s Setting) choiceList() string {
	words := make([]string, len(s.Choices))
	for i, c := range s.Choices {
		words[i] = c.Value
	}
	return strings.Join(words, ", ")
}

func (s Setting) example() string {
	standard := DefaultProfile()
	return s.Value(&standard)
}
