package mutationcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
	"schakel/server/cli"
)

// CopyFlags locate the database with copies of datasets.
type CopyFlags struct {
	Database string `required:"" env:"SCHAKEL_COPY_DATABASE" placeholder:"DATABASE" help:"Where the copy is: sqlite:PATH, or postgres://…. Give it a database of its own, not the one of schakel serve."`
}

// CheckFlags checks what flags cannot say one by one.
func (f *CopyFlags) CheckFlags() error { return replica.CheckDatabase(f.Database) }

// Follow keeps an exact copy of somebody's dataset (MUT-01).
type Follow struct {
	CopyFlags
	FollowSourceFlags
	FollowCopyFlags
	FollowAreaFlags
	Reinitialise bool          `help:"Make the copy anew from an initial delivery when it cannot go on: after too long a time, a replaced history, a gap, or other settings."`
	Anew         bool          `help:"Make the copy anew now."`
	Once         bool          `help:"Bring the copy to where the source is and stop; this is what happens without --every too."`
	Every        time.Duration `placeholder:"TIME" help:"Go on and look again so often, as 1h."`
	DryRun       bool          `help:"Tell what would be applied, and do nothing."`
	JSON         bool          `name:"json" help:"Print the report as JSON."`
}

// FollowCopyFlags choose what a copy contains and how it is verified.
type FollowCopyFlags struct {
	Name   string   `placeholder:"NAME" help:"Name of the copy, and of the view that shows it. Default: that of the dataset."`
	Match  string   `default:"id" help:"How the state that a WAS refers to is found: id, all-fields, or key=ELEMENT,ELEMENT…"`
	Fields []string `placeholder:"ELEMENT" help:"Keep only the texts of these elements, in a column each, in place of the whole XML. An element can be named with those around it, as NEN3610ID/lokaalID."`
	Verify string   `enum:"off,warn,repair,stop" default:"off" help:"Compare the fields of a WAS with those of the copy, and when they differ: warn, repair (a state that is lost too), or stop."`
}

// FollowAreaFlags limit a copy to an area.
type FollowAreaFlags struct {
	Area            string   `type:"existingfile" placeholder:"FILE" help:"Keep only what lies in this polygon: WKT or GeoJSON, or a JSON array of keys. Default: what the source says of the area it keeps to, or --geofilter."`
	CRS             int      `name:"crs" enum:"28992,4326" default:"28992" help:"Coordinates of the dataset: 28992 (RD) or 4326."`
	GeometryElement []string `placeholder:"ELEMENT" help:"Element below which geometry counts. Default: all geometry of an object."`
	KeyElement      []string `placeholder:"ELEMENT" help:"Element whose text is a key, for an area of keys."`
	Unlocated       bool     `help:"Objects without geometry or key lie in the area."`
	Tombstones      bool     `help:"Remember which objects left the area."`
	OnReenter       string   `enum:"accept,flag,request-initial" default:"accept" help:"What to do when one comes back, whose history outside is missing: accept it, flag it, or request-initial to make the copy anew."`
}

// Help implements kong.HelpProvider.
func (c *Follow) Help() string {
	return "Follows a dataset of a Schakel or of an API like PDOK's (--url), or applies zips on disk or on standard input (--from). " +
		"The copy is the view NAME in the database; it is right after every group, also when this program, the machine or the line is cut, and the next run goes on there. " +
		"When the dataset has ended and the copy is complete it says so and stops, also with --every. " +
		"Exit codes: 0 the copy is up to date; 1 it is not, such as after a refused delivery, a gap, or when it must be made anew (--reinitialise); the message says why, and what was applied stays; 2 wrong flags; " +
		"3 the copy is up to date, and some of the zips of --from were skipped because it has them already: by their bytes, not by their delivery ids, which some sources repeat."
}

// CheckFlags checks what flags cannot say one by one.
func (c *Follow) CheckFlags() error {
	switch {
	case c.Once && c.Every != 0:
		return errors.New("--once and --every do not go together")
	case c.Every < 0 || c.Every > 0 && c.Every < time.Second:
		return errors.New("--every must be at least a second")
	case c.Every > 0 && c.From != "":
		return errors.New("--every goes with --url")
	case c.DryRun && c.From == "-":
		return errors.New("--dry-run cannot look into standard input")
	}
	if _, err := replica.ParseMatch(c.Match); err != nil {
		return fmt.Errorf("--match: %w", err)
	}
	if c.Name != "" {
		if err := replica.CheckName(c.Name); err != nil {
			return fmt.Errorf("--name: %w", err)
		}
	}
	return nil
}

