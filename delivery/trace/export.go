package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// How spans are exported.
const (
	most  = 512             // spans of one request
	every = 5 * time.Second // how long a span waits for others at most
	tries = 3               // requests with the same spans, a second apart and then two
	limit = 10 * time.Second
)

// Exporter sends the spans of a recorder to a collector.
type Exporter struct {
	Recorder *Recorder
	// URL of the collector, as http://127.0.0.1:4318; /v1/traces is added when the path has no end of that name.
	URL string
	// Header goes with each request, such as Authorization.
	Header http.Header
	Client *http.Client
	// Resource names the program and the node, as service.name.
	Resource []Attr
	Log      *slog.Logger
}

// Run exports until ctx ends, and then what is left in the buffer, up to the first failure.
func (e *Exporter) Run(ctx context.Context) {
	failing := false
	for {
		batch := e.gather(ctx)
		if len(batch) == 0 {
			return
		}
		err := e.export(ctx, batch)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			e.Log.WarnContext(ctx, "the collector of --trace-endpoint takes no spans; they are dropped until it does", "error", err)
		} else if err == nil && failing {
			e.Log.InfoContext(ctx, "the collector of --trace-endpoint takes spans again")
		}
		failing = err != nil
	}
}

// gather waits for the first span, and for others until there are enough or it has waited long enough. There is none when ctx has ended and
// the buffer is empty.
func (e *Exporter) gather(ctx context.Context) (batch []*Span) {
	done := ctx.Done()
	select {
	case s := <-e.Recorder.spans:
		batch = append(batch, s)
	case <-done:
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	for len(batch) < most {
		select {
		case s := <-e.Recorder.spans:
			batch = append(batch, s)
			continue
		default:
		}
		if ctx.Err() != nil {
			return batch
		}
		select {
		case s := <-e.Recorder.spans:
			batch = append(batch, s)
		case <-timer.C:
			return batch
		case <-done:
		}
	}
	return batch
}

// export sends spans, a few times while the collector says that it may work later.
func (e *Exporter) export(ctx context.Context, batch []*Span) error {
	body := e.encode(batch)
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-time.After(time.Duration(try) * time.Second):
			case <-ctx.Done():
			}
		}
		var again bool
		var rejected int64
		if rejected, again, err = e.post(context.WithoutCancel(ctx), body); err == nil {
			e.Recorder.sent.Add(int64(len(batch)) - rejected)
			e.Recorder.dropped.Add(rejected)
			return nil
		}
		if !again || ctx.Err() != nil {
			break
		}
	}
	e.Recorder.dropped.Add(int64(len(batch)))
	return err
}

// post sends one request. rejected counts the spans that the collector took out of it.
func (e *Exporter) post(ctx context.Context, body []byte) (rejected int64, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	url := strings.TrimSuffix(e.URL, "/")
	if !strings.HasSuffix(url, "/v1/traces") {
		url += "/v1/traces"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	req.Header = e.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.Client.Do(req)
	if err != nil {
		return 0, true, err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, true, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	if resp.StatusCode/100 != 2 {
		return 0, false, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) == nil {
		rejected, _ = partial.PartialSuccess.RejectedSpans.Int64()
	}
	return rejected, false, nil
}

// object is a JSON object of OTLP.
type object = map[string]any

// encode writes an ExportTraceServiceRequest in the JSON of OTLP 1.x.
func (e *Exporter) encode(batch []*Span) []byte {
	spans := make([]object, len(batch))
	for i, s := range batch {
		span := object{
			"traceId": s.trace, "spanId": s.id, "name": s.name, "kind": s.kind, "flags": 1,
			"startTimeUnixNano": strconv.FormatInt(s.began.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(s.ended.UnixNano(), 10),
			"attributes": attributes(s.attrs),
		}
		if s.parent != "" {
			span["parentSpanId"] = s.parent
		}
		if s.failed {
			span["status"] = object{"code": 2, "message": s.problem}
		}
		links := make([]object, len(s.links))
		for j, l := range s.links {
			links[j] = object{"traceId": l[3:35], "spanId": l[36:52]}
		}
		if len(links) > 0 {
			span["links"] = links
		}
		spans[i] = span
	}
	body, err := json.Marshal(object{"resourceSpans": []object{{
		"resource":   object{"attributes": attributes(e.Resource)},
		"scopeSpans": []object{{"scope": object{"name": "schakel"}, "spans": spans}},
	}}})
	if err != nil {
		panic("strings and numbers cannot fail to encode: " + err.Error())
	}
	return body
}

func attributes(attrs []Attr) []object {
	list := make([]object, len(attrs))
	for i, a := range attrs {
		value := object{"stringValue": a.Value}
		if n, ok := a.Value.(int64); ok {
			value = object{"intValue": strconv.FormatInt(n, 10)}
		}
		list[i] = object{"key": a.Key, "value": value}
	}
	return list
}
