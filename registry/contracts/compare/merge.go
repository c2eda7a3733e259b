package compare

import (
	"encoding/json"
	"fmt"
	"strings"
)

// merger brings together the changes that are one and the same, met in several operations or messages.
type merger struct {
	at   map[string]int
	list []Change
}

func newMerger() *merger { return &merger{at: map[string]int{}} }

// add takes a change; short is its text without what differs from place to place.
func (m *merger) add(c Change, short string) {
	key := strings.Join([]string{string(c.Level), c.Code, c.Pointer, fmt.Sprint(c.Removed), c.Side, short}, "\x00")
	i, known := m.at[key]
	if !known {
		m.at[key] = len(m.list)
		m.list = append(m.list, c)
		return
	}
	first := &m.list[i]
	if first.Text != c.Text {
		first.Text = short
	}
	first.Subjects = append(first.Subjects, c.Subjects...)
	first.EventTypes = append(first.EventTypes, c.EventTypes...)
}

// changes gives them complete: subjects sorted and summed up.
func (m *merger) changes() []Change {
	for i := range m.list {
		c := &m.list[i]
		c.Subjects, c.EventTypes = sorted(c.Subjects), sorted(c.EventTypes)
		c.Subject = summary(c.Subjects)
	}
	return m.list
}

func summary(subjects []string) string {
	switch len(subjects) {
	case 0:
		return ""
	case 1:
		return subjects[0]
	}
	return fmt.Sprintf("%s and %d more", subjects[0], len(subjects)-1)
}

// quote writes an argument of a text as code.
func quote(value any) string {
	said, isText := value.(string)
	if !isText {
		content, err := json.Marshal(value)
		if err != nil {
			content = []byte(fmt.Sprint(value))
		}
		said = string(content)
	}
	const longest = 120
	if letters := []rune(said); len(letters) > longest {
		said = string(letters[:longest]) + "…"
	}
	return "`" + strings.ReplaceAll(said, "`", "'") + "`"
}
