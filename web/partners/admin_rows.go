package partners

import (
	"context"
	"fmt"

	"schakel/store"
	view "schakel/templates/partners"
	"schakel/web/site"
)

func subscriptionRows(ctx context.Context, n site.AdminNames, subs []store.Subscription) ([]view.SubscriptionRow, error) {
	var rows []view.SubscriptionRow
	for _, s := range subs {
		partner, err := n.PartnerLink(ctx, s.PartnerID)
		if err != nil {
			return nil, err
		}
		endpoint, err := n.EndpointLink(ctx, s.EndpointID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.SubscriptionRow{
			Name: subscriptionName(s), Href: "/admin/subscriptions/" + s.ID, Partner: partner, Endpoint: endpoint,
			Types: gets(s), Status: s.Status, Since: s.CreatedAt.Time,
		})
	}
	return rows, nil
}

// gets returns the event types of a subscription, or its dataset.
func gets(s store.Subscription) []string {
	if s.DatasetID != "" {
		return []string{site.GetsText(s)}
	}
	return s.Types
}

// subscriptionName returns the name of a subscription, or else its event types or
// dataset.
func subscriptionName(s store.Subscription) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.DatasetID != "":
		return site.GetsText(s)
	case len(s.Types) == 0:
		return s.ID
	case len(s.Types) == 1:
		return s.Types[0]
	}
	return fmt.Sprintf("%s and %d more", s.Types[0], len(s.Types)-1)
}

func clientRows(ctx context.Context, n site.AdminNames, clients []store.Client) ([]view.ClientRow, error) {
	var rows []view.ClientRow
	for _, client := range clients {
		partner, err := n.PartnerLink(ctx, client.PartnerID)
		if err != nil {
			return nil, err
		}
		rows = append(rows, view.ClientRow{
			Name: client.Name, Href: "/admin/clients/" + client.ID, ID: client.ID, Method: client.AuthMethod, Partner: partner,
			Scopes: client.Scopes, Status: client.Status, Waiting: client.Waiting(), Since: client.CreatedAt.Time,
		})
	}
	return rows, nil
}
