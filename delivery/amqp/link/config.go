package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"schakel/store"
)

// SASL selects the authentication of a connection.
type SASL string

// The mechanisms.
const (
	Plain     SASL = "plain"     // user name and password
	External  SASL = "external"  // the client certificate of the TLS configuration
	Anonymous SASL = "anonymous" // nobody
)

// Config gives the address and the limits of a broker. Only URL is required.
type Config struct {
	// URL is amqp://host:port or amqps://host:port, without user and password. A path is
	// the virtual host of a RabbitMQ. The port defaults to 5672 and 5671.
	URL string
	// Dialect defaults to RabbitMQ4.
	Dialect Dialect
	// Namespace is the exchange that messages are sent through on a RabbitMQ; without it they go to the queue itself. A message
	// through an exchange that knows no such queue is released (AMQP-06).
	Namespace string
	// TLS is used for amqps; it defaults to TLS 1.2 or newer with the roots of the system.
	TLS *tls.Config
	// SASL defaults to Plain with a Username, otherwise to Anonymous.
	SASL               SASL
	Username, Password string
	// Dial makes the connection below TLS. It defaults to a plain dialer; a guarded one keeps it from addresses it may not reach.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxMessage is the largest message taken in, in bytes. A larger one ends its link
	// and stays on its queue. Default 32 MiB, more than a broker lets through.
	MaxMessage uint64
	// IdleTimeout limits the silence of the broker before the connection is given up. Default one minute.
	IdleTimeout time.Duration
	// ConnectTimeout bounds connecting, attaching and closing. Default 15 s.
	ConnectTimeout time.Duration
	// SendTimeout bounds the wait for the outcome of a send. Default 30 s.
	SendTimeout time.Duration
	// Retry bounds the waits between connections and before a message that failed is
	// released: the first and the longest wait. Defaults 1 s and 1 minute.
	Retry Retry
	// Clock gives the time for State. Default time.Now.
	Clock func() time.Time
	// Jitter gives a number from 0 to 1 by which waits differ. Default random.
	Jitter func() float64
	// OnChange, when set, receives every new State, one after the other. It must return soon and must not call the Connection.
	OnChange func(State)
	// Log defaults to nothing.
	Log *slog.Logger
}

// Retry bounds waits that double each time.
type Retry struct {
	First, Max time.Duration
}

// withDefaults fills in what was left out, and answers the problem of a wrong value.
func (c Config) withDefaults() (Config, *url.URL, error) {
	target, err := parseURL(c.URL)
	if err != nil {
		return c, nil, err
	}
	if c.Dialect.Name == "" {
		c.Dialect = RabbitMQ4()
	}
	if c.SASL == "" && c.Username != "" {
		c.SASL = Plain
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c.withLimits(), target, c.checkSASL(target)
}

func (c Config) withLimits() Config {
	set := func(value *time.Duration, standard time.Duration) {
		if *value <= 0 {
			*value = standard
		}
	}
	set(&c.IdleTimeout, time.Minute)
	set(&c.ConnectTimeout, 15*time.Second)
	set(&c.SendTimeout, 30*time.Second)
	set(&c.Retry.First, time.Second)
	set(&c.Retry.Max, time.Minute)
	if c.MaxMessage == 0 {
		c.MaxMessage = 32 << 20
	}
	return c
}

func (c Config) checkSASL(target *url.URL) error {
	switch c.SASL {
	case "", Anonymous, Plain:
		return nil
	case External:
		if target.Scheme != "amqps" || c.TLS == nil || len(c.TLS.Certificates) == 0 && c.TLS.GetClientCertificate == nil {
			return errors.New("SASL external needs amqps and a client certificate")
		}
		return nil
	default:
		return fmt.Errorf("unknown SASL mechanism %q: use plain, external or anonymous", c.SASL)
	}
}

func parseURL(raw string) (*url.URL, error) {
	target, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the address of the broker is no URL")
	case target.Scheme != "amqp" && target.Scheme != "amqps":
		return nil, errors.New("the address of the broker must begin with amqp:// or amqps://")
	case target.Hostname() == "":
		return nil, errors.New("the address of the broker names no host")
	case target.User != nil:
		return nil, errors.New("the address of the broker must not hold a user or password")
	case target.RawQuery != "" || target.Fragment != "":
		return nil, errors.New("the address of the broker must not hold a query or fragment")
	}
	return target, nil
}

// wait gives the time to wait after so many failures in a row, from 1: it doubles up
// to the longest, and jitter takes up to half of it away.
func (c Config) wait(failures int) time.Duration {
	wait := c.Retry.First
	for i := 1; i < failures && wait < c.Retry.Max; i++ {
		wait *= 2
	}
	wait = min(wait, c.Retry.Max)
	return wait - time.Duration(c.Jitter()*float64(wait)/2)
}

