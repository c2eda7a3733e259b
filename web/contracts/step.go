package contracts

import (
	"cmp"
	"context"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/ui"
	"schakel/web/site"
)

// versionSteps are the decisions about a version besides publishing and
// deprecating it, which ask more; asked adds the one about a request to publish.
func (p *pages) versionSteps(asked bool) []site.Step {
	contracts := p.Registry.Contracts
	ofVersion := func(do func(ctx context.Context, a registry.Actor, id, version, why string) error) func(echo.Context, registry.Actor, string) error {
		return func(c echo.Context, a registry.Actor, why string) error {
			return do(c.Request().Context(), a, c.Param("id"), c.Param("version"), why)
		}
	}
	var steps []site.Step
	if asked {
		steps = append(steps, site.Step{
			Verb: "refusal", Needs: registry.PublishContracts, From: []string{store.VersionDraft}, Reason: true,
			Do: ofVersion(func(ctx context.Context, a registry.Actor, id, version, why string) error {
				_, err := contracts.RefusePublication(ctx, a, id, version, why)
				return err
			}),
			Label: "contracts.step.refuse", Explain: "contracts.step.refuse-explain",
			Done: "contracts.step.refused",
		})
	}
	return append(steps, []site.Step{
		{
			Verb: "undeprecation", Needs: registry.ChangeContracts, From: []string{store.VersionDeprecated}, Kind: ui.Secondary,
			Do: ofVersion(func(ctx context.Context, a registry.Actor, id, version, _ string) error {
				_, err := contracts.Undeprecate(ctx, a, id, version)
				return err
			}),
			Label: "contracts.step.undeprecate", Done: "contracts.step.undeprecated",
		},
		{
			Verb: "withdrawal", Needs: registry.ChangeContracts, From: []string{store.VersionPublished, store.VersionDeprecated}, Reason: true,
			Do: ofVersion(func(ctx context.Context, a registry.Actor, id, version, why string) error {
				_, err := contracts.Withdraw(ctx, a, id, version, why)
				return err
			}),
			Label:   "contracts.step.withdraw",
			Explain: "contracts.step.withdraw-explain",
			Done:    "contracts.step.withdrawn",
		},
		{
			Verb: "deletion", Needs: registry.ChangeContracts, From: []string{store.VersionDraft},
			Do: ofVersion(func(ctx context.Context, a registry.Actor, id, version, _ string) error {
				return contracts.DeleteDraft(ctx, a, id, version)
			}),
			Label: "contracts.step.delete", Explain: "contracts.step.delete-explain", Done: "contracts.step.deleted",
		},
	}...)
}

// versionStep takes a decision about a version.
func (p *pages) versionStep(s site.Step) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, about, err := p.maintained(c)
		if err != nil {
			return err
		}
		back := site.ContractVersionHref(about.ID, c.Param("version"))
		if s.Verb == "deletion" {
			back = site.ContractHref(about.ID)
		}
		return p.Take(c, s, back, func(c echo.Context, r site.Refusal) error { return p.showVersion(c, r, "") })
	}
}

// deprecateVersion advises against a version, until a day.
func (p *pages) deprecateVersion(c echo.Context) error {
	if _, _, err := p.maintained(c); err != nil {
		return err
	}
	type deprecation struct{ sunset, reason string }
	read := func(form site.Form) deprecation { return deprecation{form.Get("sunset"), form.Get("reason")} }
	return site.Submit(c, read, func(in deprecation) error {
		wrong := site.FormErrors{}
		sunset := site.Day("sunset", in.sunset, wrong)
		if len(wrong) > 0 {
			return registry.Invalid(wrong)
		}
		_, err := p.Registry.Contracts.Deprecate(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("version"), endOf(sunset), in.reason)
		return p.Saved(c, err, site.ContractVersionHref(c.Param("id"), c.Param("version")), "contracts.step.deprecated")
	}, func(c echo.Context, _ int, in deprecation, wrong site.FormErrors) error {
		r := site.Refusal{Status: 422, Verb: "deprecation", ReasonError: wrong["sunset"], Message: cmp.Or(wrong["reason"], wrong[""])}
		return p.showVersion(c, r, in.sunset)
	})
}

// endOf is the end of a day; the zero day stays.
func endOf(t store.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1).Add(-time.Second)
}

// withdrawalView lists the parties that the withdrawal of a version would hit, beside where it
// is withdrawn; nil for a version that cannot be.
func (p *pages) withdrawalView(c echo.Context, reader registry.Reader, v store.ContractVersion) (*view.WithdrawalView, error) {
	if v.Status != store.VersionPublished && v.Status != store.VersionDeprecated {
		return nil, nil
	}
	ctx := c.Request().Context()
	effect, err := p.Registry.Contracts.WithdrawalEffect(ctx, site.Actor(c), v.ContractID, v.Version)
	if err != nil {
		return nil, err
	}
	hit := &view.WithdrawalView{Named: reader.Administrator, Others: effect.Hidden, Last: effect.Last}
	hit.Downloads = *downloadsView(ctx, effect.Downloads, reader, p.Cfg.Now())
	for _, s := range effect.Subscriptions {
		row := view.HitRow{Subscription: site.SubscriptionLabel(ctx, s.Subscription), State: s.Status, Types: atLines(ctx, s.Subscription, s.Affects), Loses: len(s.Loses)}
		if reader.Administrator {
			row.Partner, row.PartnerHref, row.SubscriptionHref = s.Partner.Name, site.PartnerHref(s.PartnerID), "/admin/subscriptions/"+s.ID
		} else {
			row.SubscriptionHref = "/partner/subscriptions/" + s.ID
		}
		hit.Rows = append(hit.Rows, row)
	}
	base := "/partner/endpoints/"
	if reader.Administrator {
		base = "/admin/endpoints/"
	}
	for _, e := range effect.Endpoints {
		hit.Endpoints = append(hit.Endpoints, ui.Named{Name: e.Name, Href: base + e.ID})
	}
	return hit, nil
}
