package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/workspace"
)

// Apps is the read model of published apps. It adds the built-in ones, which have no events. An app
// that is not published any more is found only for its instances.
//
//	a{slug}          JSON
//	f{slug}          JSON, the last state of an app that is not published any more
//	w{workspaceId}   slug
//	u{seq}{slug}     nothing; seq is that of the app's last event
type Apps struct{}

// App is an app. Its JSON is what REST serves.
type App struct {
	app.App
	ID        string       `json:"id"`       // the slug
	Versions  []AppVersion `json:"versions"` // those of App, as they are served
	CreatedAt string       `json:"createdAt"`
	CreatedBy string       `json:"createdBy"`
	UpdatedAt string       `json:"updatedAt"`
	UpdatedBy string       `json:"updatedBy"`
}

// AppVersion is one publication of an app.
type AppVersion struct {
	Name      string `json:"name"`
	Revision  uint64 `json:"contentRevision"` // of the workspace
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
}

// AppQuery selects apps: those that match every field that is set.
type AppQuery struct {
	Text        string   // each of its words is in the name, the slug or the description, in any case and language
	WorkspaceID string   // published by this workspace
	Labels      []string // with one of these
}

// storedApp is the stored value of an app.
type storedApp struct {
	State     app.State `json:"state"`
	Seq       uint64    `json:"seq"` // of its last event
	CreatedAt string    `json:"createdAt"`
	CreatedBy string    `json:"createdBy"`
	UpdatedAt string    `json:"updatedAt"`
	UpdatedBy string    `json:"updatedBy"`
}

// Name implements Projection.
func (Apps) Name() string { return "apps.2" }

// Log implements Projection.
func (Apps) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p Apps) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case app.Published:
		return p.publish(tx, ev, e.App.Slug)
	case app.Deleted:
		old, ok, err := p.stored(tx, e.AppSlug)
		if err == nil && !ok {
			err = fmt.Errorf("app %s was never published", e.AppSlug)
		}
		if err != nil {
			return err
		}
		body, err := json.Marshal(old)
		return errors.Join(err, tx.Set(formerAppKey(e.AppSlug), body),
			tx.Delete(appKey(e.AppSlug)), tx.Delete(appOfKey(old.State.WorkspaceID)), tx.Delete(appOrderKey(old.Seq, e.AppSlug)))
	}
	return nil
}

func (p Apps) publish(tx Tx, ev domain.Recorded, slug string) error {
	have, known, err := p.stored(tx, slug)
	if err != nil {
		return err
	}
	now := domain.FormatTime(ev.At)
	if known {
		err = tx.Delete(appOrderKey(have.Seq, slug))
	} else {
		have.CreatedAt, have.CreatedBy = now, ev.Meta.UserID
	}
	have.State = app.Decider.Evolve(have.State, ev.Data)
	have.Seq, have.UpdatedAt, have.UpdatedBy = ev.Seq, now, ev.Meta.UserID
	body, invalid := json.Marshal(have)
	if err := errors.Join(err, invalid); err != nil {
		return err
	}
	return errors.Join(tx.Delete(formerAppKey(slug)), tx.Set(appKey(slug), body), tx.Set(appOfKey(have.State.WorkspaceID), []byte(slug)), tx.Set(appOrderKey(ev.Seq, slug), nil))
}

func (Apps) stored(tx Tx, slug string) (have storedApp, ok bool, err error) {
	value, ok, err := tx.Get(appKey(slug))
	if err != nil || !ok {
		return have, false, err
	}
	return have, true, json.Unmarshal(value, &have)
}

// Get returns the app with this slug; ok is false when there is none.
func (p Apps) Get(r Reader, slug string) (a App, ok bool, err error) {
	if a, ok, err = p.read(r, appKey(slug)); err == nil && !ok {
		a, ok = builtInApp(slug)
	}
	return a, ok, err
}

// builtInSince is the creation time that is shown for built-in apps.
const builtInSince = "2026-01-01T00:00:00.000Z"

// builtInApp returns the built-in app with exactly this slug.
func builtInApp(slug string) (a App, ok bool) {
	b, ok := app.BuiltIn(slug)
	if !ok || b.Slug != slug {
		return App{}, false
	}
	return App{
		App: b.App, ID: b.Slug, Versions: []AppVersion{{Name: builtInVersion, Revision: app.BuiltInRevision, CreatedAt: builtInSince}},
		CreatedAt: builtInSince, UpdatedAt: builtInSince,
	}, true
}

// builtInVersion is the one version of a built-in app: that of the binary.
const builtInVersion = "built-in"

// IsBuiltIn reports whether the app is part of the binary.
func (a App) IsBuiltIn() bool { return app.IsBuiltInHome(a.WorkspaceID) }

