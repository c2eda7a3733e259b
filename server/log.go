package main

import (
	"io"
	"log/slog"

	"schakel/server/cli"
)

// LogFlags choose how the program writes its log to standard error.
type LogFlags struct {
	LogFormat string     `enum:"text,json" default:"text" help:"Format of the log: text or json."`
	LogLevel  slog.Level `default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// logger makes the log of the program.
func (f LogFlags) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(newRepeats(slog.NewJSONHandler(w, opts), cli.Clock))
	}
	return slog.New(newRepeats(slog.NewTextHandler(w, opts), cli.Clock))
}
