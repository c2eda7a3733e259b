package profile

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/registry"
	"schakel/templates/i18n"
)

// Setting is one setting of a Profile. Page, file, command line and published texts all tell it from here.
type Setting struct {
	// Key names it in files and forms: its group, a dot and a name.
	Key string
	// Title and Explain are for people.
	Title, Explain i18n.Message
	// Rules are the ids of the rules it is about.
	Rules []string
	// Strict is the value the profile asks for; empty where it leaves the choice.
	Strict string
	// Choices are the values it can have, the tightest first; nil for a number or a time.
	Choices []Choice
	// Least and Most bound a number or a time, as text.
	Least, Most string
	// Unit counts what a number is of; Zero is the meaning of 0 where that is no number of them; it may be below Least.
	Unit, Zero i18n.Message

	// loose is the direction in which a number or time departs from the profile: 1 when it grows, -1 when it shrinks.
	loose int
	at    func(*registry.Profile) any // a pointer to the member
}

// Choice is one value of a setting and what it means.
type Choice struct {
	Value string
	Text  i18n.Message
}

// Group is a part of the settings.
type Group struct {
	Key   string
	Title i18n.Message
}

// Standing relates a value to what the profile asks for.
type Standing string

// The standings of a value.
const (
	StandingStrict   Standing = "strict"   // what the profile asks for
	StandingTighter  Standing = "tighter"  // more than the profile asks for
	StandingRelaxed  Standing = "relaxed"  // less than the profile asks for
	StandingOptional Standing = "optional" // the profile leaves it to the chain
)

// Group is the key of the group it belongs to.
func (s Setting) Group() string {
	group, _, _ := strings.Cut(s.Key, ".")
	return group
}

// Name is its key within the group.
func (s Setting) Name() string {
	_, name, _ := strings.Cut(s.Key, ".")
	return name
}

// Value writes the value it has in a profile, in its one canonical form.
func (s Setting) Value(p *registry.Profile) string {
	switch v := s.at(p).(type) {
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return strconv.FormatFloat(*v, 'f', -1, 64)
	case *time.Duration:
		return registry.FormatDuration(*v)
	case *[]time.Duration:
		words := make([]string, len(*v))
		for i, d := range *v {
			words[i] = registry.FormatDuration(d)
		}
		return strings.Join(words, ", ")
	case *[]string:
		return strings.Join(*v, ", ")
	}
	panic("setting " + s.Key + " has a type without a form")
}

// Standing relates a value to the profile.
func (s Setting) Standing(value string) Standing {
	switch {
	case s.Strict == "":
		return StandingOptional
	case s.Strict == value:
		return StandingStrict
	}
	departs := s.index(value) > s.index(s.Strict)
	if s.Choices == nil {
		departs = (s.size(value) > s.size(s.Strict)) == (s.loose > 0)
	}
	if departs {
		return StandingRelaxed
	}
	return StandingTighter
}

// Text returns the meaning of a value: the text of a choice, the value with its unit, or a time in words.
func (s Setting) Text(value string) i18n.Message {
	if i := s.index(value); i >= 0 {
		return s.Choices[i].Text
	}
	if s.Zero != "" && (value == "0" || value == "0s") {
		return s.Zero
	}
	if s.isWords() {
		return i18n.Raw(value)
	}
	if s.isTime() {
		return lengths(value)
	}
	return s.amount(value)
}

// amount is a number with its unit, or a time as it is typed.
func (s Setting) amount(value string) i18n.Message {
	if s.Unit == "" {
		return i18n.Raw(value)
	}
	if n, err := strconv.Atoi(value); err == nil {
		return i18n.M(string(s.Unit), n)
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return i18n.Raw(value)
	}
	return i18n.M(string(s.Unit), n)
}

// lengths are the times of a value, one or several, in the words of the reader.
func lengths(value string) i18n.Message {
	var list []time.Duration
	for word := range strings.SplitSeq(value, ",") {
		d, err := registry.ParseDuration(strings.TrimSpace(word))
		if err != nil {
			return i18n.Raw(value)
		}
		list = append(list, d)
	}
	return i18n.M("profile.lengths", list)
}

