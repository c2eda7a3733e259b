package contracts

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
)

// versionSteps are the decisions about a version besides publishing and
// deprecating it, which ask more; asked adds the one about a request to publish.
func versionSteps(asked bool) []site.Step {
	var steps []site.Step
	if asked {
		steps = append(steps, site.Step{
			Verb: "refusal", From: []string{store.VersionDraft}, Reason: true,
			Label: "Turn the publication down", Explain: "The draft stays. Its owner is told why, mends it and asks anew.",
			Done: "The publication is turned down.",
		})
	}
	return append(steps, []site.Step{
		{
			Verb: "undeprecation", From: []string{store.VersionDeprecated}, Kind: ui.Secondary,
			Label: "Take the deprecation back", Done: "The version is published without advice against it again.",
		},
		{
			Verb: "withdrawal", From: []string{store.VersionPublished, store.VersionDeprecated}, Reason: true,
			Label:   "Withdraw this version for good",
			Explain: "Nobody but who maintains the contract sees it any more, and its event types leave the catalogue. This cannot be taken back.",
			Done:    "The version is withdrawn.",
		},
		{
			Verb: "deletion", From: []string{store.VersionDraft},
			Label: "Delete this draft", Explain: "The document is gone. It was never published.", Done: "The draft is deleted.",
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
		id, version, contracts := about.ID, c.Param("version"), p.Registry.Contracts
		back := site.ContractVersionHref(id, version)
		do := map[string]func(ctx context.Context, a registry.Actor, reason string) error{
			"undeprecation": func(ctx context.Context, a registry.Actor, _ string) error {
				_, err := contracts.Undeprecate(ctx, a, id, version)
				return err
			},
			"withdrawal": func(ctx context.Context, a registry.Actor, why string) error {
				_, err := contracts.Withdraw(ctx, a, id, version, why)
				return err
			},
			"refusal": func(ctx context.Context, a registry.Actor, why string) error {
				_, err := contracts.RefusePublication(ctx, a, id, version, why)
				return err
			},
			"deletion": func(ctx context.Context, a registry.Actor, _ string) error {
				return contracts.DeleteDraft(ctx, a, id, version)
			},
		}[s.Verb]
		if s.Verb == "deletion" {
			back = site.ContractHref(id)
		}
		return p.Take(c, s, back, do, func(c echo.Context, r site.Refusal) error { return p.showVersion(c, r, "") })
	}
}

// deprecateVersion advises against a version, until a day.
func (p *pages) deprecateVersion(c echo.Context) error {
	if _, _, err := p.maintained(c); err != nil {
		return err
	}
	form, err := site.ReadForm(c)
	if err != nil {
		return err
	}
	typed, wrong := form.Get("sunset"), site.FormErrors{}
	sunset := site.Day("sunset", typed, wrong)
	if wrong["sunset"] == "" {
		_, err = p.Registry.Contracts.Deprecate(c.Request().Context(), site.Actor(c), c.Param("id"), c.Param("version"), endOf(sunset), form.Get("reason"))
		if _, refusal := site.FormRefusal(err); refusal != nil {
			wrong = refusal
		} else if err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		r := site.Refusal{Status: 422, Verb: "deprecation", ReasonError: wrong["sunset"], Message: wrong[""]}
		if wrong["reason"] != "" {
			r.Message = wrong["reason"]
		}
		return p.showVersion(c, r, typed)
	}
	return p.Done(c, site.ContractVersionHref(c.Param("id"), c.Param("version")), "The version is deprecated. Who uses it sees that in the portal and in the API.")
}

// endOf is the end of a day; the zero day stays.
func endOf(t store.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1).Add(-time.Second)
}
