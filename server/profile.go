package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/server/cli"
	"schakel/store"
)

// profileDefaults is the profile of this installation where nobody chose: what
// the flags say, else what registry.DefaultProfile says.
func profileDefaults(d DeliveryFlags, l LimitFlags) registry.Profile {
	p := registry.Profile{
		KeyLifetime: d.KeyLifetime, RetryWaits: d.RetryWaits, RetryAttempts: d.RetryAttempts, RetryDeadline: d.KeyLifetime,
		MaxEventBytes: int(l.MaxEventBytes), MaxBatchEvents: l.MaxBatchEvents, MaxBatchBytes: int(l.MaxBatchBytes),
	}
	if p.MaxBatchBytes > 0 {
		p.MaxBatchBytes = max(p.MaxBatchBytes, p.MaxEventBytes+2)
	}
	return p
}

// livePolicy gives the engine the settings of the profile.
func livePolicy(profiles *profile.Profiles) func(context.Context) (outbox.Policy, error) {
	return func(ctx context.Context) (outbox.Policy, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return outbox.Policy{}, fmt.Errorf("engine policy: %w", err)
		}
		failures := p.CircuitFailures
		if failures == 0 {
			failures = -1 // never
		}
		return outbox.Policy{
			KeyLifetime: p.KeyLifetime,
			Dedupe:      p.DedupeAt != registry.DedupeConsumer,
			Circuit:     outbox.CircuitPolicy{Failures: failures, Wait: p.CircuitWait, MaxWait: p.CircuitMaxWait},
		}, nil
	}
}

// liveSchedule is the retry schedule of the profile.
func liveSchedule(profiles *profile.Profiles) func(context.Context) (webhook.Schedule, error) {
	return func(ctx context.Context) (webhook.Schedule, error) {
		p, err := profiles.Current(ctx)
		if err != nil {
			return webhook.Schedule{}, fmt.Errorf("retry schedule: %w", err)
		}
		s := webhook.DefaultSchedule()
		s.Waits, s.MaxAttempts, s.Deadline, s.MaxRetryAfter = p.RetryWaits, p.RetryAttempts, p.RetryDeadline, p.MaxRetryAfter
		return s, nil
	}
}

// adviceMetric counts where accepted events departed from the profile, by the
// code of the advice that their sender got.
func adviceMetric(metrics *prometheus.Registry) func(code string) {
	given := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "schakel", Name: "events_advice_total", Help: "Advice given to senders of events that were accepted, by code.",
	}, []string{"code"})
	metrics.MustRegister(given)
	return func(code string) { given.WithLabelValues(code).Inc() }
}

// ProfileCmd holds the commands for the settings of the chain collaboration. They
// write to the database directly; a running program heeds them within seconds.
type ProfileCmd struct {
	Show   ProfileShowCmd   `cmd:"" help:"List the settings, what the profile asks for, and what departs from it."`
	Export ProfileExportCmd `cmd:"" help:"Write the settings as a YAML file with explanations."`
	Import ProfileImportCmd `cmd:"" help:"Take over the settings of a file; says what changes."`
}

// ProfileFlags locate the data, and set the defaults of settings that nobody chose.
type ProfileFlags struct {
	RegistryFlags
	DeliveryFlags
	LimitFlags
}

// withProfiles opens the database for one command.
func (f ProfileFlags) withProfiles(ctx context.Context, do func(*store.DB, *profile.Profiles) error) error {
	db, err := openStore(ctx, f.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db, profile.NewProfiles(db, cli.Clock, profileDefaults(f.DeliveryFlags, f.LimitFlags)))
}

// ProfileShowCmd lists the settings.
type ProfileShowCmd struct{ ProfileFlags }

// Run prints the settings as a table that fits a terminal of 100 columns.
func (c *ProfileShowCmd) Run(ctx context.Context, streams cli.Streams) error {
	return c.withProfiles(ctx, func(_ *store.DB, profiles *profile.Profiles) error {
		state, err := profiles.Load(ctx)
		if err != nil {
			return err
		}
		values, relaxed := state.Values(), len(state.Relaxations())
		row := func(cells ...string) { printRow(streams.Out, []int{33, 20, 17, 24}, cells) }
		row("SETTING", "VALUE", "STANDING", "RULES")
		for _, s := range profile.Settings() {
			row(s.Key, shownValue(values[s.Key]), shownStanding(s, values[s.Key]), strings.Join(s.Rules, ", "))
		}
		if relaxed == 0 {
			_, err = fmt.Fprintln(streams.Out, "\nThe settings relax no rule of the profile.")
		} else {
			_, err = fmt.Fprintf(streams.Out, "\n%s less than the profile asks for.\n", cli.Plural(int64(relaxed), "setting asks", "settings ask"))
		}
		return err
	})
}

