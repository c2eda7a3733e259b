package partners

import (
	"cmp"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// CheckOIN returns the problem, as a sentence, of an organisation identification number (SEC-15); empty when it may be one. It
// has 20 places: a register in 8, a number of 8 or 9, zeros. Only what cannot be right is refused: the check on the digits of an
// RSIN, and a register outside the published table's range. A number of an educational institution (BRIN) may hold capitals.
func CheckOIN(oin string) i18n.Message {
	const prefixRSIN, prefixBRIN = "00000001", "00000007"
	digits := registry.AllDigits(oin)
	switch {
	case oin == "":
		return "partners.number.oin-missing"
	case len(oin) != 20 && digits && len(oin) == 9:
		return "partners.number.oin-rsin"
	case len(oin) != 20 && digits && len(oin) == 8:
		return "partners.number.oin-kvk"
	case len(oin) != 20:
		return "partners.number.oin-length"
	case !digits && !(strings.HasPrefix(oin, prefixBRIN) && registry.AllOf(oin, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")):
		return "partners.number.oin-digits"
	case !strings.HasPrefix(oin, "000000") || strings.HasPrefix(oin, "00000000"):
		return "partners.number.oin-register"
	case strings.Trim(oin[8:], "0") == "":
		return "partners.number.oin-rest"
	case strings.HasPrefix(oin, prefixRSIN) && !elevenProof(oin[8:17]):
		return "partners.number.oin-check"
	}
	return ""
}

// elevenProof is the check on nine digits: weights 9 to 2 and -1, a multiple of 11.
func elevenProof(nine string) bool {
	sum := -int(nine[8] - '0')
	for i := range 8 {
		sum += (9 - i) * int(nine[i]-'0')
	}
	return sum%11 == 0
}

// CheckKVK returns the problem of a KvK number; an empty one is fine.
func CheckKVK(kvk, oin string) i18n.Message {
	if kvk == "" {
		return ""
	}
	if len(kvk) != 8 || !registry.AllDigits(kvk) || kvk == "00000000" {
		return "partners.number.kvk-length"
	}
	if rest, ok := strings.CutPrefix(oin, "00000003"); ok && len(oin) == 20 && rest[:8] != kvk {
		return i18n.M("partners.number.kvk-other", rest[:8])
	}
	return ""
}

// CheckHerID returns the problem of a HER-id, the number of a communication
// party in the Norwegian address register; an empty one is fine.
func CheckHerID(id string) i18n.Message {
	if id == "" {
		return ""
	}
	if len(id) > 8 || !registry.AllDigits(id) || id[0] == '0' {
		return "partners.number.her-bad"
	}
	return ""
}

// CheckOrgNumber explains the fault of an organisasjonsnummer of the Norwegian register of units; an empty one is fine. It has nine
// digits, of which the last is a check digit: weights 3, 2, 7, 6, 5, 4, 3, 2, modulo 11.
func CheckOrgNumber(number string) i18n.Message {
	switch {
	case number == "":
		return ""
	case len(number) != 9 || !registry.AllDigits(number) || number[0] == '0':
		return "partners.number.orgnr-length"
	}
	sum := int(number[8] - '0')
	for i, weight := range []int{3, 2, 7, 6, 5, 4, 3, 2} {
		sum += weight * int(number[i]-'0')
	}
	if sum%11 != 0 {
		return "partners.number.orgnr-check"
	}
	return ""
}

// Numbers says by which numbers an organisation is known, for people: its OIN, its BRIN, its organisasjonsnummer and HER-id, or its KvK
// number where it has none of these.
func Numbers(p store.Partner) string {
	var known []string
	for _, n := range []struct {
		label, number string
		tell          bool
	}{
		{"OIN", p.OIN, true},
		{"BRIN", p.BRIN, true},
		{"organisasjonsnummer", p.OrgNumber, true},
		{"HER-id", p.HerID, p.OIN == ""},
		{"KvK", p.KVK, Number(p) == p.KVK},
	} {
		if n.number != "" && n.tell {
			known = append(known, n.label+" "+n.number)
		}
	}
	return strings.Join(known, ", ")
}

// Number returns the one number by which an organisation is known best.
func Number(p store.Partner) string { return cmp.Or(p.OIN, p.BRIN, p.OrgNumber, p.KVK) }

// CheckBRIN returns the problem of a BRIN, the number of a Dutch school: two digits and two letters, or six characters with the two
// digits of a location; it has no check digit. An empty one is fine.
func CheckBRIN(brin string) i18n.Message {
	if brin == "" {
		return ""
	}
	if (len(brin) != 4 && len(brin) != 6) || !registry.AllDigits(brin[:2]) || !registry.AllOf(brin[2:4], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ||
		!registry.AllOf(brin[4:], "0123456789") {
		return "partners.number.brin-bad"
	}
	return ""
}

// compact takes out the spaces, dots and dashes people write in numbers.
func compact(number string) string {
	return strings.NewReplacer(" ", "", ".", "", "-", "", "\u00a0", "").Replace(strings.TrimSpace(number))
}
