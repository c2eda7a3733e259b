package contracts

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts/contract"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
)

// Bounds of the source on a page: how many lines a part holds, and how many
// bytes of a line are shown.
const (
	sourceLines     = 1000
	sourceLineBytes = 2000
)

// sourceLine is the line that was asked for; the first when none was.
func sourceLine(c echo.Context) int {
	n, err := strconv.Atoi(c.QueryParam("line"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// sourceView is the part of a document that holds a line. Documents are of
// strangers and can be megabytes in one line, so both are cut.
func sourceView(ctx context.Context, content []byte, line int, findings []contract.Finding, here string) view.SourceView {
	content = bytes.TrimSuffix(content, []byte("\n"))
	v := view.SourceView{Total: bytes.Count(content, []byte("\n")) + 1, Found: map[int]bool{}}
	line = min(line, v.Total)
	v.First = (line-1)/sourceLines*sourceLines + 1
	number := 0
	for text := range bytes.SplitSeq(content, []byte("\n")) {
		number++
		if number < v.First {
			continue
		}
		if number >= v.First+sourceLines {
			break
		}
		v.Lines = append(v.Lines, shownLine(ctx, text))
	}
	for _, f := range findings {
		v.Found[f.Line] = true
	}
	if v.First > 1 {
		v.PrevHref = fmt.Sprintf("%s?line=%d#source", here, v.First-sourceLines)
	}
	if next := v.First + sourceLines; next <= v.Total {
		v.NextHref = fmt.Sprintf("%s?line=%d#source", here, next)
	}
	return v
}

// shownLine is a line as text, cut when it is very long.
func shownLine(ctx context.Context, line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= sourceLineBytes {
		return strings.ToValidUTF8(string(line), "�")
	}
	cut := sourceLineBytes
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return i18n.T(ctx, "contracts.source.cut", strings.ToValidUTF8(string(line[:cut]), "�"), i18n.Bytes(ctx, int64(len(line)-cut)))
}

// excerpts puts the line of the document beside each finding, for pages that do
// not show the source. It reads only as far as the last of them.
func excerpts(rows []view.FindingRow, content []byte) {
	wanted, last := map[int][]int{}, 0
	for i, r := range rows {
		wanted[r.Line] = append(wanted[r.Line], i)
		last = max(last, r.Line)
	}
	number := 0
	for text := range bytes.SplitSeq(content, []byte("\n")) {
		if number++; number > last {
			return
		}
		for _, i := range wanted[number] {
			const most = 160
			rows[i].Excerpt = strings.ToValidUTF8(strings.TrimSpace(string(text[:min(most, len(text))])), "")
		}
	}
}
