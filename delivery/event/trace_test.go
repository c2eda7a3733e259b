package event

import "testing"

// Rules: CE-24.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, test := range []struct{ name, members, parent, state string }{
		{"none", `"ext":"1"`, "", ""},
		{"parent", `"traceparent":"` + parent + `"`, parent, ""},
		{"both", `"tracestate":"a=1,b=2","traceparent":"` + parent + `"`, parent, "a=1,b=2"},
		{"state alone", `"tracestate":"a=1"`, "", ""},
		{"not hexadecimal", `"traceparent":"00-0af7651916cd43dd8448eb211c80319x-b7ad6b7169203331-01"`, "", ""},
		{"more behind it", `"traceparent":"` + parent + `-01"`, "", ""},
		{"no trace", `"traceparent":"00-00000000000000000000000000000000-b7ad6b7169203331-01"`, "", ""},
		{"state that no header can carry", `"tracestate":"a=é","traceparent":"` + parent + `"`, parent, ""},
		{"in the name of another", `"subject":"\"traceparent\"","ext":"` + parent + `"`, "", ""},
	} {
		e := accept(t, with(test.members))
		if gotParent, gotState := e.TraceContext(); gotParent != test.parent || gotState != test.state {
			t.Errorf("%s: got %q and %q", test.name, gotParent, gotState)
		}
	}
}
