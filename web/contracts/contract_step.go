package web

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// versionSteps are the decisions about a version besides publishing and
// deprecating it, which ask more; asked adds the one about a request to publish.
func versionSteps(asked bool) []step {
	var steps []step
	if asked {
		steps = append(steps, step{
			verb: "refusal", from: []string{store.VersionDraft}, reason: true,
			label: "Turn the publication down", explain: "The draft stays. Its owner is told why, mends it and asks anew.",
			done: "The publication is turned down.",
		})
	}
	return append(steps, []step{
		{
			verb: "undeprecation", from: []string{store.VersionDeprecated}, kind: ui.Secondary,
			label: "Take the deprecation back", done: "The version is published without advice against it again.",
		},
		{
			verb: "withdrawal", from: []string{store.VersionPublished, store.VersionDeprecated}, reason: true,
			label:   "Withdraw this version for good",
			explain: "Nobody but who maintains the contract sees it any more, and its event types leave the catalogue. This cannot be taken back.",
			done:    "The version is withdrawn.",
		},
		{
			verb: "deletion", from: []string{store.VersionDraft},
			label: "Delete this draft", explain: "The document is gone. It was never published.", done: "The draft is deleted.",
		},
	}...)
}

// versionStep takes a decision about a version.
func (p *portal) versionStep(s step) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, about, err := p.maintained(c)
		if err != nil {
			return err
		}
		id, version, contracts := about.ID, c.Param("version"), p.Registry.Contracts
		back := contractVersionHref(id, version)
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
		}[s.verb]
		if s.verb == "deletion" {
			back = contractHref(id)
		}
		return p.take(c, s, back, do, func(c echo.Context, r refusal) error { return p.showVersion(c, r, "") })
	}
}

// deprecateVersion advises against a version, until a day.
func (p *portal) deprecateVersion(c echo.Context) error {
	if _, _, err := p.maintained(c); err != nil {
		return err
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	typed, wrong := form.Get("sunset"), formErrors{}
	sunset := day("sunset", typed, wrong)
	if wrong["sunset"] == "" {
		_, err = p.Registry.Contracts.Deprecate(c.Request().Context(), actor(c), c.Param("id"), c.Param("version"), endOf(sunset), form.Get("reason"))
		if _, refusal := formRefusal(err); refusal != nil {
			wrong = refusal
		} else if err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		r := refusal{status: 422, verb: "deprecation", reasonError: wrong["sunset"], message: wrong[""]}
		if wrong["reason"] != "" {
			r.message = wrong["reason"]
		}
		return p.showVersion(c, r, typed)
	}
	return p.done(c, contractVersionHref(c.Param("id"), c.Param("version")), "The version is deprecated. Who uses it sees that in the portal and in the API.")
}

// endOf is the end of a day; the zero day stays.
func endOf(t store.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.AddDate(0, 0, 1).Add(-time.Second)
}
