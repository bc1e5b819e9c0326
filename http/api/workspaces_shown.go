package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"strconv"
	"sync/atomic"

	"svc/commands/archive"
	"svc/commands/cache"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// keptBytes bounds what a node keeps of composed workspaces.
const keptBytes = 16 << 20

// shownWorkspaces keeps workspaces as they were shown last to whoever has certain
// rights: most reads ask for what has not changed. What is kept is shown again only
// when everything that it was made of is as it was: the rights, the state of the
// workspace, and the editions of its apps.
type shownWorkspaces struct {
	Deps
	kept *cache.Cache[viewer, *composed]
}

// viewer is who looks at what. Rights never change: those of somebody whose rights
// have changed are others.
type viewer struct {
	rights *access.Rights
	id     string
}

func viewerOf(r *http.Request) viewer {
	return viewer{gateway.GrantFrom(r.Context()).Rights, workspaceID(r)}
}

// composed is a workspace as it is shown, and what it was made of.
type composed struct {
	tagged
	state    projections.State
	editions []edition
	held     atomic.Uint64 // the last moment at which it was known to be so
}

// edition is an app as an instance of it shows it.
type edition struct {
	slug, version string
	app           projections.App
	revision      uint64 // 0: it has vanished
}

func newShownWorkspaces(d Deps) *shownWorkspaces {
	const besides = 1 << 10 // the rights, and the entry itself
	return &shownWorkspaces{d, cache.Weighing(keptBytes, func(_ viewer, c *composed) uint32 {
		return uint32(len(c.json) + besides*(1+len(c.editions)))
	})}
}

// atHand is the answer to a plain read while nothing at all has changed since the
// last one.
func (s *shownWorkspaces) atHand(r *http.Request) (any, bool) {
	if r.URL.RawQuery != "" || wantsYAML(r) {
		return nil, false
	}
	have, ok := s.kept.Get(viewerOf(r))
	now := s.ReadModel.Moment()
	if !ok || now == 0 || have.held.Load() != uint64(now) {
		return nil, false
	}
	return have.tagged, true
}

// answer is workspaceAnswer, made anew only when it would be another one.
func (s *shownWorkspaces) answer(r *http.Request) (any, error) {
	who := viewerOf(r)
	if wantsYAML(r) {
		return workspaceAnswer(s.Deps, r, who.id, who.rights)
	}
	var answer any
	now := s.ReadModel.Moment() // before the view: what changes between them is looked at again
	err := s.ReadModel.View(func(rd projections.Reader) error {
		shown, err := s.show(r.Context(), rd, who)
		if err == nil {
			shown.held.Store(uint64(now))
			answer = shown.tagged
		}
		return err
	})
	return answer, err
}

// show returns what is kept, if it is as it was, else what it is now.
func (s *shownWorkspaces) show(ctx context.Context, rd projections.Reader, who viewer) (*composed, error) {
	state, ok, err := projections.Workspaces{}.State(rd, who.id)
	if err != nil || !ok {
		return nil, cmp.Or(err, noWorkspace(who.id))
	}
	if have, ok := s.kept.Get(who); ok && have.state == state {
		if same, err := have.offersTheSame(rd); same || err != nil {
			return have, err
		}
	}
	made, err := compose(ctx, s.Deps, rd, who.id, who.rights)
	if err == nil {
		s.kept.Set(who, made)
	}
	return made, err
}

// offersTheSame reports whether the apps of a workspace are as they were: they
// change without it.
func (c *composed) offersTheSame(rd projections.Reader) (bool, error) {
	for _, was := range c.editions {
		is, err := editionOf(rd, was.slug, was.version)
		if err != nil || !reflect.DeepEqual(was, is) {
			return false, err
		}
	}
	return true, nil
}

func editionOf(rd projections.Reader, slug, version string) (e edition, err error) {
	e.slug, e.version = slug, version
	e.app, e.revision, err = projections.Apps{}.FindVersion(rd, slug, version)
	return e, err
}

