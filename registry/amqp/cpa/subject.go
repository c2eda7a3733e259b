package cpa

import (
	"maps"
	"slices"
)

// CodeList8279 is the OID of the code list of message functions, which gives the subjects (AMQP-21).
const CodeList8279 = "2.16.578.1.12.4.1.1.8279"

// Subjects gives the codes of code list 8279 that are known to be in use on the exchange, with their texts, from which
// an operator's list of allowed subjects starts; the code list itself grows.
func Subjects() map[string]string {
	return map[string]string{
		"APPREC":                                    "Applikasjonskvittering",
		"DIALOG_FORESPORSEL":                        "Forespørsel",
		"DIALOG_HELSEFAGLIG":                        "Helsefaglig dialog",
		"DIALOG_SVAR":                               "Svar på forespørsel",
		"DIALOG_INNBYGGER_AVTALEUTSENDING":          "Dialog med innbygger - avtaleutsending",
		"DIALOG_INNBYGGER_BEHANDLEROVERSIKT":        "Dialog med innbygger - behandleroversikt",
		"DIALOG_INNBYGGER_DIGITALBRUKER":            "Dialog med innbygger - digital bruker",
		"DIALOG_INNBYGGER_EKONSULTASJON":            "Dialog med innbygger - eKonsultasjon",
		"DIALOG_INNBYGGER_EKONTAKT":                 "Dialog med innbygger - eKontakt",
		"DIALOG_INNBYGGER_FINN_DOKUMENTER":          "Dialog med innbygger - finn dokumenter",
		"DIALOG_INNBYGGER_HELSEREGISTER":            "Dialog med innbygger - helseregister",
		"DIALOG_INNBYGGER_HENT_DOKUMENTER":          "Dialog med innbygger - hent dokumenter",
		"DIALOG_INNBYGGER_HL7_DOKUMENTNOTIFIKASJON": "Dialog med innbygger - dokumentnotifikasjon",
		"DIALOG_INNBYGGER_HREG_MELDE_FEIL":          "Dialog med innbygger - melde feil",
		"DIALOG_INNBYGGER_KOORDINATOR":              "Dialog med innbygger - koordinator",
		"DIALOG_INNBYGGER_OPPGAVE":                  "Dialog med innbygger - oppgave",
		"DIALOG_INNBYGGER_RESEPTFORNYELSE":          "Dialog med innbygger - reseptfornyelse",
		"DIALOG_INNBYGGER_TEST":                     "Dialog med innbygger - test",
		"DIALOG_INNBYGGER_TIMEONSKE":                "Dialog med innbygger - timeønske",
		"DIALOG_INNBYGGER_TIMEONSKEUNGDOM":          "Dialog med innbygger - timeønske ungdom",
		"DIALOG_INNBYGGER_TIMER":                    "Dialog med innbygger - timer",
		"DIALOG_INNBYGGER_TIMERESERVASJON":          "Dialog med innbygger - timereservasjon",
		"DIALOG_INNBYGGER_TJENESTEOVERSIKT":         "Dialog med innbygger - tjenesteoversikt",
		"NOTIFIKASJON_INNBYGGER_TIME":               "Notifikasjon til innbygger - time",
	}
}

// SubjectCodes lists the codes of Subjects in order.
func SubjectCodes() []string { return slices.Sorted(maps.Keys(Subjects())) }
