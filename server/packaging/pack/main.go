// Command pack makes what a release consists of beside the program and its packages: the notices of third parties, the list of parts (SBOM), the
// image for containers, the archive of the Helm chart, and the checksums.
//
// What it writes depends on its input alone: no clock, no order of a map, no owner of a file. The same binary gives the same bytes, on the
// same version of Go. It builds no binary and no .deb or .rpm: .ci/release does, with the compilers and nfpm.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

const usage = "use: pack notices, or pack sbom, image, chart or sums with flags; pack image --help lists those"

// options holds the flags of all commands.
type options struct {
	version, binary, arch, ca, dir string
	created                        time.Time
}

// run runs one command, which writes to out.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	var o options
	var day string
	flags := flag.NewFlagSet("pack "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.version, "version", "", "version of the release, such as 1.2.0")
	flags.StringVar(&o.binary, "binary", "", "the program")
	flags.StringVar(&o.arch, "arch", "amd64", "architecture of the program, as Go names it")
	flags.StringVar(&o.ca, "ca", "/etc/ssl/certs/ca-certificates.crt", "certificates of authorities that the image trusts, in one PEM file")
	flags.StringVar(&o.dir, "dir", ".", "folder of the chart, or of the files of the release")
	flags.StringVar(&day, "created", "1980-01-01", "day of the release: of its commit, so that a second build gives the same")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var err error
	if o.created, err = time.Parse(time.DateOnly, day); err != nil {
		return fmt.Errorf("--created: %w", err)
	}
	switch args[0] {
	case "notices":
		return writeNotices(ctx, out)
	case "sbom":
		return writeSBOM(ctx, out, o)
	case "image":
		return writeImage(out, o)
	case "chart":
		return writeChart(out, o)
	case "sums":
		return writeSums(out, o.dir)
	}
	return fmt.Errorf("there is no command %s; %s", args[0], usage)
}
