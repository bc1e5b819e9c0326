package projections

import (
	"bytes"
	"encoding/binary"
	"slices"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/workspace"
)

// Schedules is the read model of workspaces that may have schedules: those that ever had a document
// with schedules or an app instance, and their last change; and of those that may listen to events of
// the platform itself. It may have too many: the reader looks at the documents.
//
//	w{workspace}         sequence of the last change
//	c{seq}{workspace}    nothing
//	i{app}\0{workspace}  nothing: the app was installed there once
//	h{workspace}         the app that the workspace publishes
//	a{app}               sequence of the last change of the content of its instances
//	p{seq}{app}          nothing
//	n{workspace}         nothing: it once had an app instance, or a document that listens to events of the platform
type Schedules struct{}

// Name implements Projection.
func (Schedules) Name() string { return "schedules.2" }

// Log implements Projection.
func (Schedules) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p Schedules) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case app.Published:
		if err := tx.Set(append([]byte{'h'}, e.App.WorkspaceID...), []byte(e.App.Slug)); err != nil {
			return err
		}
		return p.move(tx, changedApps, e.App.Slug, ev.Seq)
	case app.Deleted:
		return p.move(tx, changedApps, e.AppSlug, ev.Seq)
	case workspace.Staged:
		return p.change(tx, ev, e.Entries)
	case workspace.Deleted, workspace.Undeleted:
		return p.turn(tx, ev)
	}
	if d, ok := tx.delta(ev); ok && (d.Stage != "" || affectsPrograms(d)) {
		return p.change(tx, ev, d.Entries)
	}
	return nil
}

// affectsPrograms reports whether a delta changes automations or app instances.
func affectsPrograms(d workspace.Delta) bool {
	for _, e := range d.Entries {
		if isProgramPath(e.Path) || isProgramPath(e.From) {
			return true
		}
	}
	for _, path := range d.Deleted {
		if isProgramPath(path) {
			return true
		}
	}
	return false
}

func isProgramPath(path string) bool {
	folder, _ := workspace.Folder(path)
	return folder == "automations" || folder == "imports"
}

// change records a change of documents, unless it cannot affect schedules.
func (p Schedules) change(tx Tx, ev domain.Recorded, entries []workspace.Entry) error {
	concerned, listens := false, false
	for _, e := range entries {
		concerned, listens = concerned || mayFire(e), listens || mayListen(e)
		if e.App == "" {
			continue
		}
		if err := tx.Set(installedKey(e.App, ev.Stream.ID), nil); err != nil {
			return err
		}
	}
	if listens {
		if err := tx.Set(listeningKey(ev.Stream.ID), nil); err != nil {
			return err
		}
	}
	if !concerned {
		_, known, err := tx.Get(append([]byte{'w'}, ev.Stream.ID...))
		if err != nil || !known {
			return err
		}
	}
	return p.move(tx, changedWorkspaces, ev.Stream.ID, ev.Seq)
}

// turn records that a workspace was deleted or restored, and with it the app that it publishes.
func (p Schedules) turn(tx Tx, ev domain.Recorded) error {
	if err := p.change(tx, ev, nil); err != nil {
		return err
	}
	slug, ok, err := tx.Get(append([]byte{'h'}, ev.Stream.ID...))
	if err != nil || !ok {
		return err
	}
	return p.move(tx, changedApps, string(slug), ev.Seq)
}

// mayFire reports whether a document may have schedules. The content of a document in the blob store
// is not known here.
func mayFire(e workspace.Entry) bool {
	switch folder, _ := workspace.Folder(e.Path); folder {
	case "imports":
		return true
	case "automations":
		return len(e.Body) == 0 || bytes.Contains(e.Body, []byte(`"schedules"`))
	}
	return false
}

// mayListen reports whether a document may listen to events of the platform.
func mayListen(e workspace.Entry) bool {
	switch folder, _ := workspace.Folder(e.Path); folder {
	case "imports":
		return true
	case "automations":
		v, ok := e.Events.Get("listen")
		listens, isList := v.([]any)
		return !ok || !isList || slices.ContainsFunc(listens, func(pattern any) bool {
			text, isText := pattern.(string)
			return !isText || automation.FitsNative(text)
		})
	}
	return false
}

func listeningKey(workspaceID string) []byte { return append([]byte{'n'}, workspaceID...) }

// MayListen reports whether a workspace may have listeners to events of the platform.
func (p Schedules) MayListen(r Reader, workspaceID string) (bool, error) {
	_, ok, err := r.Get(p, listeningKey(workspaceID))
	return ok, err
}

// changes is a list of names in the order of their last change.
type changes struct{ last, order byte }

var (
	changedWorkspaces = changes{'w', 'c'}
	changedApps       = changes{'a', 'p'}
)

// move puts a name at the end of its list.
func (Schedules) move(tx Tx, list changes, name string, seq uint64) error {
	last := append([]byte{list.last}, name...)
	old, ok, err := tx.Get(last)
	if err != nil {
		return err
	}
	if ok {
		if err := tx.Delete(changeKey(list, binary.BigEndian.Uint64(old), name)); err != nil {
			return err
		}
	}
	if err := tx.Set(last, seqKey(seq)); err != nil {
		return err
	}
	return tx.Set(changeKey(list, seq, name), nil)
}

func changeKey(list changes, seq uint64, name string) []byte {
	return append(append([]byte{list.order}, seqKey(seq)...), name...)
}

func installedKey(appSlug, workspaceID string) []byte {
	return scopedKey('i', appSlug, []byte(workspaceID))
}

// Changed visits the workspaces that changed after a sequence, in the order of their
// last change, until visit returns false.
func (p Schedules) Changed(r Reader, after uint64, visit func(workspaceID string, seq uint64) (more bool)) error {
	return p.since(r, changedWorkspaces, after, visit)
}

// Republished visits the apps whose instances changed after a sequence, as Changed does.
func (p Schedules) Republished(r Reader, after uint64, visit func(appSlug string, seq uint64) (more bool)) error {
	return p.since(r, changedApps, after, visit)
}

func (p Schedules) since(r Reader, list changes, after uint64, visit func(string, uint64) bool) error {
	span := Span{Prefix: []byte{list.order}, From: changeKey(list, after+1, ""), KeysOnly: true}
	return r.Iterate(p, span, func(key, _ []byte) (bool, error) {
		return visit(string(key[9:]), binary.BigEndian.Uint64(key[1:9])), nil
	})
}

// Users returns the workspaces that an app was ever installed in, by itself or within
// another app.
func (p Schedules) Users(r Reader, appSlug string) ([]string, error) {
	var all []string
	known, apps := map[string]bool{}, []string{appSlug}
	met := map[string]bool{appSlug: true}
	for len(apps) > 0 {
		of := apps[0]
		apps = apps[1:]
		homes, err := p.homes(r, of)
		if err != nil {
			return nil, err
		}
		for _, id := range homes {
			if known[id] {
				continue
			}
			known[id], all = true, append(all, id)
			outer, ok, err := r.Get(p, append([]byte{'h'}, id...))
			if err != nil {
				return nil, err
			}
			if ok && !met[string(outer)] {
				met[string(outer)], apps = true, append(apps, string(outer))
			}
		}
	}
	return all, nil
}

// homes returns the workspaces in which an app was installed directly.
func (p Schedules) homes(r Reader, appSlug string) (ids []string, err error) {
	prefix := scopedKey('i', appSlug, nil)
	err = r.Iterate(p, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix):]))
		return true, nil
	})
	return ids, err
}