// workspaceAnswer is a workspace as a read shows it now.
func workspaceAnswer(d Deps, r *http.Request, id string, rights *access.Rights) (any, error) {
	var answer any
	err := d.ReadModel.View(func(rd projections.Reader) error {
		shown, err := compose(r.Context(), d, rd, id, rights)
		if err != nil {
			return err
		}
		if answer = shown.tagged; wantsYAML(r) {
			answer, err = indexInYAML(rd, id, shown.tag)
		}
		return err
	})
	return answer, err
}

// compose puts a workspace together, with what is in it as far as the caller may
// read it. Its tag begins with the revision of the settings, which a change names in
// If-Match; the rest tells answers apart, also those that differ by the rights of
// the caller or by an app alone.
func compose(ctx context.Context, d Deps, rd projections.Reader, id string, rights *access.Rights) (*composed, error) {
	doc, ok, err := projections.Workspaces{}.Get(rd, id)
	if err != nil || !ok {
		return nil, cmp.Or(err, noWorkspace(id))
	}
	more, editions, err := contentOf(ctx, d, rd, rights, id)
	if err != nil {
		return nil, err
	}
	settings, err := d.withPlatform(doc.JSON)
	if err != nil {
		return nil, err
	}
	whole := append(append(settings[:len(settings)-1], ','), more[1:]...)
	sum := sha256.Sum256(whole)
	tag := tagOf(doc.Revision) + "." + strconv.FormatUint(doc.Seq, 36) + "." + hex.EncodeToString(sum[:6])
	return &composed{tagged: tagged{whole, tag}, state: doc.State, editions: editions}, nil
}

// indexInYAML is the index document as its file has it.
func indexInYAML(rd projections.Reader, id, tag string) (any, error) {
	item, ok, err := projections.Content{}.Get(rd, id, "index")
	if err != nil || !ok {
		return nil, cmp.Or(err, noWorkspace(id))
	}
	doc, err := inlineDocument(rd, id, item)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Place{Kind: document.Index}, withoutSecrets(doc))
	return inYAML(text, tag), err
}

// contentOf lists what is in a workspace, for those who may read it, and what the
// caller may do. What it lists must follow from the rights, the state of the
// workspace, the editions and what never changes while the node runs: else it would
// be shown when it is no longer so.
func contentOf(ctx context.Context, d Deps, rd projections.Reader, rights *access.Rights, id string) ([]byte, []edition, error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return nil, nil, err
	}
	var editions []edition
	folders := map[string]*document.Map{"automations": document.MapOf(), "pages": document.MapOf(), "imports": document.MapOf()}
	err = projections.Content{}.List(rd, id, "", func(item projections.Item) (bool, error) {
		folder, slug := workspace.Folder(item.Path)
		if folders[folder] == nil || !mayReadDocument(rd, rights, id, folder, item) {
			return true, nil
		}
		if folder != "imports" {
			doc, err := listedDocument(rd, id, rec.Meta.Slug, item)
			folders[folder].Set(slug, doc)
			return err == nil, err
		}
		doc, err := d.instanceDetail(ctx, rd, id, item)
		if err != nil {
			return false, err
		}
		folders[folder].Set(slug, doc)
		app, err := editionOf(rd, doc.Text("appSlug"), doc.Text("appVersion"))
		editions = append(editions, app)
		return err == nil, err
	})
	if err != nil {
		return nil, nil, err
	}
	body, err := document.JSON(document.MapOf(
		document.Pair{Key: "automations", Value: folders["automations"]}, document.Pair{Key: "pages", Value: folders["pages"]},
		document.Pair{Key: "imports", Value: folders["imports"]}, document.Pair{Key: "can", Value: can(rights)},
	))
	return body, editions, err
}

// can tells what the caller may do, by subject.
func can(rights *access.Rights) *document.Map {
	all := document.MapOf()
	for _, subject := range access.Subjects() {
		actions := []any{}
		if rights != nil && subject != "all" {
			for _, action := range rights.Can(subject) {
				actions = append(actions, action)
			}
			all.Set(subject, actions)
		}
	}
	return all
}
