package site

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
	"schakel/static"
)

// compressFrom sets the bytes from which an answer is compressed. Below it a network carries an answer about as fast either way.
const compressFrom = 20_000

// zippers keeps writers between answers, for each takes more than a megabyte. The fastest level makes 8 kB of a page of 60 kB.
var zippers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// writeWhole writes an answer that is in memory whole, compressed when it is large and the client takes gzip. Streams and downloads do
// not come here, nor answers with an ETag, which names the bytes as they are.
//
// The size of a compressed answer hints at what stands in it beside the text of the request (BREACH). Who would measure that must
// make a browser ask for the same page thousands of times from a page of another site, and such requests are not compressed. Besides,
// forms hold no token against forgery, the origin is checked instead, and a secret stands on one answer to one POST only.
// Answers of APIs need a token in a header that no other site can send.
func writeWhole(w http.ResponseWriter, r *http.Request, body []byte) (int, error) {
	h := w.Header()
	if len(body) < compressFrom || h.Get("ETag") != "" || h.Get(echo.HeaderContentEncoding) != "" {
		return w.Write(body)
	}
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	h.Add(echo.HeaderVary, "Sec-Fetch-Site")
	if !static.AcceptsGzip(r.Header.Get(echo.HeaderAcceptEncoding)) || fromOtherSite(r) {
		return w.Write(body)
	}
	h.Set(echo.HeaderContentEncoding, "gzip")
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	n, err := z.Write(body)
	if err == nil {
		err = z.Close()
	}
	z.Reset(io.Discard) // the pool must not hold on to the answer
	return n, err
}

// fromOtherSite reports whether a browser asks on behalf of a page that is not ours. A client that does not tell is no such browser, or
// is older than 2023.
func fromOtherSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// wholeWriter is writeWhole as a writer that is written to once.
type wholeWriter struct{ c echo.Context }

// Write implements io.Writer.
func (w wholeWriter) Write(body []byte) (int, error) {
	return writeWhole(w.c.Response(), w.c.Request(), body)
}

// jsonAnswers writes the JSON of APIs. It is echo's own but for compression.
type jsonAnswers struct{ echo.DefaultJSONSerializer }

// Serialize implements echo.JSONSerializer. An Encoder writes a value whole or not at all.
func (jsonAnswers) Serialize(c echo.Context, value any, indent string) error {
	e := json.NewEncoder(wholeWriter{c})
	if indent != "" {
		e.SetIndent("", indent)
	}
	return e.Encode(value)
}