func (p Apps) read(r Reader, key []byte) (a App, ok bool, err error) {
	value, ok, err := r.Get(p, key)
	if err != nil || !ok {
		return App{}, false, err
	}
	var have storedApp
	if err := json.Unmarshal(value, &have); err != nil {
		return App{}, false, err
	}
	return have.toApp(), true, nil
}

// Of returns the app that a workspace publishes; ok is false when there is none.
func (p Apps) Of(r Reader, workspaceID string) (a App, ok bool, err error) {
	slug, ok, err := r.Get(p, appOfKey(workspaceID))
	if err != nil || !ok {
		return App{}, false, err
	}
	return p.Get(r, string(slug))
}

// Current is the version of an app that was published last.
const Current = "current"

// FindVersion returns an app, and the revision of its content that is installed as a
// version: "" and current are the newest. The revision is 0 when there is no such
// app, not that version of it, or when its workspace is gone.
func (p Apps) FindVersion(r Reader, slug, version string) (a App, revision uint64, err error) {
	a, revision, err = p.findVersion(r, appKey(slug), version)
	return orBuiltIn(a, revision, slug, err)
}

// orBuiltIn returns an app that was found, else the built-in one of that slug. It has one
// version, whatever version an instance from elsewhere asks for.
func orBuiltIn(a App, revision uint64, slug string, err error) (App, uint64, error) {
	if err != nil || a.ID != "" {
		return a, revision, err
	}
	if b, ok := builtInApp(slug); ok {
		return b, app.BuiltInRevision, nil
	}
	return a, 0, nil
}

// RunningVersion is FindVersion for instances: it also finds the versions of an app that is not published any more.
func (p Apps) RunningVersion(r Reader, slug, version string) (a App, revision uint64, err error) {
	a, revision, err = p.findVersion(r, appKey(slug), version)
	if err == nil && a.ID == "" {
		a, revision, err = p.findVersion(r, formerAppKey(slug), version)
	}
	return orBuiltIn(a, revision, slug, err)
}

// Publisher returns the workspace that publishes the app with this slug, or did; "" when
// none ever did.
func (p Apps) Publisher(r Reader, slug string) (workspaceID string, err error) {
	a, ok, err := p.read(r, appKey(slug))
	if err == nil && !ok {
		a, _, err = p.read(r, formerAppKey(slug))
	}
	return a.WorkspaceID, err
}

func (p Apps) findVersion(r Reader, key []byte, version string) (a App, revision uint64, err error) {
	a, ok, err := p.read(r, key)
	if err != nil || !ok {
		return a, 0, err
	}
	rec, ok, err := Workspaces{}.Record(r, a.WorkspaceID)
	if err != nil || !ok || rec.Deleted != nil {
		return a, 0, err
	}
	return a, a.Revision(version), nil
}

// Revision returns that of the version with this name, 0 when there is none.
func (a App) Revision(version string) uint64 {
	if a.IsBuiltIn() {
		return app.BuiltInRevision
	}
	for _, v := range a.Versions {
		if version == "" || version == Current || version == v.Name {
			return v.Revision
		}
	}
	return 0
}

// List visits the apps that q selects, the last published first and built-in ones last,
// until visit returns false.
func (p Apps) List(r Reader, q AppQuery, visit func(App) (more bool)) error {
	q.Text = strings.ToLower(q.Text)
	if q.WorkspaceID != "" {
		a, ok, err := p.Of(r, q.WorkspaceID)
		if ok && q.matches(a) {
			visit(a)
		}
		return err
	}
	more, newestFirst := true, Span{Prefix: []byte{'u'}, Reverse: true, KeysOnly: true}
	err := r.Iterate(p, newestFirst, func(key, _ []byte) (bool, error) {
		a, ok, err := p.read(r, appKey(string(key[9:])))
		if err == nil && !ok {
			err = fmt.Errorf("app %s is in the index, but not there", key[9:])
		}
		more = err == nil && (!q.matches(a) || visit(a))
		return more, err
	})
	for _, b := range app.BuiltIns() {
		if err != nil || !more {
			break
		}
		var a App
		if a, _, err = p.Get(r, b.Slug); err == nil && a.IsBuiltIn() && q.matches(a) {
			more = visit(a)
		}
	}
	return err
}

// matches reports whether q, in lower case, selects a.
func (q AppQuery) matches(a App) bool {
	texts := slices.Concat([]string{a.Slug}, a.Name.Texts(), a.Description.Texts())
	return (q.WorkspaceID == "" || q.WorkspaceID == a.WorkspaceID) &&
		containsWords(strings.ToLower(strings.Join(texts, "\n")), q.Text) &&
		(len(q.Labels) == 0 || slices.ContainsFunc(q.Labels, func(l string) bool { return slices.Contains(a.Labels, l) }))
}

