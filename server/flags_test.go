package main

import (
	"io"
	"strings"
	"testing"

	"schakel/server/cli"
)

func TestLanguageFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", ""},
		{"--language nb --time-zone Europe/Oslo", ""},
		{"--language no", `"en","nl","nb"`},
		{"--time-zone Europe/Nowhere", `--time-zone: there is no time zone "Europe/Nowhere"`},
		{"--time-zone Local", "--time-zone"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			parser, err := cli.NewParser(&CLI{}, cli.Streams{Out: io.Discard, Err: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			_, err = cli.Parse(parser, append([]string{"serve"}, strings.Fields(c.args)...))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
