package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry"
)

// withdrawalAnswer tells whom a withdrawal would hit.
type withdrawalAnswer struct {
	Subscriptions []losingAnswer        `json:"subscriptions"`
	Endpoints     []namedEndpointAnswer `json:"endpoints"`
	Others        int                   `json:"others"`
	LastVersionOf []string              `json:"lastVersionOf"`
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

// showWithdrawal tells whom the withdrawal of a version would hit, before it is done.
func (m *machineAPI) showWithdrawal(c echo.Context) error {
	who, err := m.caller(c)
	if err != nil {
		return err
	}
	effect, err := m.Registry.Contracts.WithdrawalEffect(c.Request().Context(), who.actor(), c.Param("contractId"), c.Param("version"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newWithdrawalAnswer(effect))
}

func newWithdrawalAnswer(e registry.WithdrawalEffect) withdrawalAnswer {
	answer := withdrawalAnswer{
		Subscriptions: []losingAnswer{}, Endpoints: []namedEndpointAnswer{}, Others: e.Hidden, LastVersionOf: append([]string{}, e.Last...),
	}
	for _, s := range e.Subscriptions {
		answer.Subscriptions = append(answer.Subscriptions, losingAnswer{
			ID: s.ID, Name: s.Name, Partner: s.Partner.Name, Status: s.Status, EventTypes: s.Affects, Loses: append([]string{}, s.Loses...),
		})
	}
	for _, endpoint := range e.Endpoints {
		answer.Endpoints = append(answer.Endpoints, namedEndpointAnswer{endpoint.ID, endpoint.Name})
	}
	return answer
}
