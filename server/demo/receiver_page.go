package demo

import (
	"html/template"
	"io"
	"net/http"
	"slices"
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
	view := struct {
		Broken bool
		Target Target
		Recent []Received
	}{r.broken, r.Target("", "mine"), slices.Clone(r.recent)}
	r.mu.Unlock()
	slices.Reverse(view.Recent)
	t, err := template.New("receiver").Parse(receiverPage)
	if err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
	_ = t.Execute(w, view)
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
{{if .Broken}}
<p><strong>It is broken: every event is answered 503.</strong></p>
<form method="post" action="/mend"><button>Mend the receiver</button></form>
{{else}}
<p>It works. The hook “moody” answers 500 to half of the events, “strict” refuses one in eight; after a minute both take what they refused.</p>
<form method="post" action="/break"><button>Break the receiver</button></form>
{{end}}
<h2>An endpoint of your own</h2>
<dl>
<dt>URL</dt><dd><code>{{.Target.URL}}</code></dd>
<dt>Token endpoint</dt><dd><code>{{.Target.TokenURL}}</code></dd>
<dt>Client id</dt><dd><code>{{.Target.ID}}</code></dd>
<dt>Client secret</dt><dd><code>{{.Target.Secret}}</code></dd>
</dl>
<h2>What came in last</h2>
<table>
<caption>The last {{len .Recent}} requests, newest first</caption>
<thead><tr><th scope="col">Time</th><th scope="col">Hook</th><th scope="col">Event type</th><th scope="col">Event id</th><th scope="col">Answer</th></tr></thead>
<tbody>
{{range .Recent}}<tr><td>{{.At.Format "15:04:05"}}</td><td>{{.Hook}}</td><td>{{.Type}}</td><td>{{.ID}}</td><td>{{.Status}}</td></tr>
{{else}}<tr><td colspan="5">Nothing yet.</td></tr>
{{end}}</tbody>
</table>
</main>
</body>
</html>
`
