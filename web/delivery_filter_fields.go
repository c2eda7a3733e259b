package web

import (
	"cmp"
	"context"
	"slices"

	"schakel/store"
	"schakel/templates"
)

// filterFields are the questions of the filter above a queue.
func (p *portal) filterFields(ctx context.Context, queue deliveryQueue, q deliveryQuery, partner string, wrong formErrors, names *deliveryNames) ([]templates.Field, error) {
	var fields []templates.Field
	if queue.admin {
		options, err := p.partnerOptions(ctx, names)
		if err != nil {
			return nil, err
		}
		fields = append(fields, choiceField("partner", "Partner", q.partner, options))
	}
	endpoints, err := p.endpointOptions(ctx, cmp.Or(partner, q.partner), names)
	if err != nil {
		return nil, err
	}
	types, err := p.typeOptions(ctx, partner)
	if err != nil {
		return nil, err
	}
	reasons, err := p.reasonOptions(ctx, queue, partner)
	if err != nil {
		return nil, err
	}
	fields = append(fields, choiceField("endpoint", "Endpoint", q.endpoint, endpoints), choiceField("type", "Event type", q.eventType, types))
	fields = append(fields, stateField(queue, q)...)
	fields = append(fields, choiceField("kind", "Kind of error", q.reason, reasons),
		templates.Field{Name: "event", Label: "Delivery or event id", Value: q.event, MaxLength: maxFilterText},
		templates.Field{Name: "subject", Label: "Subject", Value: q.subject, MaxLength: maxFilterText},
		templates.Field{Name: "from", Label: "Changed from", Type: momentField(q.from), Value: q.from},
		templates.Field{Name: "until", Label: "Changed until", Type: momentField(q.until), Value: q.until})
	if q.made != "" {
		fields = append(fields, templates.Field{Name: "made", Label: "Made from", Type: momentField(q.made), Value: q.made})
	}
	if q.subscription != "" {
		fields = append(fields, templates.Field{Name: "subscription", Label: "Subscription", Value: q.subscription, MaxLength: maxFilterText})
	}
	if q.job != "" {
		fields = append(fields, templates.Field{Name: "job", Label: "Resend or replay (job)", Value: q.job, MaxLength: maxFilterText})
	}
	return withErrors(fields, wrong), nil
}

// stateField asks for a state, or in the error queue for which held deliveries.
func stateField(queue deliveryQueue, q deliveryQuery) []templates.Field {
	switch {
	case queue.errors:
		return []templates.Field{choiceField("show", "Show", q.show, []templates.Option{
			{Value: showRefused, Label: "Refused by the other side"},
			{Value: showStopped, Label: "Waiting for a stopped endpoint or subscription"},
			{Value: showHeld, Label: "Everything that is held"},
		})}
	case len(queue.statuses) > 0:
		return nil
	}
	options := []templates.Option{{Label: "All states"}}
	for _, status := range deliveryStatuses() {
		options = append(options, templates.Option{Value: status, Label: stateWord(status)})
	}
	return []templates.Field{choiceField("status", "State", q.status, options)}
}

func stateWord(status string) string {
	if status == store.DeliveryDead {
		return "Dead letter"
	}
	return capital(status)
}

// reasonOptions are the kinds of error among what the queue holds.
func (p *portal) reasonOptions(ctx context.Context, queue deliveryQueue, partner string) ([]templates.Option, error) {
	codes, err := p.DB.DeliveryReasons(ctx, partner, queue.troubled()...)
	if err != nil {
		return nil, err
	}
	options := []templates.Option{{Label: "All kinds"}}
	for _, code := range codes {
		options = append(options, templates.Option{Value: code, Label: reasonOf(code).Label})
	}
	return options, nil
}

// choiceField is a list to choose from. A value that is not in it is added, so
// that the page does not show another filter than the one it used.
func choiceField(name, label, value string, options []templates.Option) templates.Field {
	if !slices.ContainsFunc(options, func(o templates.Option) bool { return o.Value == value }) {
		text := value
		if name == "kind" {
			text = reasonOf(value).Label
		}
		options = append(options, templates.Option{Value: value, Label: text})
	}
	return templates.Field{Name: name, Label: label, Value: value, Options: options}
}

// withErrors puts what is wrong beside each field. Ids are set apart from those of other controls.
func withErrors(fields []templates.Field, wrong formErrors) []templates.Field {
	for i := range fields {
		fields[i].ID = "filter-" + fields[i].Name
		fields[i].Error = wrong[fields[i].Name]
	}
	return fields
}

func byName(a, b store.Partner) int { return cmp.Compare(a.Name, b.Name) }
