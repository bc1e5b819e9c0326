package workspaces

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"

	"svc/commands/archive"
	"svc/commands/cache"
	"svc/commands/content"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// cacheBytes bounds what a node keeps of composed workspaces.
const cacheBytes = 16 << 20

// workspaceCache keeps workspaces as they were shown last to whoever has certain
// rights: most reads ask for what has not changed. What is kept is shown again only
// when everything that it was made of is as it was: the rights, the state of the
// workspace, and the editions of its apps.
type workspaceCache struct {
	*Handlers
	entries *cache.Cache[cacheKey, *composedWorkspace]
}

// cacheKey is who looks at what. Rights never change: those of somebody whose rights
// have changed are others.
type cacheKey struct {
	rights *access.Rights
	id     string
}

func cacheKeyOf(r *http.Request) cacheKey {
	return cacheKey{gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r)}
}

// composedWorkspace is a workspace as it is shown, and what it was made of.
type composedWorkspace struct {
	handler.TaggedJSON
	state    projections.State
	editions []appEdition
	validAt  atomic.Uint64 // the last moment at which it was known to be so
}

// appEdition is an app as an instance of it shows it.
type appEdition struct {
	slug, version string
	app           projections.App
	revision      uint64 // 0: it has vanished
}

func (h *Handlers) newWorkspaceCache() *workspaceCache {
	const besides = 1 << 10 // the rights, and the entry itself
	return &workspaceCache{h, cache.Weighing(cacheBytes, func(_ cacheKey, c *composedWorkspace) uint32 {
		return uint32(len(c.JSON) + besides*(1+len(c.editions)))
	})}
}

// cached is the answer to a plain read while nothing at all has changed since the
// last one.
func (s *workspaceCache) cached(r *http.Request) (any, bool) {
	if r.URL.RawQuery != "" || handler.WantsYAML(r) {
		return nil, false
	}
	have, ok := s.entries.Get(cacheKeyOf(r))
	now := s.ReadModel.Moment()
	if !ok || now == 0 || have.validAt.Load() != uint64(now) {
		return nil, false
	}
	return have.TaggedJSON, true
}

// response is workspaceAnswer, made anew only when it would be another one.
func (s *workspaceCache) response(r *http.Request) (any, error) {
	who := cacheKeyOf(r)
	if handler.WantsYAML(r) {
		return s.Handlers.Response(r, who.id, who.rights)
	}
	now := s.ReadModel.Moment() // before the reader: what changes between them is looked at again
	rd := s.ReadModel.Reader()
	defer rd.Close()
	doc, err := s.read(r.Context(), rd, who)
	if err != nil {
		return nil, err
	}
	doc.validAt.Store(uint64(now))
	return doc.TaggedJSON, nil
}

// read returns what is kept, if it is as it was, else what it is now.
func (s *workspaceCache) read(ctx context.Context, rd projections.Reader, who cacheKey) (*composedWorkspace, error) {
	state, ok, err := projections.Workspaces{}.State(rd, who.id)
	if err != nil || !ok {
		return nil, cmp.Or(err, handler.NoWorkspace(who.id))
	}
	if have, ok := s.entries.Get(who); ok && have.state == state {
		if same, err := have.hasSameApps(rd); same || err != nil {
			return have, err
		}
	}
	made, err := s.Handlers.compose(ctx, rd, who.id, who.rights)
	if err == nil {
		s.entries.Set(who, made)
	}
	return made, err
}

// hasSameApps reports whether the apps of a workspace are as they were: they
// change without it.
func (c *composedWorkspace) hasSameApps(rd projections.Reader) (bool, error) {
	for _, was := range c.editions {
		is, err := readAppEdition(rd, was.slug, was.version)
		if err != nil || !reflect.DeepEqual(was, is) {
			return false, err
		}
	}
	return true, nil
}

func readAppEdition(rd projections.Reader, slug, version string) (e appEdition, err error) {
	e.slug, e.version = slug, version
	e.app, e.revision, err = projections.Apps{}.FindVersion(rd, slug, version)
	return e, err
}

