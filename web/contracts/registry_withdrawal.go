package contracts

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/store"
)

// withdrawalAnswer lists the parties that a withdrawal would hit.
type withdrawalAnswer struct {
	Subscriptions []losingAnswer        `json:"subscriptions"`
	Endpoints     []namedEndpointAnswer `json:"endpoints"`
	Others        int                   `json:"others"`
	LastVersionOf []string              `json:"lastVersionOf"`

	Downloads          []DownloadAnswer `json:"downloads"`
	OtherDownloads     int              `json:"otherDownloads"`
	AnonymousDownloads int64            `json:"anonymousDownloads"`
}

// DownloadAnswer names a downloader of a version, with the time of the last download.
type DownloadAnswer struct {
	Kind    string     `json:"kind"`
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Partner string     `json:"partner"`
	LastAt  store.Time `json:"lastAt"`
}

type losingAnswer struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"`
	Partner    string   `json:"partner"`
	Status     string   `json:"status"`
	EventTypes []string `json:"eventTypes"`
	Loses      []string `json:"loses"`
}

type namedEndpointAnswer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// showWithdrawal lists the parties that the withdrawal of a version would hit, before it is done.
func (m *handlers) showWithdrawal(c echo.Context) error {
	who, err := m.Caller(c)
	if err != nil {
		return err
	}
	effect, err := m.Registry.Contracts.WithdrawalEffect(c.Request().Context(), who.Actor(), c.Param("contractId"), c.Param("version"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newWithdrawalAnswer(effect))
}

func newWithdrawalAnswer(e contracts.WithdrawalEffect) withdrawalAnswer {
	answer := withdrawalAnswer{
		Subscriptions: []losingAnswer{}, Endpoints: []namedEndpointAnswer{}, Others: e.Hidden, LastVersionOf: append([]string{}, e.Last...),
		Downloads: []DownloadAnswer{}, OtherDownloads: e.Downloads.Hidden, AnonymousDownloads: e.Downloads.Anonymous,
	}
	for _, s := range e.Subscriptions {
		answer.Subscriptions = append(answer.Subscriptions, losingAnswer{
			ID: s.ID, Name: s.Name, Partner: s.Partner.Name, Status: s.Status, EventTypes: s.Affects, Loses: append([]string{}, s.Loses...),
		})
	}
	for _, endpoint := range e.Endpoints {
		answer.Endpoints = append(answer.Endpoints, namedEndpointAnswer{endpoint.ID, endpoint.Name})
	}
	for _, f := range e.Downloads.Readers {
		answer.Downloads = append(answer.Downloads, DownloadAnswer{f.ReaderKind, f.ReaderID, f.Name, f.Partner.Name, f.LastAt})
	}
	return answer
}