// shownValue shortens a list that would fill the screen.
func shownValue(value string) string {
	if words := strings.Count(value, ", ") + 1; words > 10 {
		return fmt.Sprintf("%d values: see profile export", words)
	}
	return value
}

func shownStanding(s profile.Setting, value string) string {
	if standing := s.Standing(value); standing == profile.StandingRelaxed || standing == profile.StandingTighter {
		return string(standing) + ": profile asks " + s.Strict
	}
	return string(s.Standing(value))
}

// printRow prints the cells of a row side by side, each wrapped at spaces to its width.
func printRow(out io.Writer, widths []int, cells []string) {
	columns, height := make([][]string, len(cells)), 0
	for i, cell := range cells {
		columns[i] = wrapped(cell, widths[i])
		height = max(height, len(columns[i]))
	}
	for n := range height {
		var line strings.Builder
		for i, column := range columns {
			text := ""
			if n < len(column) {
				text = column[n]
			}
			fmt.Fprintf(&line, "%-*s  ", widths[i], text)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

// wrapped breaks a text at spaces into lines of at most width characters; a longer word has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// ProfileExportCmd writes the settings as a file.
type ProfileExportCmd struct {
	ProfileFlags
	File string `arg:"" optional:"" default:"-" help:"File to write; - is standard output."`
}

// Run writes the file.
func (c *ProfileExportCmd) Run(ctx context.Context, streams cli.Streams) error {
	return c.withProfiles(ctx, func(_ *store.DB, profiles *profile.Profiles) error {
		state, err := profiles.Load(ctx)
		if err != nil {
			return err
		}
		content := profile.ExportProfile(&state.Profile)
		if c.File == "-" {
			_, err = streams.Out.Write(content)
		} else {
			err = os.WriteFile(c.File, content, 0o644) // #nosec G306 -- settings are no secrets
		}
		if err != nil {
			return fmt.Errorf("write profile: %w", err)
		}
		return nil
	})
}

// ProfileImportCmd takes over the settings of a file.
type ProfileImportCmd struct {
	ProfileFlags
	File   string `arg:"" help:"File to read; - is standard input."`
	DryRun bool   `help:"Only say what would change."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit trail."`
}

// Run prints what changes and changes it.
func (c *ProfileImportCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	content, err := readProfileFile(c.File, streams.In)
	if err != nil {
		return err
	}
	file, err := profile.ParseProfile(content)
	if err != nil {
		return badProfile(err)
	}
	return c.withProfiles(ctx, func(db *store.DB, profiles *profile.Profiles) error {
		state, changes, err := profiles.Compare(ctx, file.Values)
		if bad, ok := file.Problems(err); ok {
			return badProfile(bad)
		}
		if err != nil {
			return err
		}
		for _, change := range changes {
			fmt.Fprintf(streams.Out, "%s: %s -> %s%s\n", change.Key, change.Before, change.After, relaxation(change))
		}
		switch {
		case len(changes) == 0:
			fmt.Fprintln(streams.Out, "nothing changes")
			return nil
		case c.DryRun:
			fmt.Fprintln(streams.Out, "nothing was changed; leave out --dry-run to change this")
			return nil
		}
		if cfg, err := c.mailed(ctx, db, streams, log); err != nil {
			return err
		} else if cfg != nil {
			profiles.MailBy(*cfg)
		}
		saved, _, err := profiles.Save(ctx, registry.CommandActor(), profile.ProfileChange{Version: state.Version, Values: file.Values, Reason: c.Reason})
		if err != nil {
			return withFields(err)
		}
		fmt.Fprintf(streams.Out, "saved as version %d\n", saved.Version)
		return nil
	})
}

// relaxation names the rules that a change departs from.
func relaxation(c profile.SettingChange) string {
	if c.Standing(c.After) != profile.StandingRelaxed {
		return ""
	}
	return " (relaxes " + strings.Join(c.Relaxes(), ", ") + ")"
}

func readProfileFile(name string, in io.Reader) ([]byte, error) {
	var content []byte
	var err error
	if name == "-" {
		content, err = io.ReadAll(io.LimitReader(in, profile.MaxProfileBytes+1))
	} else {
		var file *os.File
		if file, err = os.Open(name); err == nil {
			content, err = io.ReadAll(io.LimitReader(file, profile.MaxProfileBytes+1))
			_ = file.Close() // only read
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}

// badProfile writes each problem of a file on a line of its own.
func badProfile(err error) error {
	bad, ok := errors.AsType[*profile.ProfileFileError](err)
	if !ok {
		return err
	}
	lines := []string{"this file cannot be imported; nothing was changed"}
	for _, p := range bad.Problems {
		lines = append(lines, "  "+p.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}
