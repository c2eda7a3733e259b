package partners

import (
	"strings"

	"schakel/registry"
	"schakel/store"
)

// CheckOIN returns the problem, as a sentence, of an organisation identification number (SEC-15); empty when it may be one. It
// has 20 places: a register in 8, a number of 8 or 9, zeros. Only what cannot be right is refused: the check on the digits of an
// RSIN, and a register outside the published table's range. A number of an educational institution (BRIN) may hold capitals.
func CheckOIN(oin string) string {
	const prefixRSIN, prefixBRIN = "00000001", "00000007"
	digits := registry.AllDigits(oin)
	switch {
	case oin == "":
		return "Fill in the OIN: 20 digits."
	case len(oin) != 20 && digits && len(oin) == 9:
		return "This looks like an RSIN. The OIN has 20 digits: 00000001, the RSIN, 000."
	case len(oin) != 20 && digits && len(oin) == 8:
		return "This looks like a KvK number. The OIN has 20 digits: 00000003, the KvK number, 0000."
	case len(oin) != 20:
		return "An OIN has exactly 20 digits."
	case !digits && !(strings.HasPrefix(oin, prefixBRIN) && registry.AllOf(oin, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")):
		return "An OIN has digits only."
	case !strings.HasPrefix(oin, "000000") || strings.HasPrefix(oin, "00000000"):
		return "The first 8 digits name the register, such as 00000001 (RSIN) or 00000003 (KvK); these name none."
	case strings.Trim(oin[8:], "0") == "":
		return "The number after the first 8 digits is missing."
	case strings.HasPrefix(oin, prefixRSIN) && !elevenProof(oin[8:17]):
		return "The RSIN in this OIN (digits 9 to 17) is not right: its check digit does not fit. Look for a typing error."
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
func CheckKVK(kvk, oin string) string {
	if kvk == "" {
		return ""
	}
	if len(kvk) != 8 || !registry.AllDigits(kvk) || kvk == "00000000" {
		return "A KvK number has 8 digits."
	}
	if rest, ok := strings.CutPrefix(oin, "00000003"); ok && len(oin) == 20 && rest[:8] != kvk {
		return "This is another KvK number than the one in the OIN (" + rest[:8] + ")."
	}
	return ""
}

// CheckHerID returns the problem of a HER-id, the number of a communication
// party in the Norwegian address register; an empty one is fine.
func CheckHerID(id string) string {
	if id == "" {
		return ""
	}
	if len(id) > 8 || !registry.AllDigits(id) || id[0] == '0' {
		return "A HER-id is a number of at most 8 digits."
	}
	return ""
}

// CheckOrgNumber explains the fault of an organisasjonsnummer of the Norwegian register of units; an empty one is fine. It has nine
// digits, of which the last is a check digit: weights 3, 2, 7, 6, 5, 4, 3, 2, modulo 11.
func CheckOrgNumber(number string) string {
	switch {
	case number == "":
		return ""
	case len(number) != 9 || !registry.AllDigits(number) || number[0] == '0':
		return "An organisasjonsnummer has 9 digits."
	}
	sum := int(number[8] - '0')
	for i, weight := range []int{3, 2, 7, 6, 5, 4, 3, 2} {
		sum += weight * int(number[i]-'0')
	}
	if sum%11 != 0 {
		return "This organisasjonsnummer is not right: its check digit does not fit. Look for a typing error."
	}
	return ""
}

// Numbers says by which numbers an organisation is known, for people: its OIN, or its organisasjonsnummer and HER-id.
func Numbers(p store.Partner) string {
	var known []string
	for _, n := range [][2]string{{"OIN", p.OIN}, {"organisasjonsnummer", p.OrgNumber}, {"HER-id", p.HerID}} {
		if n[1] != "" && (n[0] != "HER-id" || p.OIN == "") {
			known = append(known, n[0]+" "+n[1])
		}
	}
	return strings.Join(known, ", ")
}

// compact takes out the spaces, dots and dashes people write in numbers.
func compact(number string) string {
	return strings.NewReplacer(" ", "", ".", "", "-", "", "\u00a0", "").Replace(strings.TrimSpace(number))
}
