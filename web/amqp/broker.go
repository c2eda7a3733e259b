package amqp

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	registryamqp "schakel/registry/amqp"
	"schakel/store"
	view "schakel/templates/amqp"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// brokerDialects are the kinds of brokers.
func brokerDialects(ctx context.Context) []ui.Option {
	return []ui.Option{
		{Value: store.AMQPRabbitMQ4, Label: i18n.Of(ctx, "amqp.dialect", store.AMQPRabbitMQ4), Hint: i18n.T(ctx, "amqp.broker.rabbitmq4-hint")},
		{Value: store.AMQPRabbitMQ310, Label: i18n.Of(ctx, "amqp.dialect", store.AMQPRabbitMQ310)},
		{Value: store.AMQPServiceBus, Label: i18n.Of(ctx, "amqp.dialect", store.AMQPServiceBus)},
	}
}

func brokerLogins(ctx context.Context) []ui.Option {
	return []ui.Option{
		{Value: store.AMQPPlain, Label: i18n.T(ctx, "amqp.broker.plain")},
		{Value: store.AMQPExternal, Label: i18n.T(ctx, "amqp.broker.external"), Hint: i18n.T(ctx, "amqp.broker.external-hint")},
		{Value: store.AMQPAnonymous, Label: i18n.T(ctx, "amqp.broker.anonymous")},
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
		return a.saved(c, err, a.root(), i18n.M("amqp.broker.added", row.Name))
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
		return a.saved(c, err, a.root(), "amqp.saved")
	}, a.showBrokerForm)
}

// removeBroker removes a broker that no party uses.
func (a AMQPArea) removeBroker(c echo.Context) error {
	ctx, href := c.Request().Context(), a.root()
	err := a.Registry.AMQP.RemoveBroker(ctx, site.Actor(c), c.Param("id"))
	if status, _ := site.FormRefusal(err); status == http.StatusConflict {
		href = a.broker(c.Param("id"))
	}
	return a.settled(c, err, href, "amqp.broker.removed")
}

func readBroker(form site.Form) registryamqp.BrokerInput {
	return registryamqp.BrokerInput{
		Name: form.Get("name"), Dialect: form.Get("dialect"), URL: form.Get("url"), Namespace: form.Get("namespace"), SASL: form.Get("sasl"),
		Username: form.Get("username"), Password: form.Raw("password"), CA: form.Get("ca"), Certificate: form.Get("certificate"),
		PrivateKey: form.Get("privateKey"), Enabled: form.Checked("enabled"),
	}
}

func (a AMQPArea) showBrokerForm(c echo.Context, status int, row store.AMQPBroker, in registryamqp.BrokerInput, wrong site.FormErrors) error {
	ctx := c.Request().Context()
	v := view.AMQPBrokerFormView{
		Action: a.root() + "/brokers", Cancel: a.root(), New: row.ID == "", HasPassword: row.Secret != "", HasKey: row.PrivateKey != "", Enabled: in.Enabled,
		Name: in.Name, Dialect: in.Dialect, URL: in.URL, Namespace: in.Namespace, SASL: in.SASL, Username: in.Username, CA: in.CA, Certificate: in.Certificate,
		Dialects: brokerDialects(ctx), Logins: brokerLogins(ctx), Wrong: wrong,
	}
	title := i18n.T(ctx, "amqp.broker.title")
	if row.ID != "" {
		title, v.Action, v.Remove = row.Name, a.broker(row.ID), a.broker(row.ID)+"/removal"
		var err error
		if v.History, err = a.History(ctx, store.AuditFilter{ObjectKind: "amqp-broker", ObjectID: row.ID}, ""); err != nil {
			return err
		}
	}
	page := a.pageFrame(c, title)
	page.Invalid = len(wrong) > 0
	return a.Render(c, status, view.AMQPBrokerFormPage(page, v))
}
