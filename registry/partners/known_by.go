package partners

import (
	"schakel/registry"
	"schakel/templates/i18n"
)

// The numbers by which an organisation may be known.
const (
	ByOIN    = "oin"
	ByKVK    = "kvk"
	ByBRIN   = "brin"
	ByHealth = "health" // a Norwegian party in health: organisasjonsnummer and HER-id
)

// KnownBy lists the numbers by which an organisation may be known.
func KnownBy() []string { return []string{ByOIN, ByKVK, ByBRIN, ByHealth} }

// knownBy is the number that is given, where it is not chosen.
func (in Registration) knownBy() string {
	switch {
	case in.By != "":
		return in.By
	case in.OIN != "":
		return ByOIN
	case in.OrgNumber != "" || in.HerID != "":
		return ByHealth
	case in.BRIN != "":
		return ByBRIN
	case in.KVK != "":
		return ByKVK
	}
	return ByOIN
}

// onlyKnownBy leaves out the numbers that were not chosen: a form without scripts shows the fields of all.
func (in Registration) onlyKnownBy() Registration {
	if in.By == "" {
		return in
	}
	if in.By != ByOIN {
		in.OIN = ""
	}
	if in.By != ByOIN && in.By != ByKVK {
		in.KVK = ""
	}
	if in.By != ByBRIN {
		in.BRIN = ""
	}
	if in.By != ByHealth {
		in.OrgNumber, in.HerID = "", ""
	}
	return in
}

// checkNumbers asks for the number by which the organisation is known, and checks all that are given.
func (in Registration) checkNumbers(wrong registry.Problems) {
	missing := func(number, field string, text i18n.Message) { wrong.AddIf(number == "", field, text) }
	switch in.knownBy() {
	case ByOIN:
		missing(in.OIN, "oin", "partners.number.oin-or-other")
		wrong.Add("oin", CheckOIN(in.OIN))
	case ByKVK:
		missing(in.KVK, "kvk", "partners.number.kvk-missing")
	case ByBRIN:
		missing(in.BRIN, "brin", "partners.number.brin-missing")
	case ByHealth:
		missing(in.OrgNumber, "orgNumber", "partners.number.orgnr-missing")
		missing(in.HerID, "herId", "partners.number.her-missing")
	default:
		wrong.Add("by", "partners.number.by-bad")
	}
	wrong.Add("kvk", CheckKVK(in.KVK, in.OIN))
	wrong.Add("brin", CheckBRIN(in.BRIN))
	wrong.Add("orgNumber", CheckOrgNumber(in.OrgNumber))
	wrong.Add("herId", CheckHerID(in.HerID))
}
