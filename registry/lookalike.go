package registry

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// LooksLike reports whether people may take one name for another: they have the same skeleton, or, where both are longer than six letters, skeletons
// that one typing error makes the same, or one has the words of the other, or its letters as whole words, with more around or between them. Names
// that are the same look alike too.
func LooksLike(a, b string) bool {
	a, b = withoutDomain(a), withoutDomain(b)
	one, other := []rune(Skeleton(a)), []rune(Skeleton(b))
	if len(one) == 0 || len(other) == 0 {
		return false
	}
	const long = 6
	return string(one) == string(other) || len(one) > long && len(other) > long && oneSlip(one, other) || extends(a, b) || extends(b, a)
}

// leastLike is the shortest name that is looked for among the words of another.
const leastLike = 3

// extends reports whether a longer name has all words of a shorter one, in any order, or a row of words that joined are the shorter one joined.
func extends(shorter, longer string) bool {
	few, many := nameWords(shorter), nameWords(longer)
	joined := Skeleton(shorter)
	if len([]rune(joined)) < leastLike {
		return false
	}
	for i := range many {
		for end := i + 1; end <= len(many); end++ {
			if sameShapes.Replace(strings.Join(many[i:end], "")) == joined {
				return true
			}
		}
	}
	for _, w := range few {
		at := slices.Index(many, w)
		if at < 0 {
			return false
		}
		many = slices.Delete(many, at, at+1)
	}
	return true
}

// withoutDomain leaves out the end of a name that is written as the address of a site, as in example.nl.
func withoutDomain(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if at := strings.LastIndexByte(w, '.'); at > 0 && domainEnds[strings.ToLower(w[at+1:])] {
			words[i] = w[:at]
		}
	}
	return strings.Join(words, " ")
}

// domainEnds are the top-level domains with which organisations here write their names.
var domainEnds = wordSet("nl no com org net eu info nu be de")

// Skeleton returns what is left of a name when everything is taken out that readers do not notice. As in Unicode TR39, letters that look
// the same become one: those of Latin, Greek and Cyrillic, with or without accents, capitals or not, and the digits that look like
// them. Beyond that the legal form, spaces and punctuation are left out.
func Skeleton(name string) string {
	return sameShapes.Replace(strings.Join(nameWords(name), ""))
}