// Run follows until the copy is up to date, or with --every until it is stopped.
func (c *Follow) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	o, err := c.options(streams, log)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	for {
		ended, err := c.round(ctx, o, streams, log)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("stopped before the copy was up to date; the next run goes on from there: %w", err)
		}
		if c.Every == 0 || ended || ctx.Err() != nil {
			return err
		}
		if err != nil {
			log.ErrorContext(ctx, "the copy is not up to date", "error", err, "again", c.Every)
		}
		if !cli.Pause(ctx, c.Every) {
			return nil
		}
	}
}

// round brings the copy up to date with the source, and reports whether the dataset has ended.
func (c *Follow) round(ctx context.Context, o replica.Options, streams cli.Streams, log *slog.Logger) (ended bool, err error) {
	source, err := c.open(ctx, streams.In, log)
	if err != nil {
		return false, err
	}
	if c.DryRun {
		return false, c.plan(ctx, source, streams)
	}
	f, err := replica.Open(ctx, c.Database, o)
	if err != nil {
		return false, err
	}
	defer f.Close()
	when := replica.RebuildNever
	switch {
	case c.Anew:
		when = replica.RebuildNow
	case c.Reinitialise:
		when = replica.RebuildNeeded
	}
	report, err := f.Follow(ctx, source, when)
	c.Anew = c.Anew && !report.Rebuilt // once is enough, also when what comes behind it fails
	if errors.Is(err, replica.ErrReinitialise) || errors.Is(err, replica.ErrGap) || errors.Is(err, replica.ErrSettings) {
		err = fmt.Errorf("%w; --reinitialise does that", err)
	}
	if err = errors.Join(err, c.print(streams.Out, report)); err == nil && c.From != "" && report.Skipped() > 0 {
		err = &cli.ExitError{Code: cli.ExitSkipped, Err: fmt.Errorf("%s skipped: the copy has them already", cli.Plural(int64(report.Skipped()), "delivery was", "deliveries were"))}
	}
	return err == nil && report.Ended != nil, err
}

// options makes the options of the copy from the flags.
func (c *Follow) options(streams cli.Streams, log *slog.Logger) (replica.Options, error) {
	match, err := replica.ParseMatch(c.Match)
	if err != nil {
		return replica.Options{}, err
	}
	o := replica.Options{
		Name: c.Name, Match: match, Fields: c.Fields, Verify: replica.Verify(c.Verify),
		Tombstones: c.Tombstones, Reenter: replica.Reenter(c.OnReenter), AreaOf: c.areaOf, Now: cli.Clock, Log: log,
	}
	told := cli.Clock()
	o.Progress = func(p replica.Progress) {
		if now := cli.Clock(); now.Sub(told) >= time.Second {
			told = now
			at := ""
			if p.At.Index > 0 { // not at its end
				at = fmt.Sprintf("file %d, ", p.At.Index)
			}
			fmt.Fprintf(streams.Err, "%s %s: %s%s, %s\n", p.Type, p.Delivery, at, cli.Plural(p.Groups, "group", "groups"), cli.Plural(p.Counts.Mutations(), "mutation", "mutations"))
		}
	}
	switch {
	case c.Area != "":
		o.Area, o.AreaName, err = c.areaFile()
	case c.Geofilter != "":
		o.Area, o.AreaName, err = c.areaAsked(c.Geofilter)
	}
	return o, err
}

// plan prints the deliveries that a run would apply.
func (c *Follow) plan(ctx context.Context, source replica.Source, streams cli.Streams) error {
	copies, err := replica.Copies(ctx, c.Database)
	if err != nil {
		return err
	}
	var at *replica.Copy
	for i := range copies {
		if copies[i].Name == c.Name || c.Name == "" && copies[i].Source == source.Name() {
			at = &copies[i]
		}
	}
	if c.Anew {
		at = nil
	}
	steps, err := replica.Plan(ctx, source, at)
	if c.JSON {
		if steps == nil {
			steps = []replica.Step{}
		}
		return errors.Join(err, cli.PrintJSON(streams.Out, steps))
	}
	for _, s := range steps {
		fmt.Fprintln(streams.Out, strings.TrimSpace(fmt.Sprintf("%s %s", s.Type, s.ID)))
	}
	if len(steps) == 0 && err == nil {
		fmt.Fprintln(streams.Out, "up to date")
	}
	return err
}

