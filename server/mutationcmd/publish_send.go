package mutationcmd

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"schakel/server/cli"
)

// stillTime sets how long nothing may move in a request before the line is taken for cut. The other side waits less long for us.
const stillTime = 10 * time.Minute

// continueTime bounds how long a request waits to be told to go on before it sends its body. The server lets a publisher wait for
// half a minute before it reads a body or answers 429, and may be at work on an earlier request with the same key; what can be
// read only once would be lost to that answer.
const continueTime = time.Minute

var errStill = errors.New("nothing moved for " + stillTime.String())

// groupSender sends files until each is settled.
type groupSender struct {
	*cli.Machine
	dataset, target string
	tokens          tokenSource // nil: none is sent
	maxTime         time.Duration
	told            io.Writer
}

func newGroupSender(c *Publish, tokens tokenSource, told io.Writer) *groupSender {
	s := &groupSender{Machine: cli.NewMachine("mutations-publish", c.dataset(), ""), dataset: c.dataset(), target: c.target(), tokens: tokens, maxTime: c.MaxTime, told: told}
	s.Client.Timeout = 0 // a large file takes hours
	if standard, is := http.DefaultTransport.(*http.Transport); is {
		transport := standard.Clone()
		transport.ExpectContinueTimeout = continueTime
		s.Client.Transport = transport
	}
	return s
}

// sentGroups records the result of a file.
type sentGroups struct {
	answer cli.Answer // the last; its status is 0 when there was none
	err    error      // why it was not settled
	tries  int
	took   time.Duration
	known  *knownGroups // of what is in, as asked for afterwards
}

// send tries until the file is in or refused, or nothing gets further for too long.
func (s *groupSender) send(ctx context.Context, in *groupInput) (out sentGroups) {
	farthest, since, failed, renew, ended := int64(0), cli.Clock(), 0, false, 0
	for {
		out.tries++
		out.answer, out.err = s.try(ctx, in, renew)
		if out.err == nil && out.answer.Status == http.StatusUnauthorized && !renew && s.tokens != nil && in.again() {
			renew = true // it may have expired between two tries
			continue
		}
		if renew = false; s.settled(out) {
			return out
		}
		if out.err == nil && out.answer.Problem().Code == "body-broken" && in.at.Load() == in.size {
			if ended++; ended == 2 { // once may be the line, twice is the file
				out.err = errors.New("all of the file was sent, and it ends in the middle; mend it, and run again with this --key")
				return out
			}
		}
		if !in.again() {
			out.err = errors.Join(out.cut(), errors.New("what can be read only once cannot be sent again"))
			return out
		}
		if at := in.at.Load(); at > farthest {
			farthest, since, failed = at, cli.Clock(), 0
		}
		pause := max(cli.Backoff(failed), out.answer.RetryAfter)
		failed++
		if cli.Clock().Add(pause).Sub(since) > s.maxTime {
			out.err = fmt.Errorf("gave up: %w", out.cut())
			return out
		}
		fmt.Fprintf(s.told, "%s: %v; again in %s\n", in.name, out.cut(), pause)
		if err := cli.Wait(ctx, pause); err != nil {
			out.err = errors.Join(out.cut(), err)
			return out
		}
	}
}

// settled reports whether trying again makes no difference.
func (s *groupSender) settled(out sentGroups) bool {
	if out.err != nil {
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](out.err)
		return untrusted || cli.NoToken(out.err) || errors.Is(out.err, context.Canceled)
	}
	code := out.answer.Problem().Code
	switch {
	case out.answer.Status == http.StatusConflict:
		return code != "key-in-use"
	case out.answer.Status == http.StatusBadRequest:
		return code != "body-broken"
	}
	return !cli.Temporary(out.answer.Status)
}

// cut is why a try did not settle the file.
func (o sentGroups) cut() error {
	if o.err != nil {
		return o.err
	}
	if text := o.answer.Problem().Detail; text != "" {
		return fmt.Errorf("status %d: %s", o.answer.Status, text)
	}
	return fmt.Errorf("the answer has status %d", o.answer.Status)
}

// try sends the file once.
func (s *groupSender) try(ctx context.Context, in *groupInput, renew bool) (cli.Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	still := time.AfterFunc(stillTime, func() { cancel(errStill) })
	defer still.Stop()
	req, err := s.request(ctx, in.key, groupForms()[in.form], in.body(func() { still.Reset(stillTime) }), renew)
	if err != nil {
		return cli.Answer{}, err
	}
	req.ContentLength = in.size
	req.Header.Set("Expect", "100-continue") // who may not publish, or must wait, is told before all is sent
	a, err := s.Do(req)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errStill) {
		err = cause
	}
	return a, err
}

// request is one to publish, with a token.
func (s *groupSender) request(ctx context.Context, key, media string, body io.Reader, renew bool) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if s.tokens != nil {
		token, err := s.tokens(ctx, renew)
		if err != nil {
			return nil, fmt.Errorf("get token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", media)
	req.Header.Set("Idempotency-Key", strconv.Quote(key))
	return req, nil
}

// inside asks how many groups are in under the key of a file that did not get in, also when the program was asked to stop; nil
// when nobody tells. An empty body breaks off before its first group, so it changes nothing.
func (s *groupSender) inside(ctx context.Context, in *groupInput) *knownGroups {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	req, err := s.request(ctx, in.key, "application/xml", bytes.NewReader(nil), false)
	if err != nil {
		return nil
	}
	a, err := s.Do(req)
	if err != nil {
		return nil
	}
	p := groupsProblemOf(a)
	if p.Code == "body-broken" && p.Publication == nil {
		return &knownGroups{} // nothing was begun
	}
	return p.Publication
}

// groupBody is a file on its way in one request. The HTTP client may read on, in another goroutine, after its answer is there:
// what can be read only once must not be lost to a request that is over.
type groupBody struct {
	in     *groupInput
	from   io.Reader
	moving func() // called at each read
	mu     sync.Mutex
	closed bool
}

// body is the file from its beginning, as the body of a request.
func (in *groupInput) body(moving func()) io.ReadCloser {
	in.at.Store(0)
	if in.size == 0 {
		return http.NoBody
	}
	b := &groupBody{in: in, moving: moving}
	if b.from = in.once; in.once == nil {
		b.from = io.NewSectionReader(in.file, 0, in.size)
	}
	return b
}

// Read implements io.Reader.
func (b *groupBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errors.New("the request is over")
	}
	b.in.taken.Store(true)
	n, err := b.from.Read(p)
	b.in.at.Add(int64(n))
	b.moving()
	return n, err
}

// Close implements io.Closer. It does not wait for a read that waits for its input.
func (b *groupBody) Close() error {
	if b.mu.TryLock() {
		b.closed = true
		b.mu.Unlock()
	}
	return nil
}

// tell writes each second how many bytes of the file were sent, until it is stopped.
func (in *groupInput) tell(to io.Writer) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(time.Second)
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				fmt.Fprintln(to, in.progress())
			}
		}
	}()
	return func() { close(end); <-ended }
}

// progress describes how much of the file this try has sent.
func (in *groupInput) progress() string {
	at := in.at.Load()
	if in.size <= 0 {
		return fmt.Sprintf("%s: %d bytes sent", in.name, at)
	}
	return fmt.Sprintf("%s: %d of %d bytes sent (%d%%)", in.name, at, in.size, int64(float64(at)/float64(in.size)*100))
}

// toldStream lets several goroutines write lines.
type toldStream struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *toldStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
