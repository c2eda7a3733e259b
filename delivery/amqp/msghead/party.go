package msghead

import (
	"strconv"
	"strings"

	"schakel/registry/xmlscan"
)

// TypeHER is the code of an id in the address registry, a HER-id.
const TypeHER = "HER"

// Party is a sender or receiver: an organisation, and within it at most one unit or one person that the message is
// really from or to.
type Party struct {
	// Organisation is the highest level.
	Organisation Unit
	// Unit is the lowest organisation within it, nil when there is none.
	Unit *Unit
	// Person is the health-care professional, nil when there is none.
	Person *Unit
}

// Unit is an organisation or a person with its ids.
type Unit struct {
	Name   string
	Idents []Ident
}

// Ident is an id of a unit.
type Ident struct {
	ID string
	// Type names the kind of id: HER, ENH, HPR and so on in V.
	Type Code
}

// HerID is the HER-id of a unit, 0 when it has none that is a number.
func (u *Unit) HerID() int {
	if u == nil {
		return 0
	}
	for _, ident := range u.Idents {
		if ident.Type.V == TypeHER {
			if id, ok := ParseHerID(ident.ID); ok {
				return id
			}
		}
	}
	return 0
}

// HerID is the HER-id of the communication party, 0 when there is none: that of the unit within the organisation, else
// of the person, else of the organisation itself. It is the one that stands in fromHerId and toHerId (AMQP-108,
// AMQP-109).
func (p Party) HerID() int {
	for _, unit := range []*Unit{p.Unit, p.Person, &p.Organisation} {
		if id := unit.HerID(); id != 0 {
			return id
		}
	}
	return 0
}

// ParentHerID is the HER-id of the organisation when it is not the communication party itself, else 0.
func (p Party) ParentHerID() int {
	if id := p.Organisation.HerID(); id != p.HerID() {
		return id
	}
	return 0
}

// Name is the name of the communication party.
func (p Party) Name() string {
	for _, unit := range []*Unit{p.Unit, p.Person} {
		if unit.HerID() != 0 {
			return unit.Name
		}
	}
	return p.Organisation.Name
}

// ParseHerID reads a HER-id: a positive number of at most nine digits.
func ParseHerID(text string) (int, bool) {
	if len(text) == 0 || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	id, err := strconv.Atoi(text)
	return id, err == nil && id > 0
}

// readParty reads a Sender or Receiver. Of organisations within organisations the lowest with a HER-id is the unit.
func readParty(n *xmlscan.Node) Party {
	top := n.Find("Organisation")
	party := Party{Organisation: readUnit(top, "OrganisationName")}
	for at := top; at != nil; at = at.Find("Organisation") {
		if unit := readUnit(at, "OrganisationName"); at != top && (party.Unit == nil || unit.HerID() != 0) {
			party.Unit = &unit
		}
		if person := at.Find("HealthcareProfessional"); person != nil && party.Person == nil {
			unit := readUnit(person, "")
			party.Person = &unit
		}
	}
	return party
}

// readUnit reads the name and the ids of an organisation, or of a person when there is no name element.
func readUnit(n *xmlscan.Node, name string) Unit {
	unit := Unit{Name: n.Find(name).Text()}
	if name == "" {
		parts := []string{n.Find("GivenName").Text(), n.Find("MiddleName").Text(), n.Find("FamilyName").Text()}
		unit.Name = strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
	}
	for _, ident := range n.All("Ident") {
		unit.Idents = append(unit.Idents, Ident{ID: ident.Find("Id").Text(), Type: readCode(ident.Find("TypeId"))})
	}
	return unit
}

// readCode reads a coded value; an absent element has none.
func readCode(n *xmlscan.Node) Code {
	return Code{V: n.Attribute("V"), S: n.Attribute("S"), DN: n.Attribute("DN")}
}
