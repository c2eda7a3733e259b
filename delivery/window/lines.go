package window

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseLines reads windows as people type them, one a line: days, then the hours, such as
//
//	mon-fri 07:00-19:00
//	sat,sun 09:00-12:00
//
// Without a line any time is good. Its errors may be shown to people.
func ParseLines(timeZone, lines string) (Week, error) {
	in := document{TimeZone: strings.TrimSpace(timeZone)}
	for line := range strings.Lines(strings.ToLower(lines)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := parseLine(line)
		if err != nil {
			return Week{}, err
		}
		in.Open = append(in.Open, s)
	}
	if len(in.Open) == 0 {
		return Week{}, nil
	}
	return in.week()
}

func parseLine(line string) (documentSpan, error) {
	words := strings.Fields(line)
	if len(words) != 2 {
		return documentSpan{}, errors.New("write " + strconv.Quote(line) + " as days, a space and hours, such as mon-fri 07:00-19:00")
	}
	from, to, ok := strings.Cut(words[1], "-")
	if !ok {
		return documentSpan{}, errors.New("write the hours of " + strconv.Quote(line) + " as 07:00-19:00")
	}
	s := documentSpan{From: from, To: to}
	for part := range strings.SplitSeq(words[0], ",") {
		days, err := parseDays(part)
		if err != nil {
			return documentSpan{}, err
		}
		s.Days = append(s.Days, days...)
	}
	return s, nil
}

// parseDays reads one day or a range of days, which may go past Sunday.
func parseDays(text string) ([]string, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return []string{first}, nil
	}
	from, to := slices.Index(dayWords(), first), slices.Index(dayWords(), last)
	if from < 0 || to < 0 {
		return nil, errors.New("there are no days " + strconv.Quote(text) + ": use mon, tue, wed, thu, fri, sat and sun")
	}
	days := []string{first}
	for d := from; d != to; {
		d = (d + 1) % 7
		days = append(days, dayWords()[d])
	}
	return days, nil
}

// TimeZone returns the name of the time zone; "" for any time.
func (w Week) TimeZone() string { return w.name }

// Lines writes windows as ParseLines reads them.
func (w Week) Lines() []string {
	return w.each(func(d time.Weekday) string { return dayWords()[d] }, "-", ",", "-")
}

// Words writes windows for people, such as Monday to Friday 07:00 to 19:00, with the names of days and the words that stand
// between days and between hours.
func (w Week) Words(name func(time.Weekday) string, through, until string) []string {
	return w.each(name, " "+through+" ", ", ", " "+until+" ")
}

// each writes every span: name names a day, through joins a range of days, also the next range, and until the hours.
func (w Week) each(name func(time.Weekday) string, through, also, until string) []string {
	var all []string
	for _, s := range w.spans {
		all = append(all, s.dayList(name, through, also)+" "+clock(s.from)+until+clock(s.until))
	}
	return all
}

func (s span) dayList(name func(time.Weekday) string, through, also string) string {
	var parts []string
	days := week()
	for i := 0; i < len(days); i++ {
		if !s.days[days[i]] {
			continue
		}
		last := i
		for last+1 < len(days) && s.days[days[last+1]] {
			last++
		}
		switch {
		case last == i:
			parts = append(parts, name(days[i]))
		case last == i+1:
			parts = append(parts, name(days[i]), name(days[last]))
		default:
			parts = append(parts, name(days[i])+through+name(days[last]))
		}
		i = last
	}
	return strings.Join(parts, also)
}