// toApp returns the app as it is served.
func (s storedApp) toApp() App {
	a := App{
		App: s.State.App, ID: s.State.Slug, Versions: make([]AppVersion, len(s.State.Versions)),
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
	}
	for i, v := range s.State.Versions {
		a.Versions[i] = AppVersion{v.Name, v.Revision, domain.FormatTime(v.CreatedAt), v.CreatedBy}
	}
	return a
}

func appKey(slug string) []byte          { return append([]byte{'a'}, slug...) }
func formerAppKey(slug string) []byte    { return append([]byte{'f'}, slug...) }
func appOfKey(workspaceID string) []byte { return append([]byte{'w'}, workspaceID...) }

func appOrderKey(seq uint64, slug string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'u'}, seq), slug...)
}

// Instances is the read model of renamed app instances: their data stays under the slug that the
// instance had before.
//
//	w{workspace}  the StorageSlugs of the workspace, as JSON; absent when nothing was renamed
type Instances struct{}

// Name implements Projection.
func (Instances) Name() string { return "instances.1" }

// Log implements Projection.
func (Instances) Log() domain.Log { return domain.State }

// StorageSlugs has the slug under which the data of an instance is stored, by app and slug of the
// instance. Without an entry it is its own slug.
type StorageSlugs map[string]map[string]string

// Apply implements Projection.
func (p Instances) Apply(tx Tx, ev domain.Recorded) error {
	d, ok := tx.delta(ev)
	_, back := ev.Data.(workspace.Restored)
	if !ok || !back && !slices.ContainsFunc(d.Entries, func(e workspace.Entry) bool { return e.From != "" }) {
		return nil
	}
	key := append([]byte{'w'}, ev.Stream.ID...)
	slugs, err := parseStorageSlugs(tx.Get(key))
	if err != nil {
		return err
	}
	moves := renames(d)
	if back {
		moves.addRestored(slugs, d)
	}
	for app, moved := range moves {
		if slugs[app] = applyRenames(slugs[app], moved); len(slugs[app]) == 0 {
			delete(slugs, app)
		}
	}
	if len(slugs) == 0 {
		return tx.Delete(key)
	}
	text, err := json.Marshal(slugs)
	if err != nil {
		return err
	}
	return tx.Set(key, text)
}

// slugMoves has the new slugs of instances, by app and old slug.
type slugMoves map[string]map[string]string

func (m slugMoves) add(app, from, to string) {
	if m[app] == nil {
		m[app] = map[string]string{}
	}
	m[app][from] = to
}

// renames returns the instances that a change renames.
func renames(d workspace.Delta) slugMoves {
	all := slugMoves{}
	for _, e := range d.Entries {
		folder, slug := workspace.Folder(e.Path)
		if _, from := workspace.Folder(e.From); from != "" && folder == "imports" {
			all.add(e.App, from, slug)
		}
	}
	return all
}

// addRestored adds the instances that a restoration gives their old slug back.
func (m slugMoves) addRestored(slugs StorageSlugs, d workspace.Delta) {
	for _, e := range d.Entries {
		folder, slug := workspace.Folder(e.Path)
		if folder != "imports" || e.From != "" {
			continue
		}
		for from, at := range slugs[e.App] {
			if at == slug && slices.Contains(d.Deleted, "imports/"+from) {
				m.add(e.App, from, slug)
			}
		}
	}
}

// applyRenames returns the storage slugs after renames. If the new slug of an instance had data of a
// deleted instance, that data belongs to the slug that is free now: nothing is lost, and no two
// instances share data.
func applyRenames(before, moves map[string]string) map[string]string {
	storageSlug := func(slug string) string {
		if at, ok := before[slug]; ok {
			return at
		}
		return slug
	}
	after := maps.Clone(before)
	if after == nil {
		after = map[string]string{}
	}
	used := map[string]bool{}
	for from, to := range moves {
		after[to], used[to] = storageSlug(from), true
	}
	for from := range moves {
		if used[from] {
			continue
		}
		last := from
		for range moves { // follows a chain of renames
			if next, ok := moves[last]; ok {
				last = next
			}
		}
		after[from] = storageSlug(last)
	}
	maps.DeleteFunc(after, func(slug, at string) bool { return slug == at })
	return after
}

func parseStorageSlugs(text []byte, ok bool, err error) (StorageSlugs, error) {
	slugs := StorageSlugs{}
	if err != nil || !ok {
		return slugs, err
	}
	if err := json.Unmarshal(text, &slugs); err != nil {
		return nil, fmt.Errorf("read where instances keep what is theirs: %w", err)
	}
	return slugs, nil
}

// StorageSlugs returns the storage slugs of the instances of a workspace.
func (p Instances) StorageSlugs(r Reader, workspaceID string) (StorageSlugs, error) {
	return parseStorageSlugs(r.Get(p, append([]byte{'w'}, workspaceID...)))
}
