package main

import (
	"fmt"
	"io"
	"regexp"
)

type scenario struct {
	name      string
	play      func(*stage) []result
	tls       bool // both ways in and out
	tokens    bool // of the receivers; publishing needs one always
	endpoints int  // each event goes to exactly one of them
	batch     int  // events in a request to publish; 1 is a single event
	batchOut  int  // events in a delivery at most; 0 is singly
	postgres  bool // in place of SQLite
	nodes     int
	peer      bool // with no nodes: whether another program stands in their place
	waiting   int  // events of a backlog; 0 is as many as asked for
	between   bool // with no nodes: whether a relay stands in their place
	rate      int  // requests a second; 0 is as fast as it goes
	closed    bool // whether endpoint 0 is paused at the start
	encrypted bool // whether data of events is encrypted at rest
}

// ceiling is the name of the line that a scenario is read against: the same deliveries, posted straight to the receiver.
// At a pace there is none.
func (s scenario) ceiling() string {
	if s.rate > 0 {
		return ""
	}
	return "ceiling, " + s.form()
}

// relay is the name of the second line it is read against.
func (s scenario) relay() string {
	if s.rate > 0 {
		return ""
	}
	return "relay, " + s.form()
}

// form names the HTTP form in which events leave.
func (s scenario) form() string {
	form := "single"
	if s.batchOut > 0 {
		form = fmt.Sprintf("batches of %d", s.batchOut)
	}
	if s.tls {
		form += ", TLS"
	}
	return form
}

// scenarios is the table of all measurements, in the order they are played.
func scenarios(o options) []scenario {
	single := scenario{play: throughput, tokens: true, endpoints: 1, batch: 1, nodes: 1}
	batch, paced := single, single
	batch.batch = o.Batch
	both := batch
	both.batchOut = o.Batch
	paced.rate = 1000
	many := fmt.Sprintf("%d endpoints", o.Endpoints)
	all := []scenario{
		single.straight(), single.relayed(), single.secure().straight(), single.secure().relayed(),
		both.straight(), both.relayed(),
		single.named("single, 1 endpoint"),
		single.sealed().named("single, 1 endpoint, data encrypted"),
		single.open().named("single, 1 endpoint, no tokens out"),
		single.to(o.Endpoints).named("single, " + many),
		single.secure().named("single, 1 endpoint, TLS"),
		single.to(o.Endpoints).secure().named("single, " + many + ", TLS"),
		batch.named("batches in, 1 endpoint"),
		batch.to(o.Endpoints).named("batches in, " + many),
		both.named("batches in and out, 1 endpoint"),
		both.to(o.Endpoints).named("batches in and out, " + many),
		paced.named("paced 1,000/s, 1 endpoint"),
		paced.behind().waitingFor(fewWaiting).named("backlog of 10,000, 1,000/s published meanwhile"),
		paced.behind().named("backlog, 1,000/s published meanwhile"),
		single.behind().named("backlog, all that goes published meanwhile"),
		paced.to(2).with(resend).named("resend, 1,000/s published meanwhile"),
		paced.to(holeEndpoints).with(blackHole).named("dead endpoint"),
		single.onPostgres(1).named("PostgreSQL, single, 1 endpoint"),
		single.sealed().onPostgres(1).named("PostgreSQL, single, 1 endpoint, data encrypted"),
		single.onPostgres(2).named("PostgreSQL, single, 1 endpoint, 2 nodes"),
		single.onPostgres(4).named("PostgreSQL, single, 1 endpoint, 4 nodes"),
		single.to(o.Endpoints).onPostgres(1).named("PostgreSQL, single, " + many),
		single.to(o.Endpoints).onPostgres(2).named("PostgreSQL, single, " + many + ", 2 nodes"),
		batch.onPostgres(1).named("PostgreSQL, batches in, 1 endpoint"),
		both.onPostgres(1).named("PostgreSQL, batches in and out, 1 endpoint"),
		paced.onPostgres(1).named("PostgreSQL, paced 1,000/s, 1 endpoint"),
		paced.to(2).with(resend).onPostgres(1).named("PostgreSQL, resend, 1,000/s meanwhile"),
	}
	if o.Peer != "" {
		all = append(all, single.open().another().named("peer, single, 1 endpoint"))
	}
	return all
}

// fewWaiting make a backlog that a larger one is read against: it must leave as fast.
const fewWaiting = 10_000

func (s scenario) named(name string) scenario { s.name = name; return s }
func (s scenario) secure() scenario           { s.tls = true; return s }
func (s scenario) open() scenario             { s.tokens = false; return s }
func (s scenario) sealed() scenario           { s.encrypted = true; return s }
func (s scenario) to(endpoints int) scenario  { s.endpoints = endpoints; return s }

func (s scenario) with(play func(*stage) []result) scenario { s.play = play; return s }

// behind is with a backlog at the first of two endpoints.
func (s scenario) behind() scenario {
	s = s.to(2).with(backlog)
	s.closed = true
	return s
}

func (s scenario) waitingFor(events int) scenario { s.waiting = events; return s }

// another is with another program: it has to be told to deliver to the receiver.
func (s scenario) another() scenario { s.peer, s.nodes = true, 0; return s }

func (s scenario) onPostgres(nodes int) scenario { s.postgres, s.nodes = true, nodes; return s }

// straight is the ceiling of a scenario.
func (s scenario) straight() scenario {
	s.name, s.play, s.nodes = s.ceiling(), straight, 0
	if s.batchOut > 0 {
		s.batch = s.batchOut
	}
	return s
}

// relayed is the same with a relay between.
func (s scenario) relayed() scenario {
	s = s.straight().named(s.relay())
	s.between = true
	return s
}

// choose leaves the scenarios whose name matches, and the lines they are read against.
func choose(all []scenario, pattern string) ([]scenario, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	needed := map[string]bool{}
	for _, s := range all {
		if match.MatchString(s.name) {
			needed[s.name], needed[s.ceiling()], needed[s.relay()] = true, true, true
		}
	}
	var chosen []scenario
	for _, s := range all {
		if needed[s.name] {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only %q matches no scenario; --list names them", pattern)
	}
	return chosen, nil
}

func list(out io.Writer, chosen []scenario) error {
	for _, s := range chosen {
		if _, err := fmt.Fprintln(out, s.name); err != nil {
			return err
		}
	}
	return nil
}
