package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/store"
)

// resendRequest says which deliveries to resend; what is left out selects all
// that are held or dead.
type resendRequest struct {
	DeliveryIDs    []string `json:"deliveryIds"`
	Status         []string `json:"status"`
	Reason         string   `json:"reason"`
	EndpointID     string   `json:"endpointId"`
	SubscriptionID string   `json:"subscriptionId"`
	EventID        string   `json:"eventId"`
	EventType      string   `json:"eventType"`
	From           string   `json:"from"`
	Until          string   `json:"until"`
}

// maxResendIDs bounds a list of ids; more are resent by a filter.
const maxResendIDs = 1000

func (r resendRequest) filter() (store.DeliveryFilter, error) {
	f := store.DeliveryFilter{
		IDs: r.DeliveryIDs, Statuses: r.Status, Reason: r.Reason, EndpointID: r.EndpointID, SubscriptionID: r.SubscriptionID,
		EventID: r.EventID, EventType: r.EventType,
	}
	// An empty list would select everything, which whoever sent it did not mean.
	if r.DeliveryIDs != nil && len(r.DeliveryIDs) == 0 || r.Status != nil && len(r.Status) == 0 {
		return f, fieldProblem("deliveryIds", "deliveryIds and status must not be empty lists; leave out what should not select")
	}
	if len(f.IDs) > maxResendIDs {
		return f, fieldProblem("deliveryIds", "at most 1000 ids are taken; select more by another member")
	}
	if err := checkStatuses(f.Statuses); err != nil {
		return f, err
	}
	var err error
	if f.From, err = queryTime("from", r.From); err != nil {
		return f, err
	}
	f.Until, err = queryTime("until", r.Until)
	return f, err
}

// resendAnswer is a resend job and how far it is.
type resendAnswer struct {
	ResendID   string     `json:"resendId"`
	Status     string     `json:"status"`
	Total      int64      `json:"total"`
	Done       int64      `json:"done"`
	Refused    int64      `json:"refused"`
	CreatedAt  store.Time `json:"createdAt"`
	FinishedAt store.Time `json:"finishedAt,omitzero"`
}

func newResendAnswer(j store.ResendJob) resendAnswer {
	return resendAnswer{
		ResendID: j.ID, Status: j.Status, Total: j.Total, Done: j.Done, Refused: j.Refused,
		CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt,
	}
}

// postResend starts a job that resends the caller's own deliveries.
func (m *machineAPI) postResend(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	var request resendRequest
	if err := readJSON(c, &request); err != nil {
		return err
	}
	filter, err := request.filter()
	if err != nil {
		return err
	}
	job, err := m.Engine.StartJob(c.Request().Context(), who.engineActor(), outbox.ActionResend, filter, "")
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/events/v1/resends/"+job.ID)
	return c.JSON(http.StatusAccepted, newResendAnswer(job))
}

// ownResend finds a resend job of the caller's partner; another's is 404.
func (m *machineAPI) ownResend(c echo.Context, who caller) (store.ResendJob, error) {
	job, err := m.DB.ResendJob(c.Request().Context(), c.Param("resendId"))
	if err == nil && (job.PartnerID != who.partner.ID || job.Action != outbox.ActionResend) {
		err = store.ErrNotFound
	}
	return job, err
}

// showResend answers how far a job is.
func (m *machineAPI) showResend(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	job, err := m.ownResend(c, who)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newResendAnswer(job))
}

// cancelResend stops a job after its present step; what it did stays done.
func (m *machineAPI) cancelResend(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	job, err := m.ownResend(c, who)
	if err != nil {
		return err
	}
	if err := m.Engine.CancelJob(c.Request().Context(), who.engineActor(), job.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
