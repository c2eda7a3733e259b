package archive

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestName bounds a name in bytes.
const longestName = 255

// Name is the name of the n-th file of a delivery, from 1, such as "000001-bgt.xml": names sort as their files are
// processed up to 999,999 (MUT-27).
func Name(n int, dataset string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			return r
		}
		return '-'
	}, dataset)
	return fmt.Sprintf("%06d-%.60s.xml", n, clean)
}

// checkName refuses names that would lead outside a folder, or that hide something.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > longestName || !utf8.ValidString(name):
		return fault(ErrName, "%.60q", name)
	case strings.ContainsAny(name, `\:`) || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, ".."):
		return fault(ErrName, "%.60q leads elsewhere", name)
	case strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return fault(ErrName, "%.60q has characters that cannot be shown", name)
	}
	for _, kind := range []string{".zip", ".gz", ".tar", ".7z", ".bz2", ".xz", ".zst"} {
		if strings.HasSuffix(strings.ToLower(name), kind) {
			return fault(ErrName, "%.60q is an archive in an archive", name)
		}
	}
	return nil
}
