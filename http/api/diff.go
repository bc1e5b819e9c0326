package api

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/feed"
	"svc/domain/textdiff"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// difference is what differs between two moments.
type difference struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Changes []fileChange `json:"changes"`
	Summary struct {
		Added    int `json:"added"`
		Modified int `json:"modified"`
		Deleted  int `json:"deleted"`
	} `json:"summary"`
}

// fileChange is what differs in one exported file.
type fileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, modified, deleted
	Patch  string `json:"patch"`
}

// getDiff handles GET /v2/workspaces/{workspaceId}/diff.
func getDiff(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		from, to, object := q.Required("from"), q.Text("to"), q.Text("object")
		if err := q.Err(); err != nil {
			return nil, err
		}
		if to == "" {
			to = "current"
		}
		before, err := contentAt(d, r, "from", from)
		if err != nil {
			return nil, err
		}
		after, err := contentAt(d, r, "to", to)
		if err != nil {
			return nil, err
		}
		paths, err := differingPaths(d, r, before, after, object)
		if err != nil {
			return nil, err
		}
		diff := difference{From: from, To: to, Changes: []fileChange{}}
		for _, path := range paths {
			change, err := fileDiff(r.Context(), d, workspaceID(r), path, before, after)
			if err != nil {
				return nil, err
			}
			if change.Patch != "" {
				diff.add(change)
			}
		}
		return diff, nil
	}
}

func (d *difference) add(c fileChange) {
	d.Changes = append(d.Changes, c)
	switch c.Change {
	case "added":
		d.Summary.Added++
	case "deleted":
		d.Summary.Deleted++
	default:
		d.Summary.Modified++
	}
}

// contentAt returns the content at a point: current, seq:{token}, at:{time}, a
// version by its name, or base:{repository} and remote:{repository}.
func contentAt(d Deps, r *http.Request, name, point string) (state, error) {
	kind, value, _ := strings.Cut(point, ":")
	seq := uint64(math.MaxUint64)
	switch {
	case point == "current":
	case kind == "seq":
		n, err := parseSeq(name, value)
		if err != nil {
			return state{}, err
		}
		seq = n
	case kind == "at":
		at, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return state{}, domain.Refuse(domain.CodeInvalidParameter, "%s: at: takes an ISO 8601 time with an offset", name).With("parameter", name)
		}
		m, err := d.momentBy(r, at)
		if err != nil {
			return state{}, err
		}
		seq = m.seq
	case kind == "base" && value != "":
		return filesAt(d, r, value, d.Versioning.BaseFiles)
	case kind == "remote" && value != "":
		return filesAt(d, r, value, d.Versioning.RemoteFiles)
	default:
		n, err := versionSeq(d, r, point)
		if err != nil {
			return state{}, err
		}
		seq = n
	}
	refs, err := d.Library.At(r.Context(), workspaceID(r), seq)
	if err == nil && len(refs) == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", workspaceID(r))
	}
	return state{refs: refs}, err
}

// differingPaths returns the paths that differ, of what was asked for and the caller
// may read.
func differingPaths(d Deps, r *http.Request, before, after state, object string) (paths []string, err error) {
	id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
	all := maps.Clone(before.refs)
	maps.Copy(all, after.refs)
	err = d.ReadModel.View(func(rd projections.Reader) error {
		for _, path := range slices.Sorted(maps.Keys(all)) {
			if before.refs[path].Hash == after.refs[path].Hash || object != "" && !feed.Like(object, path) {
				continue
			}
			if before.mayRead(rd, rights, id, path) && after.mayRead(rd, rights, id, path) {
				paths = append(paths, path)
			}
		}
		return nil
	})
	return paths, err
}

// mayReadRef reports whether somebody may read a document at a moment. The index
// and the security document are for everybody who may read the workspace.
func mayReadRef(rd projections.Reader, rights *access.Rights, id, path string, ref content.Ref) bool {
	folder, slug := workspace.Folder(path)
	if slug == "" || ref.Hash == "" {
		return true
	}
	return mayReadDocument(rd, rights, id, folder, projections.Item{Path: path, Hash: ref.Hash, ID: ref.ID, Public: ref.Public})
}

// fileDiff is how the file of a document changed.
func fileDiff(ctx context.Context, d Deps, id, path string, before, after state) (c fileChange, err error) {
	place, ok := archive.Locate(path + ".yml")
	if !ok {
		return c, fmt.Errorf("%s of workspace %s has no file", path, id)
	}
	c = fileChange{Path: place.Path(), Change: "modified"}
	was, err := before.file(ctx, d, id, place)
	if err != nil {
		return c, err
	}
	is, err := after.file(ctx, d, id, place)
	if err != nil {
		return c, err
	}
	switch {
	case was == nil:
		c.Change = "added"
	case is == nil:
		c.Change = "deleted"
	case bytes.Equal(was, is):
		return c, nil
	}
	c.Patch = textdiff.Unified(c.Path, was, is)
	return c, nil
}

// file is the file of a document, nil when there is none.
func (s state) file(ctx context.Context, d Deps, id string, place archive.Place) (_ []byte, err error) {
	ref := s.refs[place.String()]
	if ref.Hash == "" {
		return nil, nil
	}
	doc := s.docs[ref.Hash]
	if doc == nil {
		if doc, err = d.Library.Document(ctx, id, ref); err != nil {
			return nil, err
		}
	}
	if place.Kind == document.Index {
		doc = withoutSecrets(doc)
	}
	return archive.Text(place, doc)
}
