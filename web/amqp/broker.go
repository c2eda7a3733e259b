package amqp

import (
	"net/http"

	"github.com/labstack/echo/v4"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/ui"
	"schakel/web/site"
)

// brokerDialects are the kinds of brokers.
func brokerDialects() []ui.Option {
	return []ui.Option{
		{Value: store.AMQPRabbitMQ4, Label: "RabbitMQ 4", Hint: "What the health exchange runs today."},
		{Value: store.AMQPRabbitMQ310, Label: "RabbitMQ 3 with its AMQP 1.0 plugin"},
		{Value: store.AMQPServiceBus, Label: "Azure Service Bus"},
	}
}

func brokerLogins() []ui.Option {
	return []ui.Option{
		{Value: store.AMQPPlain, Label: "User name and password"},
		{Value: store.AMQPExternal, Label: "Certificate", Hint: "Our certificate below says who we are (SASL EXTERNAL)."},
		{Value: store.AMQPAnonymous, Label: "Without"},
	}
}

// newBroker asks how a broker is reached.
func (a AMQPArea) newBroker(c echo.Context) error {
	return a.showBrokerForm(c, http.StatusOK, store.AMQPBroker{}, registryamqp.BrokerInput{Dialect: store.AMQPRabbitMQ4, SASL: store.AMQPPlain, Enabled: true}, nil)
}

// createBroker adds a broker.
func (a AMQPArea) createBroker(c echo.Context) error {
	return site.SubmitAbout(c, store.AMQPBroker{}, readBroker, func(in registryamqp.BrokerInput) error {
		row, err := a.Registry.AMQP.CreateBroker(c.Request().Context(), site.Actor(c), in)
		return a.saved(c, err, a.root(), row.Name+" is added. This page shows whether it can be reached.")
	}, a.showBrokerForm)
}

// editBroker asks what changes of a broker.
func (a AMQPArea) editBroker(c echo.Context) error {
	row, err := a.Registry.AMQP.Broker(c.Request().Context(), site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return a.showBrokerForm(c, http.StatusOK, row, registryamqp.InputOfBroker(row), nil)
}

// changeBroker changes a broker.
func (a AMQPArea) changeBroker(c echo.Context) error {
	row, err := a.Registry.AMQP.Broker(c.Request().Context(), site.Actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return site.SubmitAbout(c, row, readBroker, func(in registryamqp.BrokerInput) error {
		_, err := a.Registry.AMQP.UpdateBroker(c.Request().Context(), site.Actor(c), row.ID, in)
		return a.saved(c, err, a.root(), "The changes are saved.")
	}, a.showBrokerForm)
}

// removeBroker removes a broker that no party uses.
func (a AMQPArea) removeBroker(c echo.Context) error {
	ctx, href := c.Request().Context(), a.root()
	err := a.Registry.AMQP.RemoveBroker(ctx, site.Actor(c), c.Param("id"))
	if status, _ := site.FormRefusal(err); status == http.StatusConflict {
		href = a.broker(c.Param("id"))
	}
	return a.settled(c, err, href, "The broker is removed.")
}

func readBroker(form site.Form) registryamqp.BrokerInput {
	return registryamqp.BrokerInput{
		Name: form.Get("name"), Dialect: form.Get("dialect"), URL: form.Get("url"), Namespace: form.Get("namespace"), SASL: form.Get("sasl"),
		Username: form.Get("username"), Password: form.Raw("password"), CA: form.Get("ca"), Certificate: form.Get("certificate"),
		PrivateKey: form.Get("privateKey"), Enabled: form.Checked("enabled"),
	}
}

func (a AMQPArea) showBrokerForm(c echo.Context, status int, row store.AMQPBroker, in registryamqp.BrokerInput, wrong site.FormErrors) error {
	v := view.AMQPBrokerFormView{
		Action: a.root() + "/brokers", Cancel: a.root(), New: row.ID == "", HasPassword: row.Secret != "", HasKey: row.PrivateKey != "", Enabled: in.Enabled,
		Name: in.Name, Dialect: in.Dialect, URL: in.URL, Namespace: in.Namespace, SASL: in.SASL, Username: in.Username, CA: in.CA, Certificate: in.Certificate,
		Dialects: brokerDialects(), Logins: brokerLogins(), Wrong: wrong,
	}
	title := "Add a broker"
	if row.ID != "" {
		title, v.Action, v.Remove = row.Name, a.broker(row.ID), a.broker(row.ID)+"/removal"
		var err error
		if v.History, err = a.History(c.Request().Context(), store.AuditFilter{ObjectKind: "amqp-broker", ObjectID: row.ID}, ""); err != nil {
			return err
		}
	}
	page := a.pageFrame(c, title)
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPBrokerFormPage(page, v))
}
