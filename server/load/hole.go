package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"schakel/server/trial"
)

// Of the scenario with an endpoint that never answers: how many endpoints there are, which one it is, and how many
// events a second are published for all together.
const (
	holeEndpoints = 10
	hole          = holeEndpoints - 1
	holeRate      = 2000
)

// blackHole publishes for ten endpoints, first while all answer, then while one takes requests and never answers. The
// others must hardly notice.
func blackHole(s *stage) []result {
	toHole := func(place int) bool { return place%holeEndpoints == hole }
	healthy := s.tenEndpoints(0, nil, "10 endpoints, all answer")
	s.receiver.holes[hole].Store(true)
	r := s.tenEndpoints(1, toHole, "10 endpoints, one never answers: the other 9")
	r.Observations = fmt.Sprintf("p99 is %.1f times what it was when all answered", r.P99/max(healthy.P99, 0.001))
	return []result{healthy, r}
}

// tenEndpoints is one half of the scenario; except names the events that are not to arrive.
func (s *stage) tenEndpoints(n int, except func(place int) bool, name string) result {
	l := s.newLedger(n, nil)
	f := s.newFeed(n, l, 1)
	f.every = time.Second / holeRate
	sent := s.send(f, s.Seconds)
	judge := func() verdict { return l.judge(except) }
	sent.drained = s.drain(func() int { return judge().lost })
	sent.used = s.measure().since(sent.before)
	v := judge()
	if stuck := int(l.acceptances.Load()) - v.accepted; except != nil {
		s.kept(stuck)
	}
	r := sent.result(s, name)
	r.Waiting = 0 // those for the endpoint that does not answer
	r.judge(s, v)
	return r
}

// kept checks that the deliveries that could not arrive are all still known.
func (s *stage) kept(want int) {
	trial.Eventually(s, fmt.Sprintf("%d deliveries are kept for the endpoint that does not answer", want), func() (bool, string) {
		_, page, err := trial.Get(http.DefaultClient, s.nodes[0].Admin+"/metrics")
		if err != nil {
			return false, err.Error()
		}
		got := openDeliveries(page)
		return got == want, strconv.Itoa(got) + " are kept"
	})
}

// openDeliveries adds up the deliveries of all states that are not final, from a page of metrics.
func openDeliveries(page string) (sum int) {
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "schakel_deliveries{") {
			continue
		}
		if _, value, ok := strings.Cut(lines.Text(), "} "); ok {
			n, _ := strconv.ParseFloat(value, 64)
			sum += int(n)
		}
	}
	return sum
}
