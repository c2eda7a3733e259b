package ingest

import (
	"fmt"
	"slices"
	"strings"

	"schakel/delivery/mutation/format"
	"schakel/store"
)

func compareHeader(req *Request, d store.Dataset, h *format.Header) error {
	if h.Dataset == "" {
		return headerProblem(req.Name, "the file does not say of which dataset it is", fmt.Sprintf("Put the dataset %q in its header.", d.ID))
	}
	if !strings.EqualFold(h.Dataset, d.ID) {
		return headerProblem(req.Name, fmt.Sprintf("the file is of dataset %q, not of %q", h.Dataset, d.ID), "Publish it in its own dataset.")
	}
	if initial := req.Kind == store.PublicationInitial; h.Type == format.Initial && !initial || h.Type == format.Delta && initial {
		return headerProblem(req.Name, fmt.Sprintf("the file says that it is of type %s", h.Type), "Publish it as what it is.")
	}
	for _, name := range h.ObjectTypes {
		if _, ok := objectType(d, name); !ok {
			return headerProblem(req.Name, fmt.Sprintf("object type %q is none of the dataset", name), "Add it to the dataset first.")
		}
	}
	return nil
}

func headerProblem(name, detail, remedy string) error {
	return &Refused{Problems: []Problem{{File: name, Code: CodeHeader, Detail: detail, Remedy: remedy}}}
}

// objectType finds how the dataset writes a type: files differ in the first letter (MUT-63).
func objectType(d store.Dataset, name string) (string, bool) {
	if slices.Contains(d.ObjectTypes, name) {
		return name, true
	}
	for _, t := range d.ObjectTypes {
		if format.FoldType(t) == format.FoldType(name) {
			return t, true
		}
	}
	return "", false
}