// Relaxes are the rules that a value departs from when it is relaxed: those of
// the profile, without the open points of its review.
func (s Setting) Relaxes() []string {
	return slices.DeleteFunc(slices.Clone(s.Rules), func(rule string) bool { return strings.HasPrefix(rule, "OPEN-") })
}

func (s Setting) index(value string) int {
	return slices.IndexFunc(s.Choices, func(c Choice) bool { return c.Value == value })
}

// size orders values of a number or a time.
func (s Setting) size(value string) float64 {
	if d, err := registry.ParseDuration(value); err == nil && s.isTime() {
		return d.Seconds()
	}
	n, _ := strconv.ParseFloat(value, 64)
	return n
}

// Syntax explains how a length of time, or a list of these, is typed; "" for any other.
func (s Setting) Syntax() i18n.Message {
	switch s.at(new(registry.Profile)).(type) {
	case *time.Duration:
		return "profile.time"
	case *[]time.Duration:
		return "profile.times"
	}
	return ""
}

func (s Setting) isTime() bool { return s.Syntax() != "" }

// isWords reports whether it is a list of words; its bounds limit their number.
func (s Setting) isWords() bool {
	_, words := s.at(new(registry.Profile)).(*[]string)
	return words
}

func (s Setting) unset(p *registry.Profile) bool {
	switch v := s.at(p).(type) {
	case *string:
		return *v == ""
	case *int:
		return *v == 0
	case *float64:
		return *v == 0
	case *time.Duration:
		return *v == 0
	case *[]time.Duration:
		return len(*v) == 0
	case *[]string:
		return len(*v) == 0
	}
	return false
}

func (s Setting) copy(to, from *registry.Profile) {
	switch v := s.at(to).(type) {
	case *string:
		*v = *s.at(from).(*string)
	case *int:
		*v = *s.at(from).(*int)
	case *float64:
		*v = *s.at(from).(*float64)
	case *time.Duration:
		*v = *s.at(from).(*time.Duration)
	case *[]time.Duration:
		*v = slices.Clone(*s.at(from).(*[]time.Duration))
	case *[]string:
		*v = slices.Clone(*s.at(from).(*[]string))
	}
}

// maxWaits bounds the pauses of a retry schedule.
const maxWaits = 20

// set reads a value into a profile; it answers what is wrong with the text, with
// the remedy. A profile with a wrong value stays as it was.
func (s Setting) set(p *registry.Profile, text string) i18n.Message {
	text = strings.TrimSpace(text)
	switch to := s.at(p).(type) {
	case *string:
		if s.index(text) < 0 {
			return i18n.M("profile.choose-one-of", s.choiceList())
		}
		*to = text
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return i18n.M("profile.whole-number", s.example())
		}
		*to = n
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xXeEpP_") {
			return i18n.M("profile.number", s.example())
		}
		*to = n
	case *time.Duration:
		d, err := registry.ParseDuration(text)
		if err != nil {
			return s.Syntax()
		}
		*to = d
	case *[]time.Duration:
		list, err := registry.ParseDurations(text)
		if err != nil {
			return s.Syntax()
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
func ReadSetting(p *registry.Profile, key, text string) i18n.Message {
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
func parseWords(text string) (list []string, wrong i18n.Message) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r <= ' ' }) {
		bad := func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
		if len(word) > 100 || strings.ContainsFunc(word, bad) {
			return nil, "profile.codes"
		}
		if slices.Contains(list, word) {
			return nil, i18n.M("profile.code-twice", word)
		}
		list = append(list, word)
	}
	return list, ""
}

// check holds the value in a profile against the bounds of the setting.
func (s Setting) check(p *registry.Profile) i18n.Message {
	if s.Choices != nil {
		return ""
	}
	for _, text := range s.parts(p) {
		if n := s.size(text); (n < s.size(s.Least) || n > s.size(s.Most)) && (n != 0 || s.Zero == "") {
			return i18n.M("profile.outside", s.Least, s.amount(s.Most), text)
		}
	}
	if list, ok := s.at(p).(*[]time.Duration); ok && len(*list) > maxWaits {
		return i18n.M("profile.most-pauses", maxWaits)
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