// sameShapes makes letters and digits that look the same one.
var sameShapes = strings.NewReplacer("rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "j", "l", "5", "s")

// nameWords lists the words of a name in small Latin letters, without its legal form.
func nameWords(name string) []string {
	var letters strings.Builder
	for _, r := range norm.NFKD.String(name) {
		letters.WriteString(latin(r))
	}
	words := strings.FieldsFunc(strings.NewReplacer(".", "", "'", "", "’", "").Replace(letters.String()), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var kept []string
	for _, w := range words {
		if !legalForms[w] {
			kept = append(kept, sameShapes.Replace(w))
		}
	}
	if kept == nil {
		return words // a name of legal forms alone
	}
	return kept
}

// latin writes a character of a decomposed name as the small Latin letter that it looks like; nothing for an accent.
func latin(r rune) string {
	if unicode.Is(unicode.Mn, r) || hidden(r) {
		return ""
	}
	if r == '|' {
		return "l"
	}
	if text, ok := lookalikes[r]; ok {
		return text
	}
	r = unicode.ToLower(r)
	if text, ok := lookalikes[r]; ok {
		return text
	}
	return string(r)
}

// oneSlip reports whether one letter too many, another letter, or two letters that changed places make two texts the same.
func oneSlip(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	rest, other := string(a[i:]), string(b[i:])
	switch len(b) - len(a) {
	case 0:
		return string(a[i+1:]) == string(b[i+1:]) ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && string(a[i+2:]) == string(b[i+2:])
	case 1:
		return rest == string([]rune(other)[1:])
	}
	return false
}

// legalForms are the words of a name that tell the legal form of an organisation, as Skeleton writes letters before it joins
// what looks the same.
var legalForms = wordSet("stichting vereniging cooperatie bv nv vof cv ua mts eenmanszaak " +
	"as asa ans da sa ba sf iks kf nuf enk stiftelse stiftelsen foundation association gmbh ag ltd llc plc inc sarl ab aps oy")

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// lookalikes gives the Latin letters that others look like: those of Greek, Cyrillic and Armenian, and Latin ones that are no letter
// with an accent to Unicode. A capital has an entry of its own where it looks like another letter than the small one.
var lookalikes = lookalikeTable(
	"аaᴀaɑaαaΑaАa", "вbВbΒbβbьbЬbʙbƀb", "сcСcϲcϹcᴄcƈc", "ԁdԀdđdðdɗdᴅd", "еeЕeεeΕeєeЄeҽeɛeᴇe", "ƒf", "ɡgցgɢg", "һhНhнhΗhհhħhʜh",
	"іiІiιiΙiıiɩiӏlӀlɪi", "јjЈjյjȷj", "кkКkκkΚkᴋk", "łlʟl", "мmМmΜmᴍm", "ηnΝnոnɴnпnПnńnŋn", "оoОoοoΟoօoՕoøoσoᴏoɵo", "рpРpρpΡpᴘp",
	"ԛqԚq", "гrᴦrʀrɼr", "ѕsЅsꜱsʂs", "тtТtτtΤtᴛtŧt", "υuսuᴜuʋu", "νvѵvѴvᴠv", "ԝwԜwωwшwШwᴡw", "хxХxχxΧxᶍx", "уyУyΥyγyүyҮyʏy", "ΖzᴢzƵzƶz",
	"μuйuЙuиuИuлnЛn",
)

// lookalikeTable reads pairs of a character and the letter that it looks like, and adds those that look like two letters.
func lookalikeTable(rows ...string) map[rune]string {
	table := map[rune]string{'æ': "ae", 'œ': "oe", 'ß': "ss", 'þ': "p", 'ы': "bl", 'ю': "lo", 'з': "3", 'З': "3", 'б': "6"}
	for _, row := range rows {
		pair := []rune(row)
		for i := 0; i+1 < len(pair); i += 2 {
			table[pair[i]] = string(pair[i+1])
		}
	}
	return table
}

// freeMail are the domains where anyone gets a mailbox, as the first label of the name where a provider has one in each country.
var freeMail = wordSet("gmail googlemail outlook hotmail live msn yahoo ymail icloud me mac protonmail proton pm gmx aol zoho fastmail yandex " +
	"tutanota tuta hey duck mail.com mail.ru web.de t-online.de ziggo.nl kpnmail.nl kpnplanet.nl planet.nl home.nl xs4all.nl hetnet.nl upcmail.nl casema.nl " +
	"chello.nl quicknet.nl telfort.nl tele2.nl zonnet.nl solcon.nl wxs.nl freeler.nl online.no frisurf.no getmail.no start.no broadpark.no mailbox.org posteo.de")

// MailDomain returns the domain of an e-mail address.
func MailDomain(email string) string {
	_, domain, _ := strings.Cut(CleanEmail(email), "@")
	return domain
}

// FreeMail reports whether anyone gets a mailbox at a domain: that somebody has an address there says nothing of an organisation.
func FreeMail(domain string) bool {
	first, rest, _ := strings.Cut(domain, ".")
	return freeMail[domain] || freeMail[first] && strings.Count(rest, ".") < 2 && len(rest) <= 6
}

// SameMailDomain reports whether two addresses are of one organisation by their domains, or one that looks like it; those of free mail
// providers are not.
func SameMailDomain(a, b string) bool {
	one, other := MailDomain(a), MailDomain(b)
	if one == "" || other == "" || FreeMail(one) || FreeMail(other) {
		return false
	}
	return strings.HasSuffix("."+one, "."+other) || strings.HasSuffix("."+other, "."+one) || Skeleton(one) == Skeleton(other)
}
