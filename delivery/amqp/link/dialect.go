package link

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"schakel/store"
)

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
	// probeBySource asks for a queue by a receiver without credit, where a sender to a
	// queue that is not there is not refused.
	probeBySource bool
	// probeEvery limits the trust in the answer of a probe before a send; 0 trusts it
	// until a send fails.
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

// RabbitMQ310 is RabbitMQ 3 with the plugin rabbitmq_amqp1_0. It accepts messages for
// queues that are not there and loses them, so a queue is asked for again when the
// last answer is a second old: a queue that vanishes within that second can lose
// messages. Credit above one has been seen to stall.
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

// DeadLetter gives the name of the dead-letter queue that belongs to a queue: for
// Service Bus a queue below it, for RabbitMQ that of the HER-id, such as 100_dl for
// 100_async (AMQP-50).
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
