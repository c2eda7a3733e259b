package registry

import "testing"

func TestLooksLike(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		like bool
	}{
		{"Kadaster", "Kadaster", true},
		{"Kadaster", "Кadаstеr", true},      // Cyrillic К, а, е
		{"Kadaster", "Κаdaster", true},      // Greek and Cyrillic
		{"Kadaster", "KADASTER B.V.", true}, // capitals and a legal form
		{"Kadaster", "Stichting Kadaster", true},
		{"Kadaster", "Kadàster", true},
		{"Kadaster", "K a d a s t e r", true},
		{"Kadaster", "Ｋadaster", true}, // full width
		{"Kadaster", "𝐊adaster", true}, // mathematical bold
		{"Universiteit Leiden", "Universiteit Lelden", true},
		{"DUO", "DU0", true},
		{"Illium", "lllium", true},
		{"Inland", "1nland", true},
		{"Modernisering", "Modemisering", true}, // rn and m
		{"Oslo kommune", "Øslo Kommune AS", true},
		{"Scholengroep Noord", "Scholengroep Nord", true},  // a letter less
		{"Scholengroep Noord", "Scholengroep Noodr", true}, // changed places
		{"Scholengroep Noord", "Scholengroep Zuid", false},
		{"Noord", "Nord", false},        // too short for a typing error
		{"Kennisnet", "Kenisnet", true}, // of eight letters
		{"Scholengroep Noord", "Scholengroep Noord Nederland", true},
		{"Kennisnet", "Stichting Kennisnet Diensten B.V.", true},
		{"Scholengroep Noord", "De Scholengroep Noord", true},
		{"Scholengroep Noord", "Scholengroep Noordwijk", false},
		{"Gemeente Utrecht", "Gemeente Utrechtse Heuvelrug", false},
		{"Gemeente Utrecht", "Gemeente Maastricht", false},
		{"Scholengroep Noord", "ScholengroepNoord Advies", true},
		{"Scholengroep Noord", "Noord Scholengroep", true},
		{"Scholengroep Noord", "Scholengroep Regio Noord", true},
		{"Kennisnet", "Kennisnet.nl", true},
		{"Kennisnet", "Kennis net Support", true},
		{"SURF", "SURF Beheer", true},
		{"DUO", "DUO Zakelijk", true},
		{"DUO", "Duolingo", false},
		{"Stichting", "Vereniging", false},
		{"Stichting", "Stichting", true},
		{"", "", false},
	} {
		if got := LooksLike(test.a, test.b); got != test.like {
			t.Errorf("%q and %q (%q, %q): %v", test.a, test.b, Skeleton(test.a), Skeleton(test.b), got)
		}
		if got := LooksLike(test.b, test.a); got != test.like {
			t.Errorf("%q and %q differ the other way round", test.a, test.b)
		}
	}
}

func TestSameMailDomain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"a@kadaster.nl", "b@kadaster.nl", true},
		{"a@ict.kadaster.nl", "b@Kadaster.nl", true},
		{"a@kadaster.nl", "b@notkadaster.nl", false},
		{"a@kadaster.nl", "b@kadаster.nl", true}, // Cyrillic а
		{"a@gmail.com", "b@gmail.com", false},
		{"a@outlook.nl", "b@outlook.nl", false},
		{"a@yahoo.co.uk", "b@yahoo.co.uk", false},
		{"a@live.oslo.kommune.no", "b@live.oslo.kommune.no", true}, // a department, and no provider
		{"", "", false},
	} {
		if got := SameMailDomain(test.a, test.b); got != test.same {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"Scholengroep Noord": true, "Ærø kommune": true, "मराठी": true, "O’Neill & Söhne (Oss)": true,
		"Noord\u200d": false, "No\u200cord": false, "\u3164\u3164": false, "No\u2800ord": false, "Noord\ufe0f": false, "No\u115ford": false,
		"Noord\u202etset": false, "Noord\ue000": false, "\u2066Noord\u2069": false,
	} {
		if text := CheckName(name, 2, 120); (text == "") != fine {
			t.Errorf("%+q: %q", name, text)
		}
	}
	if got := CleanName("  Ko\u0308ln \u00a0 Su\u0308d "); got != "Köln Süd" {
		t.Errorf("cleaned name is %+q", got)
	}
}
