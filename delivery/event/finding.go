package event

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// noPlace is the offset of a finding without a place in the body.
const noPlace = -1

// findings collects the problems of one request.
type findings struct {
	body  []byte
	index int // event of the batch being read, -1 outside a batch
	list  []Problem
}

func (f *findings) add(off int, attribute, code, detail string) {
	if f.full() {
		return
	}
	problem := Problem{
		Index: f.index, Attribute: shown(attribute), Pointer: f.pointer(attribute), Code: code, Detail: detail,
	}
	if off >= 0 {
		problem.Line, problem.Column = place(f.body, off)
	}
	f.list = append(f.list, problem)
}

func (f *findings) full() bool { return len(f.list) >= maxProblems }

func (f *findings) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Invalid{Problems: f.list}
}

func (f *findings) pointer(attribute string) string {
	var pointer string
	if f.index >= 0 {
		pointer = "/" + strconv.Itoa(f.index)
	}
	if attribute != "" {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(shown(attribute))
	}
	return pointer
}

// shown bounds a name that came from outside, for problems are shown and logged.
func shown(name string) string {
	const most = 64
	if len(name) <= most {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

func quoted(name string) string { return strconv.Quote(shown(name)) }

// place converts an offset to a line and a column in characters, both from 1.
func place(body []byte, off int) (line, column int) {
	head := body[:min(off, len(body))]
	line = bytes.Count(head, []byte{'\n'}) + 1
	return line, utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:]) + 1
}
