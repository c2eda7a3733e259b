package link

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// maxFailed bounds how many messages a failures knows at once.
const maxFailed = 4096

// failures counts how often each message failed here. Brokers that do not count
// deliveries hand out a message that failed as if it were the first time; without a
// count of our own all ten tries would be over in seconds (AMQP-45).
type failures struct {
	mu    sync.Mutex
	times map[[sha256.Size]byte]int
}

// count gives how often a delivery has failed by now, this time included: what the
// broker says, or what was seen here when the broker does not count.
func (f *failures) count(d *Delivery) int {
	if !d.dialect.noDeliveryCount {
		return d.DeliveryCount + 1
	}
	key := identity(d)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil || len(f.times) >= maxFailed {
		f.times = map[[sha256.Size]byte]int{}
	}
	f.times[key]++
	return f.times[key]
}

// forget ends the count of a delivery that was settled by its handler.
func (f *failures) forget(d *Delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.times) > 0 {
		delete(f.times, identity(d))
	}
}

// identity tells messages of a queue apart.
func identity(d *Delivery) [sha256.Size]byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", d.Queue)
	if p := d.Message.Properties; p != nil {
		fmt.Fprintf(sum, "%T %v\n%T %v\n", p.MessageID, p.MessageID, p.CorrelationID, p.CorrelationID)
	}
	for _, part := range d.Message.Data {
		sum.Write(part)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
