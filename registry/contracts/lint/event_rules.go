package lint

import "schakel/registry/contracts/contract"

// eventRules lists the rules for AsyncAPI documents: what the Edukoppeling profile and NL GOV CloudEvents ask of events.
func eventRules() []Rule {
	const e, w, i = contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo
	rules := []Rule{
		{Code: "event-type-name", ID: "CE-12", Link: eventsLink, Severity: e, Title: "Let a type start with a domain name turned around", Remedy: "Name it as nl.example.student.enrolled, in lower case."},
		{Code: "event-type-version", ID: "CE-13", Link: eventsLink, Severity: e, Title: "Give a type at most one version number, with a v before it", Remedy: "End the type with .v2, without a minor version."},
		{Code: "event-type-domain", ID: "CE-14", Link: eventsLink, Severity: i, Title: "Call a domain by a plural", Remedy: "Name the data source, such as nl.brp, or else the domain as a plural, such as nl.students."},
		{Code: "event-object-reference", ID: "EDU-01", Link: profileLink, Severity: w, Title: "Refer to the object that the event is about", Remedy: "Add the attribute subject or dataref, or a property of the data that identifies the object, such as studentId."},
		{Code: "event-sensitive", ID: "EDU-26", Link: profileLink, Severity: w, Title: "Keep what is sensitive out of context attributes", Remedy: "Move it into the data, and use a key in the attribute that means nothing by itself."},
		{Code: "event-time-meaning", ID: "CE-20", Link: eventsLink, Severity: w, Title: "Say what the attribute time means", Remedy: "Describe the property time of the event, such as: when the change was recorded."},
		{Code: "event-id-meaning", ID: "CE-07", Link: eventsLink, Severity: w, Title: "Say what the attribute id is", Remedy: "Describe the property id of the event: which number identifies the event for good, or that it is a UUID."},
		{Code: "event-source", ID: "CE-08", Link: eventsLink, Severity: w, Title: "Let source be a URN of the Netherlands", Remedy: "Write it as urn:nld:oin:00000001823288444000:systeem:naam, or urn:nld:kvknr: with a number of the trade register."},
		{Code: "event-attributes", ID: "CE-01", Link: eventsLink, Severity: e, Title: "Show events that are valid CloudEvents", Remedy: "Mend the example, so that who copies it sends what is taken in."},
		{Code: "event-attribute-names", ID: "CE-02", Link: eventsLink, Severity: e, Title: "Name attributes with lower-case letters and digits alone", Remedy: "Name it as partitionkey, of at most 20 characters."},
		{Code: "event-dataschema", ID: "CE-18", Link: eventsLink, Severity: e, Title: "Let dataschema be an absolute URI", Remedy: "Write the whole address of the schema, such as that of the version in this register."},
		{Code: "event-data-json", ID: "CE-17", Link: eventsLink, Severity: w, Title: "Send data as JSON", Remedy: "Let datacontenttype be application/json, or leave it out."},
		{Code: "event-size", ID: "CE-31", Link: eventsLink, Severity: w, Title: "Keep an event within 64 KiB", Remedy: "Leave the data out and refer to it by dataref."},
		{Code: "event-aggregate", ID: "EDU-01b", Link: profileLink, Severity: w, Title: "Tell of one occurrence, not of everything around it", Remedy: "Send an event for each entity, or a reference to the whole."},
	}
	for n := range rules {
		rules[n].Set = SetEvents
	}
	return rules
}
