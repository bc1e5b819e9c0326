package projections

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"svc/domain"
	"svc/domain/workspace"
)

// Instances is the read model of where what app instances keep is found once they were
// renamed: it stays where it is, under the slug of the instance before.
//
//	w{workspace}  the Kept of the workspace, as JSON; absent when nothing was renamed
type Instances struct{}

// Name implements Projection.
func (Instances) Name() string { return "instances.1" }

// Log implements Projection.
func (Instances) Log() domain.Log { return domain.State }

// Kept tells by app and slug of an instance under which slug things are kept for it.
// What is not in it is kept under its own.
type Kept map[string]map[string]string

// Slug returns the slug under which things are kept for an instance of an app.
func (k Kept) Slug(app, slug string) string {
	if kept, ok := k[app][slug]; ok {
		return kept
	}
	return slug
}

// Apply implements Projection.
func (p Instances) Apply(tx Tx, ev domain.Recorded) error {
	d, ok := workspace.DeltaOf(ev.Data)
	_, back := ev.Data.(workspace.Restored)
	if !ok || !back && !slices.ContainsFunc(d.Entries, func(e workspace.Entry) bool { return e.From != "" }) {
		return nil
	}
	key := append([]byte{'w'}, ev.Stream.ID...)
	kept, err := readKept(tx.Get(key))
	if err != nil {
		return err
	}
	moves := renames(d)
	if back {
		moves.restored(kept, d)
	}
	for app, moved := range moves {
		if kept[app] = renamed(kept[app], moved); len(kept[app]) == 0 {
			delete(kept, app)
		}
	}
	if len(kept) == 0 {
		return tx.Delete(key)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return tx.Set(key, text)
}

// moves are the slugs that instances have now, by app and slug before.
type moves map[string]map[string]string

func (m moves) add(app, from, to string) {
	if m[app] == nil {
		m[app] = map[string]string{}
	}
	m[app][from] = to
}

// renames are the instances that a change renames.
func renames(d workspace.Delta) moves {
	all := moves{}
	for _, e := range d.Entries {
		folder, slug := workspace.Folder(e.Path)
		if _, from := workspace.Folder(e.From); from != "" && folder == "imports" {
			all.add(e.App, from, slug)
		}
	}
	return all
}

// restored adds the instances that are where they were before they were renamed: a
// restoration puts them there, and takes them away where they are.
func (m moves) restored(kept Kept, d workspace.Delta) {
	for _, e := range d.Entries {
		folder, slug := workspace.Folder(e.Path)
		if folder != "imports" || e.From != "" {
			continue
		}
		for from, at := range kept[e.App] {
			if at == slug && slices.Contains(d.Deleted, "imports/"+from) {
				m.add(e.App, from, slug)
			}
		}
	}
}

// renamed returns what is kept where after instances moved. What was kept for the slug
// that an instance has now, of one that is gone, is found under the slug that is free:
// nothing is ever lost, and no two have the same.
func renamed(before, moves map[string]string) map[string]string {
	kept := func(slug string) string {
		if at, ok := before[slug]; ok {
			return at
		}
		return slug
	}
	after := maps.Clone(before)
	if after == nil {
		after = map[string]string{}
	}
	taken := map[string]bool{}
	for from, to := range moves {
		after[to], taken[to] = kept(from), true
	}
	for from := range moves {
		if taken[from] {
			continue
		}
		last := from
		for range moves { // one takes the place of another, that of a third
			if next, ok := moves[last]; ok {
				last = next
			}
		}
		after[from] = kept(last)
	}
	maps.DeleteFunc(after, func(slug, at string) bool { return slug == at })
	return after
}

func readKept(text []byte, ok bool, err error) (Kept, error) {
	kept := Kept{}
	if err != nil || !ok {
		return kept, err
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("read where instances keep what is theirs: %w", err)
	}
	return kept, nil
}

// Kept returns where things are kept for the instances of a workspace.
func (p Instances) Kept(r Reader, workspaceID string) (Kept, error) {
	return readKept(r.Get(p, append([]byte{'w'}, workspaceID...)))
}