// Response is a workspace as a read shows it now.
func (h *Handlers) Response(r *http.Request, id string, rights *access.Rights) (any, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	doc, err := h.compose(r.Context(), rd, id, rights)
	if err != nil {
		return nil, err
	}
	if handler.WantsYAML(r) {
		return indexInYAML(rd, id, doc.Tag)
	}
	return doc.TaggedJSON, nil
}

// compose puts a workspace together, with what is in it as far as the caller may
// read it. Its tag begins with the revision of the settings, which a change names in
// If-Match; the rest tells answers apart, also those that differ by the rights of
// the caller or by an app alone.
func (h *Handlers) compose(ctx context.Context, rd projections.Reader, id string, rights *access.Rights) (*composedWorkspace, error) {
	doc, ok, err := projections.Workspaces{}.Get(rd, id)
	if err != nil || !ok {
		return nil, cmp.Or(err, handler.NoWorkspace(id))
	}
	more, editions, err := h.composeContent(ctx, rd, rights, id)
	if err != nil {
		return nil, err
	}
	settings, err := h.addPlatformRepositories(doc.JSON)
	if err != nil {
		return nil, err
	}
	whole := append(append(settings[:len(settings)-1], ','), more[1:]...)
	sum := sha256.Sum256(whole)
	tag := handler.RevisionTag(doc.Revision) + "." + strconv.FormatUint(doc.Seq, 36) + "." + hex.EncodeToString(sum[:6])
	return &composedWorkspace{TaggedJSON: handler.TaggedJSON{JSON: whole, Tag: tag}, state: doc.State, editions: editions}, nil
}

// indexInYAML is the index document as its file has it.
func indexInYAML(rd projections.Reader, id, tag string) (any, error) {
	item, ok, err := projections.Content{}.Get(rd, id, "index")
	if err != nil || !ok {
		return nil, cmp.Or(err, handler.NoWorkspace(id))
	}
	doc, err := documents.InlineDocument(rd, id, item)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Location{Kind: document.Index}, documents.WithoutSecrets(doc))
	return handler.YAMLResponse(text, tag), err
}

// composeContent lists what is in a workspace, for those who may read it, and what the
// caller may do. What it lists must follow from the rights, the state of the
// workspace, the editions and what never changes while the node runs: else it would
// be shown when it is no longer so.
func (h *Handlers) composeContent(ctx context.Context, rd projections.Reader, rights *access.Rights, id string) ([]byte, []appEdition, error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return nil, nil, err
	}
	var editions []appEdition
	folders := map[string]*document.Map{"automations": document.MapOf(), "pages": document.MapOf(), "imports": document.MapOf(), "knowledge": document.MapOf(), "tests": document.MapOf(), "agents": document.MapOf()}
	err = projections.Content{}.List(rd, id, "", func(item projections.Item) (bool, error) {
		folder, slug := workspace.Folder(item.Path)
		if folders[folder] == nil || !documents.CanReadDocument(rd, rights, id, folder, item) {
			return true, nil
		}
		if folder != "imports" {
			doc, err := documents.ListedDocument(rd, id, rec.Meta.Slug, item)
			if folder == "knowledge" {
				doc.Delete("synonyms")
			}
			folders[folder].Set(slug, doc)
			return err == nil, err
		}
		doc, err := h.Documents.InstanceDetail(ctx, rd, id, item)
		if err != nil {
			return false, err
		}
		folders[folder].Set(slug, doc)
		app, err := readAppEdition(rd, doc.Text("appSlug"), doc.Text("appVersion"))
		editions = append(editions, app)
		return err == nil, err
	})
	if err != nil {
		return nil, nil, err
	}
	body, err := document.JSON(document.MapOf(
		document.Pair{Key: "automations", Value: folders["automations"]}, document.Pair{Key: "pages", Value: folders["pages"]},
		document.Pair{Key: "knowledgeBases", Value: folders["knowledge"]}, document.Pair{Key: "agents", Value: folders["agents"]}, document.Pair{Key: "tests", Value: folders["tests"]},
		document.Pair{Key: "imports", Value: folders["imports"]}, document.Pair{Key: "can", Value: allowedActions(rights)},
	))
	return body, editions, err
}

