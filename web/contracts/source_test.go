package contracts

import (
	"strings"
	"testing"

	"schakel/registry/contracts/contract"
)

func TestSourceView(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 2500)
	for name, c := range map[string]struct {
		content             string
		line                int
		first, shown, total int
		prev, next          string
	}{
		"empty":          {"", 1, 1, 1, 1, "", ""},
		"no line end":    {"a\nb", 1, 1, 2, 2, "", ""},
		"line end":       {"a\nb\n", 2, 1, 2, 2, "", ""},
		"beyond the end": {"a\nb\n", 99, 1, 2, 2, "", ""},
		"first part":     {long, 1000, 1, 1000, 2500, "", "/v?line=1001#source"},
		"middle part":    {long, 1001, 1001, 1000, 2500, "/v?line=1#source", "/v?line=2001#source"},
		"last part":      {long, 2500, 2001, 500, 2500, "/v?line=1001#source", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := sourceView(t.Context(), []byte(c.content), c.line, []contract.Finding{{Line: 2}}, "/v")
			if v.First != c.first || len(v.Lines) != c.shown || v.Total != c.total || v.PrevHref != c.prev || v.NextHref != c.next {
				t.Errorf("got first %d, %d lines of %d, %q %q", v.First, len(v.Lines), v.Total, v.PrevHref, v.NextHref)
			}
			if !v.Found[2] || v.Found[1] {
				t.Error("the line with the finding is not marked")
			}
		})
	}
}

// FuzzSourceView shows any bytes as bounded, valid text.
func FuzzSourceView(f *testing.F) {
	f.Add([]byte("a\r\nb\n"), 2)
	f.Add([]byte("\xff\xfe"+strings.Repeat("é", 3000)), 1)
	f.Fuzz(func(t *testing.T, content []byte, line int) {
		v := sourceView(t.Context(), content, max(1, line), nil, "/v")
		if len(v.Lines) == 0 || len(v.Lines) > sourceLines || v.First < 1 || v.First > v.Total {
			t.Fatalf("%d lines from %d of %d", len(v.Lines), v.First, v.Total)
		}
		for _, text := range v.Lines {
			if len(text) > 4*sourceLineBytes || strings.ToValidUTF8(text, "") != text {
				t.Fatalf("a line of %d bytes", len(text))
			}
		}
	})
}