// pause waits, or until the context ends; then it gives false.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Dialect holds the peculiarities of one kind of broker (INC-28): how the name of a
// queue becomes an address, and what must be worked around.
type Dialect struct {
	// Name selects the dialect in a setting.
	Name string

	// target and source make the address to send to and to receive from. namespace is
	// the exchange messages go through, "" for none.
	target func(namespace, queue string) string
	source func(queue string) string
	// deadLetter gives the name of the dead-letter queue of a queue (AMQP-50).
	deadLetter func(queue string) string
	// virtualHost gives the host name of the open frame for a path of the URL.
	virtualHost func(path string) string

	// deadBelow means that every queue has a dead-letter queue of its own.
	deadBelow bool
	// managed means that the broker answers requests about its queues over AMQP.
	managed bool
	// maxCredit bounds the credit of a receiver; 0 is no bound.
	maxCredit int
	// probeBySource asks for a queue by a receiver without credit, where a sender to a queue that is not there is not refused.
	probeBySource bool
	// probeEvery limits the trust in the answer of a probe before a send; 0 trusts it until a send fails.
	probeEvery time.Duration
	// rejectsWhenFull means that rejected without an error means a queue that is full or has no leader now.
	rejectsWhenFull bool
	// noModify means that the outcome modified ends the session; released stands in for it.
	noModify bool
	// noDeliveryCount means that the delivery-count of messages is always 0.
	noDeliveryCount bool
}

// RabbitMQ4 is RabbitMQ 4 and later, whose core speaks AMQP 1.0. It is the default.
func RabbitMQ4() Dialect {
	return Dialect{
		Name: store.AMQPRabbitMQ4,
		target: func(namespace, queue string) string {
			if namespace != "" {
				return "/exchanges/" + url.PathEscape(namespace) + "/" + url.PathEscape(queue)
			}
			return "/queues/" + url.PathEscape(queue)
		},
		source:      func(queue string) string { return "/queues/" + url.PathEscape(queue) },
		deadLetter:  rabbitDeadLetter,
		virtualHost: rabbitVirtualHost, rejectsWhenFull: true, managed: true,
	}
}

// RabbitMQ310 is RabbitMQ 3 with the plugin rabbitmq_amqp1_0. It accepts messages for queues that are not there and loses them,
// so a queue is asked for again when the last answer is a second old: a queue that vanishes within that second can lose messages.
// Credit above one has been seen to stall.
func RabbitMQ310() Dialect {
	return Dialect{
		Name: store.AMQPRabbitMQ310,
		target: func(namespace, queue string) string {
			if namespace != "" {
				return "/exchange/" + url.PathEscape(namespace) + "/" + url.PathEscape(queue)
			}
			return "/amq/queue/" + url.PathEscape(queue)
		},
		source:      func(queue string) string { return "/amq/queue/" + url.PathEscape(queue) },
		deadLetter:  rabbitDeadLetter,
		virtualHost: rabbitVirtualHost,
		maxCredit:   1, probeBySource: true, probeEvery: time.Second, noModify: true, noDeliveryCount: true,
	}
}

// ServiceBus is Azure Service Bus: the name of a queue is its address, and every queue
// has a dead-letter queue below it (AMQP-50).
func ServiceBus() Dialect {
	plain := func(queue string) string { return queue }
	return Dialect{
		Name:        store.AMQPServiceBus,
		target:      func(_, queue string) string { return queue },
		source:      plain,
		deadLetter:  func(queue string) string { return queue + "/$DeadLetterQueue" },
		virtualHost: func(string) string { return "" },
		deadBelow:   true,
	}
}

// ParseDialect finds a dialect by its name, which is that of the stored setting; "" is the default.
func ParseDialect(name string) (Dialect, error) {
	if name == "" {
		return RabbitMQ4(), nil
	}
	for _, d := range []Dialect{RabbitMQ4(), RabbitMQ310(), ServiceBus()} {
		if d.Name == name {
			return d, nil
		}
	}
	return Dialect{}, fmt.Errorf("unknown AMQP dialect %q: use %s, %s or %s", name, store.AMQPRabbitMQ4, store.AMQPRabbitMQ310, store.AMQPServiceBus)
}

// DeadLetter gives the name of the dead-letter queue that belongs to a queue: for Service Bus a queue below it, for RabbitMQ that
// of the HER-id, such as 100_dl for 100_async (AMQP-50).
func (d Dialect) DeadLetter(queue string) string { return d.deadLetter(queue) }

// DeadLetterBelow reports whether every queue has a dead-letter queue of its own, below it, which the broker makes (AMQP-50);
// otherwise the queues of a party share one.
func (d Dialect) DeadLetterBelow() bool { return d.deadBelow }

// CountsDeliveries reports whether Delivery.DeliveryCount means anything.
func (d Dialect) CountsDeliveries() bool { return !d.noDeliveryCount }

// Credit gives the credit that is used where so much is asked for: at least one.
func (d Dialect) Credit(asked int) int {
	if d.maxCredit > 0 {
		asked = min(asked, d.maxCredit)
	}
	return max(asked, 1)
}

func rabbitDeadLetter(queue string) string {
	if i := strings.LastIndexByte(queue, '_'); i > 0 {
		queue = queue[:i]
	}
	return queue + "_dl"
}

func rabbitVirtualHost(path string) string {
	name, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil || name == "" {
		return ""
	}
	return "vhost:" + name
}
