package projections

import (
	"bytes"
	"sync"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// shared is what several projections need of one event: the first that asks computes it for all of them, which may apply
// the event at the same time. They must not change it.
type shared struct {
	delta     workspace.Delta
	isContent bool
	makeDelta sync.Once

	roots     roots
	err       error
	makeRoots sync.Once
}

// delta is workspace.DeltaOf of the event that is applied.
func (tx Tx) delta(ev domain.Recorded) (d workspace.Delta, isContent bool) {
	s := tx.shared
	if s == nil {
		return workspace.DeltaOf(ev.Data)
	}
	s.makeDelta.Do(func() { s.delta, s.isContent = workspace.DeltaOf(ev.Data) })
	return s.delta, s.isContent
}

// roots are the index and the security document that an event changes.
type roots struct {
	index   *document.Map     // nil: it is not changed
	entries []workspace.Entry // the index first
}

// roots returns the roots of the delta of the event that is applied.
func (tx Tx) roots(d workspace.Delta) (roots, error) {
	if tx.shared == nil {
		return rootsOf(d)
	}
	tx.shared.makeRoots.Do(func() { tx.shared.roots, tx.shared.err = rootsOf(d) })
	return tx.shared.roots, tx.shared.err
}

func rootsOf(d workspace.Delta) (r roots, err error) {
	if d.Settings != nil {
		r.index = d.Settings.Index()
		e, err := rootEntry("index", r.index)
		if err != nil {
			return r, err
		}
		e.HiddenPaths = d.Settings.HiddenPaths
		r.entries = append(r.entries, e)
	}
	if d.Security != nil {
		e, err := rootEntry("security", d.Security.Document())
		if err != nil {
			return r, err
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// safeIndex returns the index as document.SafeJSON writes it.
func (r roots) safeIndex() ([]byte, error) {
	if body := r.entries[0].Body; !bytes.ContainsAny(body, "<>&") {
		return body, nil
	}
	return document.SafeJSON(r.index)
}

func rootEntry(path string, doc *document.Map) (workspace.Entry, error) {
	body, err := document.JSON(doc)
	return workspace.Entry{Path: path, Hash: workspace.HashOf(body), Body: body}, err
}

// with returns the entries of the roots, and others after them.
func (r roots) with(entries []workspace.Entry) []workspace.Entry {
	return append(r.entries[:len(r.entries):len(r.entries)], entries...)
}