func (c *Follow) print(w io.Writer, r replica.Report) error {
	if c.JSON {
		return cli.PrintJSON(w, r)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, m := range r.Mismatches {
		fmt.Fprintf(w, "%s %s (state %s): expected %s, found %s\n", m.ObjectType, m.ObjectID, m.ID, m.Expected, m.Found)
	}
	if e := r.Ended; e != nil {
		fmt.Fprintf(w, "note: dataset %s ended at %s: %s The copy is complete; nothing comes any more.\n", r.Dataset, e.At.Format(time.RFC3339), sentence(e.Reason))
	}
	if r.Copy == "" {
		return nil // it did not come so far
	}
	k := r.Counts
	fmt.Fprintf(w, "%s: %s, %s", r.Copy, cli.Plural(int64(len(r.Deliveries)), "delivery", "deliveries"), countsText(k.Counts))
	for _, n := range []struct {
		count int64
		what  string
	}{
		{k.Entered, "entered the area"},
		{k.Left, "left it"},
		{k.Reentered, "came back"},
		{k.Outside, "outside"},
		{k.Again, "in already"},
		{k.Verified, "verified"},
		{k.Wrong, "of them wrong"},
		{k.Repaired, "repaired"},
	} {
		if n.count > 0 {
			fmt.Fprintf(w, ", %d %s", n.count, n.what)
		}
	}
	_, err := fmt.Fprintf(w, "; last delta %q; %.1f s, %.0f groups/s\n", r.DeltaID, r.Seconds, r.PerSecond)
	return err
}

// sentence adds a full stop to a text that has none.
func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// maxAreaBytes bounds the file of an area.
const maxAreaBytes = 64 << 20

// areaFile reads the area of --area, and what tells it from another.
func (f *FollowAreaFlags) areaFile() (replica.Area, string, error) {
	file, err := os.Open(f.Area)
	if err != nil {
		return nil, "", fmt.Errorf("open area: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxAreaBytes+1))
	if err == nil && len(raw) > maxAreaBytes {
		err = fmt.Errorf("it has more than %d bytes", maxAreaBytes)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read area: %w", err)
	}
	filter, err := f.filter(string(raw))
	if err != nil {
		return nil, "", fmt.Errorf("read area: %w", err)
	}
	elements := fmt.Sprint(f.GeometryElement, f.KeyElement, f.Unlocated)
	return areaFilter{filter}, filter.Canonical() + " " + elements, nil
}

// areaAsked is the area of a copy for which the source was asked for a polygon. What leaves it is not heard of again, and what
// enters comes as a change of something unknown, so that the copy must know it (MUT-44, MUT-45). The source decides about what
// has no geometry.
func (f *FollowAreaFlags) areaAsked(polygon string) (replica.Area, string, error) {
	told := *f
	told.Unlocated = true
	filter, err := told.filter(polygon)
	if err != nil {
		return nil, "", fmt.Errorf("read --geofilter: %w", err)
	}
	return areaFilter{filter}, filter.Canonical(), nil
}

// areaOf reads the area that a manifest tells. By what objects lie in it the manifest may tell too; flags come first.
func (f *FollowAreaFlags) areaOf(text string, by *archive.Located) (replica.Area, error) {
	told := *f
	if by != nil {
		told.CRS = cmp.Or(by.CRS, f.CRS)
		if len(f.GeometryElement) == 0 {
			told.GeometryElement = by.GeometryElements
		}
		if len(f.KeyElement) == 0 {
			told.KeyElement = by.KeyElements
		}
	}
	filter, err := told.filter(text)
	if err != nil {
		return nil, err
	}
	return areaFilter{filter}, nil
}

// filter makes a filter of polygons, or of a JSON array of keys.
func (f *FollowAreaFlags) filter(text string) (*area.Filter, error) {
	fields := area.Fields{CRS: area.CRS(f.CRS), Geometry: f.GeometryElement, Keys: f.KeyElement, Unlocated: f.Unlocated}
	bounds, err := area.Split(text, area.Options{Dataset: fields.CRS})
	if err != nil {
		return nil, err
	}
	return area.NewFilter(area.Config{Fields: fields, Areas: bounds})
}

// areaFilter is an area as a follower asks for it. What cannot be located counts as inside, as it does at the source, so
// that nothing is lost.
type areaFilter struct{ *area.Filter }

// Inside implements replica.Area.
func (a areaFilter) Inside(s *format.State) (bool, error) {
	in, err := a.Holds(s)
	if errors.Is(err, area.ErrGeometry) {
		return in, nil
	}
	return in, err
}
