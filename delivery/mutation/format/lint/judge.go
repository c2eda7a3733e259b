package lint

import (
	"cmp"
	"slices"
)

// life follows one id while its uses go by in order.
type life struct {
	key   [32]byte
	uses  int
	born  record // the WORDT that gave the id, when there was one
	given bool
	gone  bool   // a WAS has taken it
	early record // a WAS before any WORDT
	ahead bool   // there was such a WAS
}

// Report judges the ids and gives the findings, all of which it counts. The linter is of no use after it.
func (l *Linter) Report() (Report, error) {
	defer l.records.close()
	var id life
	err := l.records.each(func(r *record) {
		if id.uses == 0 || r.key != id.key {
			l.judge(&id)
			id = life{key: r.key}
		}
		id.uses++
		if r.wordt() {
			l.wordt(&id, r)
		} else {
			l.was(&id, r)
		}
	})
	l.judge(&id)
	l.nowhere()
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line))
	})
	return l.report, err
}

func (l *Linter) at(r *record, rule Rule, what string) {
	l.add(Finding{
		Rule: rule, Severity: Error, File: l.files[r.file], Line: int(r.line), Group: int(r.group), ID: idOf(r.key), What: what,
		order: int(r.file),
	})
}

func (l *Linter) wordt(id *life, r *record) {
	switch {
	case id.given:
		l.at(r, IDTwice, "a wordt has an id that was given before")
	case id.ahead:
		l.at(&id.early, Forward, "a was refers to a state that arises later")
		id.ahead = false
	}
	id.born, id.given, id.gone = *r, true, false
}

func (l *Linter) was(id *life, r *record) {
	switch {
	case id.gone:
		l.at(r, WasTwice, "a was refers to a state that is gone already")
		return
	case !id.given:
		id.early, id.ahead = *r, true
	case id.born.object != 0 && r.object != 0 && id.born.object != r.object:
		l.at(r, ObjectDiffers, "a was is of another object than the state it refers to")
	case id.born.fields != r.fields:
		l.at(r, WasDiffers, "a was has other fields than the state it refers to")
	}
	id.gone = true
}

// judge ends an id: a WAS that nothing came before is right only when there was a time before.
func (l *Linter) judge(id *life) {
	if id.ahead && l.complete && !l.broken {
		l.at(&id.early, WasUnknown, "a was refers to a state that never was")
	}
}
