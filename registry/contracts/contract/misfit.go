package contract

import (
	"slices"

	"schakel/templates/i18n"
)

// misfit holds why a value does not fit and where in the value; nil when it fits.
type misfit struct {
	path []string // innermost first
	key  string   // of the text
	args []any
}

// text says why; most misfits are of a form that was only tried, and need none.
func (m *misfit) text() i18n.Message {
	args := slices.Clone(m.args)
	for i, arg := range args {
		switch shown := arg.(type) {
		case shownValue:
			args[i] = quoteValue(shown.value)
		case shownTypes:
			args[i] = anyOf(shown[:min(len(shown), 16)])
		}
	}
	return i18n.M(m.key, args...)
}

// anyOf lists types.
func anyOf(types []string) i18n.Message {
	if len(types) == 1 {
		return i18n.Raw(types[0])
	}
	half := len(types) / 2
	return i18n.M("findings.or", anyOf(types[:half]), anyOf(types[half:]))
}

// shownTypes is an argument of a misfit that anyOf writes; there is one at least.
type shownTypes []string

// shownValue is an argument of a misfit that quoteValue writes when it is told.
type shownValue struct{ value any }

func (m *misfit) within(token string) *misfit {
	if m != nil {
		m.path = append(m.path, token)
	}
	return m
}

// at gives the place of the misfit below that of the value.
func (m *misfit) at(value *place) *place {
	path := slices.Clone(m.path)
	slices.Reverse(path)
	return value.to(path...)
}

func wrongValue(key string, args ...any) *misfit { return &misfit{key: key, args: args} }
