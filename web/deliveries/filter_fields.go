package deliveries

import (
	"cmp"
	"context"

	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// filterFields are the questions of the filter above a queue.
func (p *Pages) filterFields(ctx context.Context, queue site.DeliveryQueue, q site.DeliveryQuery, partner string, wrong site.FormErrors, names *site.DeliveryNames) ([]ui.Field, error) {
	var fields []ui.Field
	if queue.Admin {
		options, err := p.PartnerOptions(ctx, names)
		if err != nil {
			return nil, err
		}
		fields = append(fields, site.ChoiceField("partner", "Partner", q.Partner, options))
	}
	endpoints, err := p.EndpointOptions(ctx, cmp.Or(partner, q.Partner), names)
	if err != nil {
		return nil, err
	}
	types, err := p.TypeOptions(ctx, partner)
	if err != nil {
		return nil, err
	}
	reasons, err := p.reasonOptions(ctx, queue, partner)
	if err != nil {
		return nil, err
	}
	fields = append(fields, site.ChoiceField("endpoint", "Endpoint", q.Endpoint, endpoints), site.ChoiceField("type", "Event type", q.EventType, types))
	fields = append(fields, stateField(queue, q)...)
	fields = append(fields, site.ChoiceField("kind", "Kind of error", q.Reason, reasons),
		ui.Field{Name: "event", Label: "Delivery or event id", Value: q.Event, MaxLength: site.MaxFilterText},
		ui.Field{Name: "subject", Label: "Subject", Value: q.Subject, MaxLength: site.MaxFilterText},
		ui.Field{Name: "from", Label: "Changed from", Type: site.MomentField(q.From), Value: q.From},
		ui.Field{Name: "until", Label: "Changed until", Type: site.MomentField(q.Until), Value: q.Until})
	if q.Made != "" {
		fields = append(fields, ui.Field{Name: "made", Label: "Made from", Type: site.MomentField(q.Made), Value: q.Made})
	}
	if q.Subscription != "" {
		fields = append(fields, ui.Field{Name: "subscription", Label: "Subscription", Value: q.Subscription, MaxLength: site.MaxFilterText})
	}
	if q.Job != "" {
		fields = append(fields, ui.Field{Name: "job", Label: "Resend or replay (job)", Value: q.Job, MaxLength: site.MaxFilterText})
	}
	return site.WithErrors(fields, wrong), nil
}

// stateField asks for a state, or in the error queue for which held deliveries.
func stateField(queue site.DeliveryQueue, q site.DeliveryQuery) []ui.Field {
	switch {
	case queue.Errors:
		return []ui.Field{site.ChoiceField("show", "Show", q.Show, []ui.Option{
			{Value: site.ShowRefused, Label: "Refused by the other side"},
			{Value: site.ShowStopped, Label: "Waiting for a stopped endpoint or subscription"},
			{Value: site.ShowHeld, Label: "Everything that is held"},
		})}
	case len(queue.Statuses) > 0:
		return nil
	}
	options := []ui.Option{{Label: "All states"}}
	for _, status := range site.DeliveryStatuses() {
		options = append(options, ui.Option{Value: status, Label: stateWord(status)})
	}
	return []ui.Field{site.ChoiceField("status", "State", q.Status, options)}
}

func stateWord(status string) string {
	if status == store.DeliveryDead {
		return "Dead letter"
	}
	return site.Capital(status)
}

// reasonOptions are the kinds of error among what the queue holds.
func (p *Pages) reasonOptions(ctx context.Context, queue site.DeliveryQueue, partner string) ([]ui.Option, error) {
	codes, err := p.DB.DeliveryReasons(ctx, partner, queue.Troubled()...)
	if err != nil {
		return nil, err
	}
	options := []ui.Option{{Label: "All kinds"}}
	for _, code := range codes {
		options = append(options, ui.Option{Value: code, Label: site.ReasonOf(code).Label})
	}
	return options, nil
}
