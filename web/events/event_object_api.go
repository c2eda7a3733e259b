package events

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// showObject answers data that is stored apart from its event, to the clients of those
// who may have the event: who published it, those it was delivered to or is meant
// for, and the own organisation. To others it is not there (guarantee G7).
func (m *handlers) showObject(c echo.Context) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	o, err := m.DB.Object(ctx, c.Param("objectId"))
	if err != nil {
		return err
	}
	may, had, err := m.objectRights(ctx, who, o)
	switch {
	case err != nil:
		return err
	case may && o.GoneAt.IsZero():
		return site.ServeObject(c, m.DB, o)
	case may || had:
		return objectGone()
	}
	return store.ErrNotFound
}

// objectRights reports whether a caller may have an object, or had it while its event
// was there.
func (m *handlers) objectRights(ctx context.Context, who api.Caller, o store.Object) (may, had bool, err error) {
	if o.OwnerID == "" { // on its way in
		return false, false, nil
	}
	if who.Partner.Own || who.Client.ID == o.ClientID {
		return true, true, nil
	}
	if may, err = m.DB.MayReadEvent(ctx, o.OwnerID, who.Partner.ID); may || err != nil {
		return may, may, err
	}
	had, err = m.DB.HadObject(ctx, o.ID, who.Partner.ID)
	return false, had, err
}

func objectGone() error {
	return site.NewProblem(http.StatusGone, "object-gone", "This data was removed with its event: it was kept as long as this chain keeps events. Ask the publisher of the event to send it again, if you still need it.")
}
