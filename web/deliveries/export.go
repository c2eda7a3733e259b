package deliveries

import (
	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// exportDeliveries sends all of a queue that matches its filter as a file.
func (p *Pages) exportDeliveries(queue site.DeliveryQueue) echo.HandlerFunc {
	columns := []string{
		"delivery_id", "event_id", "ce_id", "ce_source", "ce_type", "ce_subject", "partner_id", "partner", "endpoint_id", "endpoint", "subscription_id",
		"state", "reason", "cause", "detail", "attempts", "last_status", "created_at", "updated_at", "next_attempt_at", "delivered_at",
	}
	return func(c echo.Context) error {
		ctx, partner := c.Request().Context(), queue.Scope(c)
		filter, wrong := site.ReadDeliveryQuery(c.QueryParam).Filter(queue, partner)
		if len(wrong) > 0 {
			return site.FilterProblem(wrong)
		}
		names := p.DeliveryNamesOf(partner)
		return p.SendExport(c, site.Export{Name: "deliveries", PartnerID: partner, Columns: columns}, func(write func(...any) error) error {
			return p.DB.EachDelivery(ctx, filter, func(rows []store.Delivery) error {
				ids := make([]string, len(rows))
				for i, d := range rows {
					ids[i] = d.EventID
				}
				events, err := p.DB.EventHeads(ctx, ids)
				if err != nil {
					return err
				}
				for _, d := range rows {
					who, err := names.Partner(ctx, d.PartnerID)
					if err != nil {
						return err
					}
					endpoint, err := names.Endpoint(ctx, d.EndpointID)
					if err != nil {
						return err
					}
					e := events[d.EventID]
					err = write(d.ID, d.EventID, e.CEID, e.CESource, d.EventType, e.CESubject, d.PartnerID, who, d.EndpointID, endpoint, d.SubscriptionID,
						d.Status, d.Reason, d.Cause, i18n.Message(d.Detail).In(ctx), d.Attempts, d.LastStatus, d.CreatedAt, d.UpdatedAt, site.NextAttempt(d), d.DeliveredAt)
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// exportIssues sends the issues of an area as a file.
func (p *Pages) exportIssues(area site.DeliveryArea) echo.HandlerFunc {
	columns := []string{
		"issue_id", "partner_id", "partner", "endpoint_id", "endpoint", "cause", "state", "failures", "first_at", "last_at", "last_delivery_id", "detail",
		"acknowledged_by", "acknowledged_at", "resolved_by", "resolved_at", "reopened",
	}
	return func(c echo.Context) error {
		ctx, scope := c.Request().Context(), area.Scope(c)
		filter, _, wrong := issueQueryOf(c, scope)
		if len(wrong) > 0 {
			return site.FilterProblem(wrong)
		}
		names := p.DeliveryNamesOf(scope)
		return p.SendExport(c, site.Export{Name: "issues", PartnerID: scope, Columns: columns}, func(write func(...any) error) error {
			return p.DB.EachIssue(ctx, filter, func(rows []store.Issue) error {
				for _, i := range rows {
					who, err := names.Partner(ctx, i.PartnerID)
					if err != nil {
						return err
					}
					endpoint, err := names.Endpoint(ctx, i.EndpointID)
					if err != nil {
						return err
					}
					err = write(i.ID, i.PartnerID, who, i.EndpointID, endpoint, i.Cause, i.Status, i.Failures, i.FirstAt, i.LastAt, i.DeliveryID, i18n.Message(i.Detail).In(ctx),
						i.AcknowledgedBy, i.AcknowledgedAt, i.ResolvedBy, i.ResolvedAt, i.Reopened)
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
