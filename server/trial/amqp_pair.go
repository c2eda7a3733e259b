package trial

import (
	"crypto/x509"
	"fmt"
	"path"
	"time"

	"schakel/server/demo"
)

// AMQPExchange is a broker with the identities of two parties, whose queues are on it.
type AMQPExchange struct {
	URLs               [2]string // of the broker, for each program; a proxy may stand between
	Username, Password string
	Root               *x509.Certificate // of enterprise certificates
	Parties            [2]AMQPIdentity
}

// AMQPMember is one of two programs that exchange messages.
type AMQPMember struct {
	*Program
	AMQPSide
	Ledger *Ledger // MsgIds of what it published
	Inbox  string  // path of the receiver for what it gets
}

// AMQPPair is two programs that exchange messages as parties of one broker, and the systems behind both.
type AMQPPair struct {
	PKI      *PKI
	Receiver *Receiver
	A, B     *AMQPMember
}

// NewAMQPPair makes two programs, one on each of the databases, that are not started.
func NewAMQPPair(t T, x AMQPExchange, databases [2]string, more ...string) *AMQPPair {
	t.Helper()
	pki := NewPKI(t)
	p := &AMQPPair{PKI: pki, Receiver: NewReceiver(t, pki)}
	args := append([]string{"--amqp-trust", writePEM(t, t.TempDir(), "root.pem", "CERTIFICATE", x.Root.Raw)}, more...)
	p.A = p.member(t, x, 0, demo.OwnA(), databases[0], args)
	p.B = p.member(t, x, 1, demo.OwnB(), databases[1], args)
	return p
}

func (p *AMQPPair) member(t T, x AMQPExchange, n int, own demo.Organisation, database string, args []string) *AMQPMember {
	t.Helper()
	root := fmt.Sprintf("/her-%d", x.Parties[n].HerID)
	m := &AMQPMember{Program: NewProgram(t, p.PKI, own, database, args...), Ledger: NewLedger(), Inbox: root + "/inbox"}
	m.SetUp(t, func(c *demo.Chain) {
		m.AMQPSide = m.JoinAMQP(t, c, AMQPWorld{
			URL: x.URLs[n], Username: x.Username, Password: x.Password, Me: x.Parties[n], Other: x.Parties[1-n],
			Inbox: p.Receiver.Target("Inbox", m.Inbox), Handler: p.Receiver.Target("Handler", root+"/handler"),
		})
	})
	return m
}

// Handler is the path of the receiver where a member's questions are answered.
func (m *AMQPMember) Handler() string { return path.Dir(m.Inbox) + "/handler" }

// Members lists both.
func (p *AMQPPair) Members() []*AMQPMember { return []*AMQPMember{p.A, p.B} }

// Correspondents make several publishers for each member.
func (p *AMQPPair) Correspondents(each int, pause time.Duration) (all []*Correspondent) {
	for _, m := range p.Members() {
		for range each {
			all = append(all, &Correspondent{Program: m.Program, Side: m.AMQPSide, Ledger: m.Ledger, Pause: pause})
		}
	}
	return all
}

// Settle waits until both programs have nothing to do any more and wait for nothing. It gives up when nothing changes for
// longer than an answer waits for its next try.
func (p *AMQPPair) Settle(t T) {
	t.Helper()
	const patience = 11 * time.Minute
	last, since := "", time.Now()
	for {
		a, saidA := p.A.UnsettledAMQP(t)
		b, saidB := p.B.UnsettledAMQP(t)
		said := p.A.Own.Name + ": " + saidA + "; " + p.B.Own.Name + ": " + saidB
		if a+b == 0 {
			return
		}
		if said != last {
			last, since = said, time.Now()
		}
		if time.Since(since) > patience {
			t.Fatalf("not settled: %s", said)
		}
		Pause(200 * time.Millisecond)
	}
}

// Compare holds the ledgers of both directions against what there is.
func (p *AMQPPair) Compare(t T) (ab, ba AMQPAccount) {
	t.Helper()
	return p.A.Ledger.CompareAMQP(t, p.A.Program, p.B.Program, p.Receiver, p.B.Inbox),
		p.B.Ledger.CompareAMQP(t, p.B.Program, p.A.Program, p.Receiver, p.A.Inbox)
}
