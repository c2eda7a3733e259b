package demo

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// turn breaks or mends the receiver.
func (r *Receiver) turn(broken bool) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.broken = broken
		r.mu.Unlock()
		http.Redirect(w, q, "/", http.StatusSeeOther)
	}
}

// page shows what came in, how an endpoint of one's own is made, and the button
// that breaks or mends.
func (r *Receiver) page(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	broken, target, recent := r.broken, r.Target("", "mine"), slices.Clone(r.recent)
	r.mu.Unlock()
	slices.Reverse(recent)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
	form := receiverWorks
	if broken {
		form = receiverBroken
	}
	var rows strings.Builder
	for _, e := range recent {
		fmt.Fprintf(&rows, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%d</td></tr>\n", e.At.Format(time.TimeOnly),
			html.EscapeString(e.Hook), html.EscapeString(e.Type), html.EscapeString(e.ID), e.Status)
	}
	if len(recent) == 0 {
		rows.WriteString("<tr><td colspan=\"5\">Nothing yet.</td></tr>\n")
	}
	_, _ = fmt.Fprintf(w, receiverPage, form, html.EscapeString(target.URL), html.EscapeString(target.TokenURL),
		html.EscapeString(target.ID), html.EscapeString(target.Secret), len(recent), rows.String())
}

func showStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, receiverStyle)
}

const receiverStyle = `body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
code, td { overflow-wrap: anywhere; }
button { font: inherit; padding: 0.5rem 1rem; }
caption, th, td { text-align: start; vertical-align: top; }
th, td { padding: 0.25rem 0.75rem 0.25rem 0; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr, td { display: block; }
  tr { border-top: 1px solid; padding: 0.5rem 0; }
}
`

// The form of the page that breaks or mends the receiver.
const (
	receiverWorks = `<p>It works. The hook “moody” answers 500 to half of the events, “strict” refuses one in eight; after a minute both take what they refused.</p>
<form method="post" action="/break"><button>Break the receiver</button></form>
`
	receiverBroken = `<p><strong>It is broken: every event is answered 503.</strong></p>
<form method="post" action="/mend"><button>Mend the receiver</button></form>
`
)

// receiverPage takes the form, the four values of an endpoint, and the number and rows of the requests.
const receiverPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Receiver of the demonstration</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>Receiver of the demonstration</h1>
<p>This plays the systems of partners. It takes events in at <code>/hooks/…</code> and gives out tokens at <code>/token</code>.</p>
%s<h2>An endpoint of your own</h2>
<dl>
<dt>URL</dt><dd><code>%s</code></dd>
<dt>Token endpoint</dt><dd><code>%s</code></dd>
<dt>Client id</dt><dd><code>%s</code></dd>
<dt>Client secret</dt><dd><code>%s</code></dd>
</dl>
<h2>What came in last</h2>
<table>
<caption>The last %d requests, newest first</caption>
<thead><tr><th scope="col">Time</th><th scope="col">Hook</th><th scope="col">Event type</th><th scope="col">Event id</th><th scope="col">Answer</th></tr></thead>
<tbody>
%s</tbody>
</table>
</main>
</body>
</html>
`
