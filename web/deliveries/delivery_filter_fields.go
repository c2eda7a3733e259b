package web

import (
	"cmp"
	"context"
	"slices"

	"schakel/store"
	"schakel/templates/ui"
)

// filterFields are the questions of the filter above a queue.
func (p *portal) filterFields(ctx context.Context, queue deliveryQueue, q deliveryQuery, partner string, wrong formErrors, names *deliveryNames) ([]ui.Field, error) {
	var fields []ui.Field
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
		ui.Field{Name: "event", Label: "Delivery or event id", Value: q.event, MaxLength: maxFilterText},
		ui.Field{Name: "subject", Label: "Subject", Value: q.subject, MaxLength: maxFilterText},
		ui.Field{Name: "from", Label: "Changed from", Type: momentField(q.from), Value: q.from},
		ui.Field{Name: "until", Label: "Changed until", Type: momentField(q.until), Value: q.until})
	if q.made != "" {
		fields = append(fields, ui.Field{Name: "made", Label: "Made from", Type: momentField(q.made), Value: q.made})
	}
	if q.subscription != "" {
		fields = append(fields, ui.Field{Name: "subscription", Label: "Subscription", Value: q.subscription, MaxLength: maxFilterText})
	}
	if q.job != "" {
		fields = append(fields, ui.Field{Name: "job", Label: "Resend or replay (job)", Value: q.job, MaxLength: maxFilterText})
	}
	return withErrors(fields, wrong), nil
}

// stateField asks for a state, or in the error queue for which held deliveries.
func stateField(queue deliveryQueue, q deliveryQuery) []ui.Field {
	switch {
	case queue.errors:
		return []ui.Field{choiceField("show", "Show", q.show, []ui.Option{
			{Value: showRefused, Label: "Refused by the other side"},
			{Value: showStopped, Label: "Waiting for a stopped endpoint or subscription"},
			{Value: showHeld, Label: "Everything that is held"},
		})}
	case len(queue.statuses) > 0:
		return nil
	}
	options := []ui.Option{{Label: "All states"}}
	for _, status := range deliveryStatuses() {
		options = append(options, ui.Option{Value: status, Label: stateWord(status)})
	}
	return []ui.Field{choiceField("status", "State", q.status, options)}
}

func stateWord(status string) string {
	if status == store.DeliveryDead {
		return "Dead letter"
	}
	return capital(status)
}

// reasonOptions are the kinds of error among what the queue holds.
func (p *portal) reasonOptions(ctx context.Context, queue deliveryQueue, partner string) ([]ui.Option, error) {
	codes, err := p.DB.DeliveryReasons(ctx, partner, queue.troubled()...)
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: "All kinds"}}
	for _, code := range codes {
		options = append(options, ui.Option{Value: code, Label: reasonOf(code).Label})
	}
	return options, nil
}

// choiceField is a list to choose from. A value that is not in it is added, so
// that the page does not show another filter than the one it used.
func choiceField(name, label, value string, options []ui.Option) ui.Field {
	if !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		text := value
		if name == "kind" {
			text = reasonOf(value).Label
		}
		options = append(options, ui.Option{Value: value, Label: text})
	}
	return ui.Field{Name: name, Label: label, Value: value, Options: options}
}

// withErrors puts what is wrong beside each field. Ids are set apart from those of other controls.
func withErrors(fields []ui.Field, wrong formErrors) []ui.Field {
	for i := range fields {
		fields[i].ID = "filter-" + fields[i].Name
		fields[i].Error = wrong[fields[i].Name]
	}
	return fields
}

func byName(a, b store.Partner) int { return cmp.Compare(a.Name, b.Name) }
