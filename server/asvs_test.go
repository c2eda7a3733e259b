package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asvsRow is a line of a table of the guide, without the space around its cells.
type asvsRow []string

var (
	asvsID   = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	asvsFile = regexp.MustCompile("`([A-Za-z.][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]+|go\\.mod|\\.golangci\\.yml)`")
	asvsTest = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestASVS holds the table of OWASP ASVS: as many requirements as levels 1 and 2 of version 5.0 have, each once and with a verdict and its
// evidence, counts and list of what is open as the rows are, and files and tests that are there.
func TestASVS(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "server/guide/asvs.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	walk(t, func(file string, text []byte) {
		if strings.HasSuffix(file, "_test.go") {
			for _, found := range testFunc.FindAllSubmatch(text, -1) {
				tests[string(found[1])] = true
			}
		}
	})
	verdicts := []string{"met", "not applicable", "open"}
	counts, total := map[string][]int{}, make([]int, len(verdicts)) // by chapter
	summary, levels := map[string][]string{}, map[string]int{}
	var open, listed, seen []string
	chapter := ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			chapter = name
		} else if item, ok := strings.CutPrefix(line, "- "); ok && chapter == "Summary" {
			listed = append(listed, item)
		}
		row := cells(line)
		switch {
		case chapter == "Summary" && len(row) == 4:
			summary[row[0]] = row[1:]
		case len(row) == 5 && asvsID.MatchString(row[0]):
			id, level, what, verdict, why := row[0], row[1], row[2], row[3], row[4]
			at := slices.Index(verdicts, verdict)
			if at < 0 || what == "" || why == "" || level != "1" && level != "2" || slices.Contains(seen, id) || !strings.HasPrefix(chapter, "V"+strings.Split(id, ".")[0]+" ") {
				t.Errorf("%s: %q is no line with a verdict and a reason, or stands twice or in another chapter", id, line)
				continue
			}
			seen = append(seen, id)
			if counts[chapter] == nil {
				counts[chapter] = make([]int, len(verdicts))
			}
			counts[chapter][at]++
			total[at]++
			levels[level]++
			if verdict == "open" {
				open = append(open, id+" "+what)
			}
			for _, name := range asvsTest.FindAllString(why, -1) {
				if !tests[name] {
					t.Errorf("%s names %s, which is no test", id, name)
				}
			}
			if verdict == "met" && !asvsTest.MatchString(why) && !asvsFile.MatchString(why) && !strings.Contains(why, "](") {
				t.Errorf("%s is met without a file, a test or a guide that shows it", id)
			}
		}
	}
	for _, found := range asvsFile.FindAllStringSubmatch(string(raw), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(found[1]))); err != nil {
			t.Errorf("%s is not in the repository", found[1])
		}
	}
	counts["all"] = total
	for name, want := range counts {
		if got := strings.Join(summary[name], " "); got != strings.Trim(fmt.Sprint(want), "[]") {
			t.Errorf("the summary of %s says %q, its rows are %v", name, got, want)
		}
	}
	if len(summary) != len(counts)+1 { // and its header
		t.Errorf("the summary has %d lines, want %d", len(summary)-1, len(counts))
	}
	if !slices.Equal(open, listed) {
		t.Errorf("open are\n%s\nand listed are\n%s", strings.Join(open, "\n"), strings.Join(listed, "\n"))
	}
	if levels["1"] != 70 || levels["2"] != 183 {
		t.Errorf("%d requirements of level 1 and %d of level 2, want 70 and 183", levels["1"], levels["2"])
	}
}

// cells gives the cells of a line of a table; none for another line.
func cells(line string) asvsRow {
	inner, ok := strings.CutPrefix(line, "| ")
	if !ok {
		return nil
	}
	row := strings.Split(strings.TrimSuffix(inner, " |"), " | ")
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row
}
