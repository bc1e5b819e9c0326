package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/domain/document"
)

// State tells which of its states a workspace is in. As long as it is the same, so
// is what the read models have of the workspace: its settings and what the platform
// says about them, its documents, with whom they are shared.
type State struct {
	Revision   uint64 // how often the settings changed
	Seq        uint64 // of the last event of the workspace that changed any of it
	Generation uint32 // of the read models: what was rebuilt is looked at anew
}

// Expired lists the workspaces whose lock has run out at a time.
func (w Workspaces) Expired(r Reader, now time.Time) (ids []string, err error) {
	err = r.Iterate(w, Span{Prefix: []byte{'l'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[1:]) >= uint64(now.UnixMilli()) {
			return false, nil
		}
		ids = append(ids, string(key[9:]))
		return true, nil
	})
	return ids, err
}

// Get returns the workspace with this id, without its content; ok is false when
// there is none, or it was deleted.
func (w Workspaces) Get(r Reader, id string) (doc Document, ok bool, err error) {
	settings, ok, err := r.Get(w, documentKey(id))
	if err != nil || !ok {
		return Document{}, false, err
	}
	state, dynamic, ok, err := w.dynamic(r, id)
	if err != nil || !ok || len(settings) < 2 {
		return Document{}, false, errors.Join(err, errHeader)
	}
	body := append(settings[:len(settings)-1], ',')
	return Document{State: state, JSON: append(body, dynamic[1:]...)}, true, nil
}

// State returns the state that a workspace is in; ok is false when there is none.
func (w Workspaces) State(r Reader, id string) (s State, ok bool, err error) {
	s, _, ok, err = w.dynamic(r, id)
	return s, ok, err
}

// dynamic returns what changes more often than the settings.
func (w Workspaces) dynamic(r Reader, id string) (s State, text []byte, ok bool, err error) {
	value, ok, err := r.Get(w, dynamicKey(id))
	if err != nil || !ok {
		return s, nil, false, err
	}
	if len(value) < 17 {
		return s, nil, false, errHeader
	}
	return State{
		Revision: binary.BigEndian.Uint64(value), Seq: binary.BigEndian.Uint64(value[8:]), Generation: r.gen.num,
	}, value[16:], true, nil
}

// Record returns what is kept of a workspace, deleted or not.
func (w Workspaces) Record(r Reader, id string) (rec Record, ok bool, err error) {
	value, ok, err := r.Get(w, recordKey(id))
	if err != nil || !ok {
		return rec, false, err
	}
	err = json.Unmarshal(value, &rec)
	return rec, err == nil, err
}

// Settings returns the settings document of a workspace.
func (w Workspaces) Settings(r Reader, id string) (*document.Map, bool, error) {
	value, ok, err := r.Get(w, documentKey(id))
	if err != nil || !ok {
		return nil, false, err
	}
	doc := document.MapOf()
	return doc, true, json.Unmarshal(value, doc)
}

// BySlug returns the id of the workspace that has a slug, "" for none.
func (w Workspaces) BySlug(r Reader, slug string) (string, error) {
	id, _, err := r.Get(w, []byte("s"+slug))
	return string(id), err
}

// ByDomain returns the id of the workspace whose pages have a host, "" for none.
func (w Workspaces) ByDomain(r Reader, host string) (string, error) {
	id, _, err := r.Get(w, []byte("h"+host))
	return string(id), err
}

// List visits all workspaces, or the deleted ones, the last updated first, until
// visit returns false.
func (w Workspaces) List(r Reader, deleted bool, visit func(Record) (more bool)) error {
	newestFirst := Span{Prefix: []byte{'u'}, Reverse: true, KeysOnly: true}
	if deleted {
		newestFirst.Prefix = []byte{'x'}
	}
	return r.Iterate(w, newestFirst, func(key, _ []byte) (bool, error) {
		rec, ok, err := w.Record(r, string(key[9:]))
		if err != nil || !ok {
			return false, errors.Join(err, fmt.Errorf("workspace %s is in the index, but not there", key[9:]))
		}
		return visit(rec), nil
	})
}
