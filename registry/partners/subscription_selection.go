package partners

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
)

// SubscriptionChange holds a partner's own change of a subscription; nil leaves a member as it is.
type SubscriptionChange struct {
	Filters *string // as in SubscriptionRequest
	OrderBy *string
	Retry   *RetryInput
	Dedupe  *bool
}

// Change changes which events of its types a subscription gets, and in which order (guarantee G5). What was granted are
// the event types at the endpoint, and filters only narrow those, so an approved subscription stays approved; one that
// waits for approval keeps waiting. Filters and order count for events accepted from now on, the retry schedule for all that
// is tried from now on. Fields: filters, orderBy, retryWaits, retryAttempts, retryDeadline.
func (s *Subscriptions) Change(ctx context.Context, actor registry.Actor, id string, in SubscriptionChange) error {
	set, err := s.profile.InForce(ctx)
	if err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		sub, partner, endpoint, err := lockSubscription(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := registry.RequireApproved(partner); err != nil {
			return err
		}
		if sub.DatasetID != "" {
			return registry.Conflict("This subscription is to a dataset: it has no filters, order or retries. Change its area instead.")
		}
		if !slices.Contains([]string{store.SubscriptionRequested, store.SubscriptionApproved, store.SubscriptionPaused}, sub.Status) {
			return registry.Conflict("You cannot change this subscription: it is %s.", sub.Status)
		}
		before := sub
		in.apply(&sub)
		wrong := selectionProblems(s.cfg, sub.Filters, sub.OrderBy)
		if in.Retry != nil {
			retry, bad := in.Retry.read(*set, s.readSetting)
			sub.Retry = retry
			maps.Copy(wrong, bad)
		}
		if err := wrong.Err(); err != nil {
			return err
		}
		if sub.Filters == before.Filters && sub.OrderBy == before.OrderBy && sub.Dedupe == before.Dedupe && sub.Retry == before.Retry {
			return nil
		}
		if err := tx.UpdateSubscription(ctx, &sub); err != nil {
			return fmt.Errorf("change subscription: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionSubscriptionChanged, subscriptionObject(sub), selectionDetails(sub, partner, endpoint))
	})
}

func (in SubscriptionChange) apply(sub *store.Subscription) {
	if in.Filters != nil {
		sub.Filters = tidyFilters(*in.Filters)
	}
	if in.OrderBy != nil {
		sub.OrderBy = strings.TrimSpace(*in.OrderBy)
	}
	if in.Dedupe != nil {
		sub.Dedupe = *in.Dedupe
	}
}

// selectionDetails returns the details of the subscription with its selection of events.
func selectionDetails(s store.Subscription, p store.Partner, e store.Endpoint) registry.Details {
	d := subscriptionDetails(s, p, e, "")
	d["filters"], d["orderBy"], d["retry"] = s.Filters, s.OrderBy, s.Retry
	if s.Dedupe {
		d["leaveOutRepeats"] = true
	}
	return d
}

// tidyFilters leaves out the white space of JSON, and makes an empty list empty. What is no JSON stays as it is, to be
// refused with the words of the one who checks it.
func tidyFilters(text string) string {
	var compacted bytes.Buffer
	if json.Compact(&compacted, []byte(text)) != nil {
		return strings.TrimSpace(text)
	}
	if tidy := compacted.String(); tidy != "[]" && tidy != "null" {
		return tidy
	}
	return ""
}

var orderAttribute = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

// selectionProblems returns the problems of filters and order. An order by id would put nothing in order, as no two
// events share one; and data is not looked into.
func selectionProblems(c registry.Config, filters, orderBy string) registry.Problems {
	wrong := registry.Problems{}
	if filters != "" {
		if c.CheckFilters == nil {
			wrong.Add("filters", "Filters cannot be used here.")
		} else if err := c.CheckFilters(filters); err != nil {
			wrong.Add("filters", err.Error())
		}
	}
	switch {
	case orderBy == "":
	case orderBy == "data", orderBy == "id":
		wrong.Add("orderBy", "Choose another attribute than "+orderBy+", one that several events share, such as subject.")
	case !orderAttribute.MatchString(orderBy):
		wrong.Add("orderBy", "Fill in the name of one attribute: at most 20 lower-case letters and digits, such as subject.")
	}
	return wrong
}