// allowedActions tells what the caller may do, by subject.
func allowedActions(rights *access.Rights) *document.Map {
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

// pastResponse is a workspace as it was.
func (h *Handlers) pastResponse(r *http.Request, m documents.Moment) (any, error) {
	id := handler.WorkspaceID(r)
	refs, err := h.Library.At(r.Context(), id, m.Seq)
	if err != nil {
		return nil, err
	}
	index, err := h.Library.Document(r.Context(), id, refs["index"])
	if err != nil {
		return nil, err
	}
	index = documents.WithoutSecrets(index)
	if handler.WantsYAML(r) {
		text, err := archive.Text(archive.Location{Kind: document.Index}, index)
		return handler.YAMLResponse(text, strconv.FormatUint(m.Seq, 36)), err
	}
	doc := document.MapOf(document.Pair{Key: "id", Value: id})
	for key, v := range index.All() {
		doc.Set(key, v)
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if err := addPastFields(rd, id, m.Seq, doc); err != nil {
		return nil, err
	}
	body, err := document.JSON(doc)
	if err != nil {
		return nil, err
	}
	body, err = appendPastDocuments(body[:len(body)-1], rd, gateway.GrantFrom(r.Context()).Rights, id, refs)
	return handler.TaggedJSON{JSON: append(body, '}'), Tag: strconv.FormatUint(m.Seq, 36)}, err
}

// addPastFields adds what the service said about a workspace: the revision of its
// content at a sequence, and whether that is newer than what was pushed.
func addPastFields(rd projections.Reader, id string, seq uint64, doc *document.Map) error {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return err
	}
	revision, err := projections.History{}.Revision(rd, id, seq)
	if _, given := doc.Get("labels"); !given {
		doc.Set("labels", []any{})
	}
	if photo, given := doc.Get("photo"); given {
		doc.Set("logo", photo)
	}
	doc.Set("dirty", revision > rec.Synced)
	doc.Set("contentRevision", float64(revision))
	return err
}

// appendPastDocuments adds the documents that a workspace had to the fields of it, for those
// who may read them.
func appendPastDocuments(body []byte, rd projections.Reader, rights *access.Rights, id string, refs map[string]content.Ref) (_ []byte, err error) {
	paths := slices.Sorted(maps.Keys(refs))
	for _, folder := range []string{"automations", "pages", "knowledge", "agents", "tests", "imports"} {
		name := folder
		if folder == "knowledge" {
			name = "knowledgeBases"
		}
		body = append(append(body, `,"`+name+`":`...), '{')
		first := true
		for _, path := range paths {
			in, slug := workspace.Folder(path)
			ref := refs[path]
			item := projections.Item{Path: path, Hash: ref.Hash, ID: ref.ID, Public: ref.Public}
			if in != folder || !documents.CanReadDocument(rd, rights, id, folder, item) {
				continue
			}
			if !first {
				body = append(body, ',')
			}
			if body, err = appendPastDocument(body, rd, id, slug, ref.Hash); err != nil {
				return body, err
			}
			first = false
		}
		body = append(body, '}')
	}
	return body, nil
}

// appendPastDocument adds one document, as lists show it.
func appendPastDocument(body []byte, rd projections.Reader, id, slug, hash string) ([]byte, error) {
	meta, err := projections.Content{}.RawMeta(rd, id, hash)
	if err != nil {
		return body, err
	}
	key, err := json.Marshal(slug)
	if err != nil {
		return body, err
	}
	body = append(append(body, key...), ':')
	body = append(body, meta.About[:len(meta.About)-1]...)
	if len(meta.About) > len("{}") {
		body = append(body, ',')
	}
	if meta.Events != nil {
		body = append(append(append(body, `"events":`...), meta.Events...), ',')
	}
	return append(append(body, `"checksum":"`+meta.Checksum...), `"}`...), nil
}
