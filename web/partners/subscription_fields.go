package partners

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"

	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/web/api"
	"schakel/web/site"
)

// What a subscription holds, between its form, its page, its API and the registry: a new field is read and shown here alone.

// typedSubscription holds the form as typed so far.
type typedSubscription struct {
	site.Form
	chosen selection
}

func readSubscription(form site.Form) typedSubscription {
	return typedSubscription{form, readSelection(form)}
}

// request makes the request that the form asks for, but for its event types.
func (t typedSubscription) request() partners.SubscriptionRequest {
	return partners.SubscriptionRequest{
		Name: t.Get("name"), EndpointID: t.Get("endpoint"), Purpose: t.Get("purpose"),
		Filters: t.chosen.filters(), OrderBy: t.chosen.orderBy(), Retry: t.chosen.retry, Dedupe: t.chosen.dedupe, Encrypt: t.Get("encryption"),
	}
}

// view shows the form as typed so far, but for what there is to choose from.
func (t typedSubscription) view(href func(string) string, wrong site.FormErrors) view.SubscriptionFormView {
	return view.SubscriptionFormView{
		Action: href("/subscriptions/new"), Cancel: href("/subscriptions"), Search: t.Get("q"), Endpoint: t.Get("endpoint"),
		Name: t.Get("name"), Purpose: t.Get("purpose"), Encryption: t.Get("encryption"), NewEndpoint: withTypes(href("/endpoints/new"), t.List("types")), Wrong: wrong,
		Selection: t.chosen.view(href("/subscriptions/new"), wrong), Preview: t.chosen.preview,
		Advanced: t.Get("name") != "" || t.Get("encryption") != "" || t.chosen.changed() || wrongInAdvanced(wrong),
	}
}

func (d ownerPages) subscriptionView(ctx context.Context, owner store.Partner, g partners.Grant) view.SubscriptionView {
	s, may := g.Subscription, site.Waits(ctx, owner) == ""
	v := view.SubscriptionView{
		Href: d.Href("/subscriptions/" + s.ID), ID: s.ID, State: s.Status, StateText: subscriptionText(ctx, g, d.Cfg.Now()), Reason: i18n.Message(s.StatusReason).In(ctx),
		Purpose: s.Purpose, Endpoint: g.Endpoint.Name, EndpointHref: d.Href("/endpoints/" + g.Endpoint.ID), Host: g.Host,
		Created: s.CreatedAt.Time, Decided: s.DecidedAt.Time, DecidedBy: s.DecidedBy, Now: d.Cfg.Now(),
		DeliveriesHref: d.Deliveries + "?subscription=" + url.QueryEscape(s.ID), Closed: site.Waits(ctx, owner),
		Pull:     g.Endpoint.Kind == store.EndpointPull,
		CanPause: may && s.Status == store.SubscriptionApproved, CanUnpause: may && s.Status == store.SubscriptionPaused,
		CanEnd: may && s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected,
	}
	v.Stopped = s.Status == store.SubscriptionApproved && s.DatasetID == "" && site.StopOf(ctx, g.Endpoint, d.Cfg.Now()).Why != ""
	if s.Sending {
		v.ReplayHref = d.Replays("subscription", s.ID)
	}
	if changeable(ctx, owner, s) {
		v.ChangeHref = v.Href + "/selection"
	}
	if s.DatasetID == "" && may && s.Status != store.SubscriptionEnded && s.Status != store.SubscriptionRejected {
		v.EncryptHref = v.Href + "/encryption"
	}
	for _, t := range g.Types {
		row := view.SubscriptionType{Name: t.Type.Name, Title: i18n.T(ctx, "partners.subscription.type-gone")}
		if t.Known {
			row.Href, row.Title, row.Classification = site.EventTypeHref(t.Type.Name), site.TypeTitle(ctx, t.Type), t.Classification
			row.Contract = lineWords(ctx, t)
		}
		v.Types = append(v.Types, row)
	}
	return v
}

// SubscriptionRequest asks for a subscription.
type SubscriptionRequest struct {
	Name       string            `json:"name"`
	EndpointID string            `json:"endpointId"`
	Types      []string          `json:"types"`
	Versions   map[string]string `json:"versions"`
	Filters    json.RawMessage   `json:"filters"`
	OrderBy    string            `json:"orderBy"`
	Retry      json.RawMessage   `json:"retry"`
	Purpose    string            `json:"purpose"`
	Dedupe     bool              `json:"leaveOutRepeats"`
	Encryption json.RawMessage   `json:"encryption"`
}

func (in SubscriptionRequest) request() (partners.SubscriptionRequest, error) {
	retry, err := readRetry(in.Retry)
	recipient, wrong := readEncryptionBody(in.Encryption)
	return partners.SubscriptionRequest{
		Name: in.Name, EndpointID: in.EndpointID, Types: in.Types, Versions: in.Versions, Purpose: in.Purpose, Filters: string(in.Filters), OrderBy: in.OrderBy, Retry: retry, Dedupe: in.Dedupe,
		Encrypt: recipient,
	}, cmp.Or(err, wrong)
}

// SubscriptionAnswer is a subscription as its partner sees it.
type SubscriptionAnswer struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"`
	EndpointID string   `json:"endpointId"`
	Types      []string `json:"types"`
	// Versions are by type the line of versions it gets; a type that is not in it comes in every version (EDU-08).
	Versions     map[string]string `json:"versions"`
	Filters      json.RawMessage   `json:"filters"`
	OrderBy      string            `json:"orderBy,omitempty"`
	LeaveRepeats bool              `json:"leaveOutRepeats"`
	Retry        *retryBody        `json:"retry"` // its own; null when the settings hold for all of it
	Effective    retryBody         `json:"effectiveRetry"`
	Encryption   *encryptionBody   `json:"encryption"` // null for none
	Purpose      string            `json:"purpose"`
	Status       string            `json:"status"`
	StatusReason string            `json:"statusReason,omitempty"`
	CannotSend   string            `json:"cannotSend,omitempty"` // why nothing can be sent yet, whatever the status
	CreatedAt    store.Time        `json:"createdAt"`
	UpdatedAt    store.Time        `json:"updatedAt"`
	DecidedAt    store.Time        `json:"decidedAt,omitzero"`
}

// subscriptionAnswer answers a subscription with how it is retried as the settings are now, and whether it can be sent to.
func (m *handlers) subscriptionAnswer(ctx context.Context, s store.Subscription, unready Unready) (SubscriptionAnswer, error) {
	why, err := unready(ctx, s)
	if err != nil {
		return SubscriptionAnswer{}, err
	}
	set, err := m.Registry.Profile.Current(ctx)
	if err != nil {
		return SubscriptionAnswer{}, err
	}
	own, err := partners.RetryOf(s)
	if err != nil {
		return SubscriptionAnswer{}, err
	}
	answer := SubscriptionAnswer{
		ID: s.ID, Name: s.Name, EndpointID: s.EndpointID, Types: api.NotNil(s.Types), Versions: api.NotNilMap(s.Versions), Purpose: s.Purpose,
		Filters: json.RawMessage(cmp.Or(s.Filters, "[]")), OrderBy: s.OrderBy, LeaveRepeats: s.Dedupe, Status: s.Status, StatusReason: i18n.Message(s.StatusReason).String(), CannotSend: why,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, DecidedAt: s.DecidedAt, Effective: newRetryBody(own.Over(set.Profile)),
		Encryption: newEncryptionBody(s.Encrypt),
	}
	if s.Retry != "" {
		body := newRetryBody(own)
		answer.Retry = &body
	}
	return answer, nil
}
