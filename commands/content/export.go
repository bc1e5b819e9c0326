package content

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"svc/commands/archive"
	"svc/commands/spread"
	"svc/domain"
	"svc/domain/document"
)

// Export returns the files of a workspace as it was at a sequence, such as that of
// its last event that a reader has seen: of the documents that may says, of all
// when it is nil. No lock keeps anybody from it.
func (c *Content) Export(ctx context.Context, workspaceID string, seq uint64, may func(path string, ref Ref) bool) (archive.Tree, error) {
	all, err := c.at(ctx, workspaceID, seq, may)
	if err != nil {
		return nil, err
	}
	return all.Files(c.unlimited())
}

// unlimited returns the limits without those of sizes: everything that was saved can be
// exported.
func (c *Content) unlimited() archive.Limits {
	limits := c.Limits()
	limits.Files, limits.FileBytes, limits.TreeBytes = math.MaxInt, math.MaxInt, math.MaxInt
	return limits
}

// at returns documents of a workspace of one moment.
func (c *Content) at(ctx context.Context, workspaceID string, seq uint64, may func(string, Ref) bool) (*archive.Content, error) {
	refs, err := c.Library.At(ctx, workspaceID, seq)
	if err != nil {
		return nil, err
	}
	var locations []archive.Location
	var found []Ref
	for path, ref := range refs {
		if may != nil && !may(path, ref) {
			continue
		}
		location, ok := archive.Locate(path + ".yml")
		if !ok {
			return nil, errors.New("content: " + path + " is no path of a document")
		}
		locations, found = append(locations, location), append(found, ref)
	}
	docs, errs := make([]*document.Map, len(found)), make([]error, len(found))
	spread.Over(len(found), func(i int) { docs[i], errs[i] = c.Library.Document(ctx, workspaceID, found[i]) })
	all := &archive.Content{}
	for i, location := range locations {
		if errs[i] != nil {
			return nil, errs[i]
		}
		all.Put(location, docs[i])
	}
	return all, nil
}

// Between returns the files that differ between two moments of a workspace, as they were and as they
// became. Before the sequence 0 there was nothing.
func (c *Content) Between(ctx context.Context, workspaceID string, from, to uint64) (before, after archive.Tree, err error) {
	became, err := c.Library.At(ctx, workspaceID, to)
	if err != nil {
		return nil, nil, err
	}
	before, was := archive.Tree{}, map[string]Ref{}
	if from > 0 {
		if was, err = c.Library.At(ctx, workspaceID, from); err != nil {
			return nil, nil, err
		}
		if before, err = c.textsAt(ctx, workspaceID, from, became); err != nil {
			return nil, nil, err
		}
	}
	after, err = c.textsAt(ctx, workspaceID, to, was)
	return before, after, err
}

// textsAt returns the files of one moment that are not the same in another.
func (c *Content) textsAt(ctx context.Context, workspaceID string, seq uint64, other map[string]Ref) (archive.Tree, error) {
	some, err := c.at(ctx, workspaceID, seq, func(path string, ref Ref) bool { return other[path].Hash != ref.Hash })
	if err != nil {
		return nil, err
	}
	tree := archive.Tree{}
	for _, location := range some.Locations() {
		if tree[location.Path()], err = archive.Text(location, some.Get(location)); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// Exported is a workspace to be exported with others.
type Exported struct {
	ID      string
	Seq     uint64 // the moment
	AppSlug string // of the app it publishes, "" for none
	AppName string
	May     func(path string, ref Ref) bool // which documents; nil: all
}

// ExportMany returns an archive of many workspaces. Those whose apps others have
// instances of come first. With more, an app that is in none of them is looked
// for; more returns false when there is none that may be read.
func (c *Content) ExportMany(ctx context.Context, list []Exported, more func(appSlug string) (Exported, bool, error)) (archive.Bulk, error) {
	b := &bulkWriter{c: c, ctx: ctx, more: more, known: map[string]Exported{}, out: archive.Bulk{Archives: map[string][]byte{}}, seen: map[string]bool{}}
	for _, w := range list {
		if w.AppSlug != "" {
			b.known[w.AppSlug] = w
		}
	}
	for _, w := range list {
		if err := b.add(w); err != nil {
			return archive.Bulk{}, err
		}
	}
	return b.out, nil
}

type bulkWriter struct {
	c     *Content
	ctx   context.Context //nolint:containedctx // it lives as long as one call
	more  func(appSlug string) (Exported, bool, error)
	known map[string]Exported // by the slug of their app
	seen  map[string]bool     // by id
	size  int
	out   archive.Bulk
}

// add adds a workspace after those that it needs.
func (b *bulkWriter) add(w Exported) error {
	if b.seen[w.ID] {
		return nil
	}
	b.seen[w.ID] = true
	limits := b.c.Limits()
	if len(b.seen) > limits.Workspaces {
		return limitExceeded("workspaces", limits.Workspaces)
	}
	all, err := b.c.at(b.ctx, w.ID, w.Seq, w.May)
	if err != nil {
		return err
	}
	for _, slug := range installs(all) {
		need, found, err := b.find(slug)
		if err == nil && found {
			err = b.add(need)
		}
		if err != nil {
			return err
		}
	}
	tree, err := all.Files(b.c.unlimited())
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	if err := tree.WriteZip(&zipped); err != nil {
		return err
	}
	if b.size += zipped.Len(); b.size > limits.ArchiveBytes {
		return limitExceeded("archiveBytes", limits.ArchiveBytes)
	}
	b.out.WorkspaceIDs = append(b.out.WorkspaceIDs, w.ID)
	b.out.Archives[w.ID] = zipped.Bytes()
	if w.AppSlug != "" {
		b.out.PublishApps = append(b.out.PublishApps, archive.BulkApp{WorkspaceID: w.ID, Slug: w.AppSlug, Name: w.AppName})
	}
	return nil
}

// limitExceeded refuses an archive that nobody could import again.
func limitExceeded(limit string, value int) error {
	return domain.Refuse(domain.CodeValidation, "the limit %s of %d is exceeded: export fewer workspaces at a time", limit, value).
		Reason("limit_exceeded").With("limit", limit).With("value", value)
}

// find returns the workspace of an app, if it is to be in the archive.
func (b *bulkWriter) find(slug string) (Exported, bool, error) {
	if w, ok := b.known[slug]; ok || b.more == nil {
		return w, ok, nil
	}
	w, ok, err := b.more(slug)
	if err == nil && ok {
		b.known[slug] = w
	}
	return w, ok, err
}

// installs lists the apps that a workspace has instances of, each once.
func installs(all *archive.Content) []string {
	apps := map[string]bool{}
	for _, doc := range all.Imports {
		apps[doc.Text("appSlug")] = true
	}
	return slices.Sorted(maps.Keys(apps))
}
