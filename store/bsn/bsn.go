// Package bsn applies the test of eleven, by which numbers of Dutch citizens and pupils are recognised. One in eleven other
// numbers passes it too: it finds what may be such a number, and proves none. The package imports nothing.
package bsn

// Remainders of the test of eleven.
const (
	Citizen   = 0 // a citizen service number (BSN)
	Education = 5 // an education number, when it begins with 1
)

// Remainder returns the remainder by 11 of nine digits with the weights 9 to 2 and -1. It reports false for any other word and for
// nine zeros, which are nobody's number.
func Remainder(word string) (int, bool) {
	if len(word) != 9 || word == "000000000" {
		return 0, false
	}
	sum := 0
	for i := range 9 {
		if word[i] < '0' || word[i] > '9' {
			return 0, false
		}
		weight := 9 - i
		if weight == 1 {
			weight = -1
		}
		sum += weight * int(word[i]-'0')
	}
	return (sum%11 + 11) % 11, true
}
