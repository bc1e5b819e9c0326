package projections

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/kbdocument"
	"svc/domain/workspace"
)

// KBSources is the read model of what the crawler has to look at: workspaces whose knowledge bases have changed, and the
// documents that were found on each site.
//
//	w{workspace}                           sequence of the last change of a knowledge base
//	c{seq}{workspace}                      time of that change, in milliseconds
//	u{workspace}\0{base}\0{source}\0{id}   address of the document
//	i{workspace}\0{id}                     base\0source
//	m{workspace}                           sequence of the last change of its language models, and a hash of them
type KBSources struct{}

// Name implements Projection.
func (KBSources) Name() string { return "kbsources.2" }

// Log implements Projection.
func (KBSources) Log() domain.Log { return domain.State }

// Rewritten implements Rewriting.
func (KBSources) Rewritten() string { return "wcm" }

// Apply implements Projection.
func (p KBSources) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case kbdocument.Added:
		return p.put(tx, ev.Stream.Scope, e.Document)
	case kbdocument.Updated:
		return p.put(tx, ev.Stream.Scope, e.Document)
	case kbdocument.Deleted, kbdocument.Removed:
		return p.remove(tx, ev.Stream.Scope, ev.Stream.ID)
	case workspace.Staged:
		return p.change(tx, ev, e.Entries, nil)
	case workspace.Deleted, workspace.Undeleted:
		return p.changeIfKnown(tx, ev)
	}
	d, ok := tx.delta(ev)
	if ok && d.Settings != nil {
		if err := p.changeModels(tx, ev, d.Settings.Models); err != nil {
			return err
		}
	}
	if ok && d.Stage != "" {
		return p.changeIfKnown(tx, ev)
	}
	if ok {
		return p.change(tx, ev, d.Entries, d.Deleted)
	}
	return nil
}

// changeIfKnown records a change of a workspace that may concern its knowledge bases, if it ever had one.
func (p KBSources) changeIfKnown(tx Tx, ev domain.Recorded) error {
	_, known, err := tx.Get(append([]byte{'w'}, ev.Stream.ID...))
	if err != nil || !known {
		return err
	}
	return p.move(tx, ev)
}

// changeModels records a change of the language models of a workspace: documents may wait for one.
func (p KBSources) changeModels(tx Tx, ev domain.Recorded, models *document.Map) error {
	key := append([]byte{'m'}, ev.Stream.ID...)
	was, known, err := tx.Get(key)
	if err != nil || !known && models == nil {
		return err
	}
	hash := ""
	if models != nil {
		body, err := document.JSON(models)
		if err != nil {
			return err
		}
		hash = workspace.HashOf(body)
	}
	if known && string(was[8:]) == hash {
		return nil
	}
	if err := tx.Set(key, append(seqKey(ev.Seq), hash...)); err != nil {
		return err
	}
	return p.changeIfKnown(tx, ev)
}

// ModelsChanged returns the sequence of the last change of the language models of a workspace; 0: there was none.
func (p KBSources) ModelsChanged(r Reader, workspaceID string) (uint64, error) {
	value, ok, err := r.Get(p, append([]byte{'m'}, workspaceID...))
	if err != nil || !ok {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// move records when the knowledge bases of a workspace have changed.
func (KBSources) move(tx Tx, ev domain.Recorded) error {
	last := append([]byte{'w'}, ev.Stream.ID...)
	old, known, err := tx.Get(last)
	if err != nil {
		return err
	}
	if known {
		if err := tx.Delete(sourceChangeKey(binary.BigEndian.Uint64(old), ev.Stream.ID)); err != nil {
			return err
		}
	}
	if err := tx.Set(last, seqKey(ev.Seq)); err != nil {
		return err
	}
	return tx.Set(sourceChangeKey(ev.Seq, ev.Stream.ID), seqKey(uint64(ev.At.UnixMilli())))
}

func sourceChangeKey(seq uint64, workspaceID string) []byte {
	return append(append([]byte{'c'}, seqKey(seq)...), workspaceID...)
}

// change records that knowledge bases of a workspace have changed.
func (p KBSources) change(tx Tx, ev domain.Recorded, entries []workspace.Entry, deleted []string) error {
	concerned := false
	for _, e := range entries {
		concerned = concerned || isBasePath(e.Path) || isBasePath(e.From)
	}
	for _, path := range deleted {
		concerned = concerned || isBasePath(path)
	}
	if !concerned {
		return nil
	}
	return p.move(tx, ev)
}

func isBasePath(path string) bool {
	folder, _ := workspace.Folder(path)
	return folder == "knowledge"
}

func (p KBSources) put(tx Tx, workspaceID string, d kbdocument.State) error {
	if err := p.remove(tx, workspaceID, d.ID); err != nil || d.Source != kbdocument.Crawl {
		return err
	}
	of := d.BaseID + "\x00" + d.SourceID
	if err := tx.Set(scopedKey('i', workspaceID, []byte(d.ID)), []byte(of)); err != nil {
		return err
	}
	return tx.Set(scopedKey('u', workspaceID, []byte(of+"\x00"+d.ID)), []byte(d.URL))
}

func (KBSources) remove(tx Tx, workspaceID, id string) error {
	key := scopedKey('i', workspaceID, []byte(id))
	of, known, err := tx.Get(key)
	if err != nil || !known {
		return err
	}
	if err := tx.Delete(scopedKey('u', workspaceID, []byte(string(of)+"\x00"+id))); err != nil {
		return err
	}
	return tx.Delete(key)
}

// Changed visits the workspaces whose knowledge bases changed after a sequence, in the order of their last change, with
// its time.
func (p KBSources) Changed(r Reader, after uint64, visit func(workspaceID string, seq uint64, at time.Time) (more bool)) error {
	return r.Iterate(p, Span{Prefix: []byte{'c'}, From: sourceChangeKey(after+1, "")}, func(key, value []byte) (bool, error) {
		return visit(string(key[9:]), binary.BigEndian.Uint64(key[1:]), time.UnixMilli(int64(binary.BigEndian.Uint64(value)))), nil
	})
}

// KBFound is a document that was found on a site.
type KBFound struct{ ID, URL string }

// Found lists the documents that were found on a site.
func (p KBSources) Found(r Reader, workspaceID, baseID, sourceID string) (list []KBFound, err error) {
	prefix := scopedKey('u', workspaceID, []byte(baseID+"\x00"+sourceID+"\x00"))
	err = r.Iterate(p, Span{Prefix: prefix}, func(key, value []byte) (bool, error) {
		list = append(list, KBFound{string(key[len(prefix):]), string(value)})
		return true, nil
	})
	return list, err
}

// Sources lists the ids of the sites of a base that documents were found on.
func (p KBSources) Sources(r Reader, workspaceID, baseID string) (ids []string, err error) {
	prefix := scopedKey('u', workspaceID, []byte(baseID+"\x00"))
	for from := prefix; ; {
		id := ""
		err := r.Iterate(p, Span{Prefix: prefix, From: from, KeysOnly: true}, func(key, _ []byte) (bool, error) {
			id, _, _ = strings.Cut(string(key[len(prefix):]), "\x00")
			return false, nil
		})
		if err != nil || id == "" {
			return ids, err
		}
		ids = append(ids, id)
		from = append(bytes.Clone(prefix), id+"\x01"...) // behind all of this one
	}
}
