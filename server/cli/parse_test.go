package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// limits is a group of flags of parsed.
type limits struct {
	Most int `default:"3" enum:"3,5" help:"Most."`
}

// CheckFlags checks what flags cannot say one by one.
func (l limits) CheckFlags() error {
	if l.Most == 5 {
		return errors.New("five is too much")
	}
	return nil
}

// parsed is a grammar with what Parse looks at.
type parsed struct {
	Format string `enum:"text,json" default:"text"`
	Group  struct {
		One  parsedCommand `cmd:""`
		Two  struct{}      `cmd:""`
		Logs parsedLogger  `cmd:""`
	} `cmd:""`
}

type parsedCommand struct {
	Limits
	ID   string   `required:""`
	Name []string `arg:""`
}

// Limits is exported, so that its check is found.
type Limits struct{ limits }

// CheckFlags checks the limits.
func (l Limits) CheckFlags() error { return l.limits.CheckFlags() }

func (c *parsedCommand) Run(_ context.Context, streams Streams) error {
	_, err := io.WriteString(streams.Out, c.ID+strings.Join(c.Name, " "))
	return err
}

type parsedLogger struct{}

func (*parsedLogger) Run(_ context.Context, _ Streams, log *slog.Logger) error {
	log.Info("logged")
	return nil
}

func TestParse(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"":                             {ExitUsage, `expected "group"`},
		"group":                        {ExitUsage, `expected one of "one", "two", "logs"`},
		"group two":                    {ExitFailed, "cannot be run"},
		"group logs":                   {ExitOK, "logged"},
		"group one":                    {ExitUsage, "missing flags: --id=STRING"},
		"group one --id x":             {ExitUsage, `expected "<name> ..."`},
		"group one --id x a b":         {ExitOK, "xa b"},
		"group one --id x --help":      {ExitOK, "SCHAKEL_MOST"},
		"group one --id x --most 4 a":  {ExitUsage, `--most must be one of "3","5" but got "4"`},
		"group one --id x --most 5 a":  {ExitUsage, "group one: five is too much"},
		"group one --id x --most y a":  {ExitUsage, "--most: expected"},
		"--format x group one --id x":  {ExitUsage, `--format must be one of "text","json" but got "x"`},
		"group one --id x a --another": {ExitUsage, "unknown flag --another"},
	} {
		var out strings.Builder
		code := Execute(t.Context(), &parsed{}, func(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) },
			strings.Fields(args), Streams{Out: &out, Err: &out})
		if code != want.code || !strings.Contains(out.String(), want.text) {
			t.Errorf("%q: code %d, want %d with %q:\n%s", args, code, want.code, want.text, out.String())
		}
	}
}
