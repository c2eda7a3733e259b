package datasets

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/web/site"
)

// cutDelta asks for a delta at once.
func (p *Pages) cutDelta(c echo.Context) error {
	id := c.Param("dataset")
	err := p.Registry.Datasets.AskDelta(c.Request().Context(), site.Actor(c), id)
	return p.OwnPages("/admin").Settled(c, err, datasetHref(id), "A delta is cut within seconds, when something waits for it.")
}

// makeSnapshot asks for a snapshot at once.
func (p *Pages) makeSnapshot(c echo.Context) error {
	id := c.Param("dataset")
	err := p.Registry.Datasets.AskSnapshot(c.Request().Context(), site.Actor(c), id)
	return p.OwnPages("/admin").Settled(c, err, datasetHref(id), "A snapshot is begun within seconds. What is new goes into a delta first.")
}

// resetLineage makes every copy begin again.
func (p *Pages) resetLineage(c echo.Context) error {
	return p.stopDataset(c, "lineage", datasetHref(c.Param("dataset")), "A new lineage has started. Followers are told, and begin anew from a snapshot.",
		func(ctx context.Context, a registry.Actor, id, reason string) error {
			_, err := p.Registry.Datasets.ResetLineage(ctx, a, id, reason)
			return err
		})
}

// endDataset ends a dataset for good.
func (p *Pages) endDataset(c echo.Context) error {
	return p.stopDataset(c, "end", datasetHref(c.Param("dataset")), "The dataset has ended. Its last delta is cut now; who follows it is told, and can fetch what was cut for 31 days more.", p.Registry.Datasets.End)
}

// stopDataset does what needs a reason.
func (p *Pages) stopDataset(c echo.Context, verb, back, text string, do func(ctx context.Context, a registry.Actor, id, reason string) error) error {
	id := c.Param("dataset")
	if _, err := p.Registry.Datasets.Get(c.Request().Context(), id); err != nil {
		return err
	}
	reason, wrong, err := site.ReadReason(c)
	if err != nil {
		return err
	}
	if wrong == "" {
		err = do(c.Request().Context(), site.Actor(c), id, reason)
		if fields, ok := site.Refused(err); ok {
			wrong = fields["reason"]
		}
	}
	if wrong != "" {
		return p.showDataset(c, http.StatusUnprocessableEntity, datasetRefusal{verb, reason, wrong})
	}
	return p.OwnPages("/admin").Settled(c, err, back, text)
}
