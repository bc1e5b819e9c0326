package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/page"
	"svc/domain/value"
	"svc/projections"
)

// Views stores views for a while. It is a *jetstream.Records.
type Views interface {
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// ViewLifetime is how long a view is kept after its feed has closed.
const ViewLifetime = 10 * time.Minute

// viewRecord is what a view starts from. Its state is this with the later events of its session folded in.
type viewRecord struct {
	WorkspaceID string                   `json:"w"`
	PageID      string                   `json:"p"`
	Slug        string                   `json:"s"`
	Hash        string                   `json:"h"` // of the document
	Apart       bool                     `json:"a,omitempty"`
	Language    string                   `json:"l"`
	Prefixed    bool                     `json:"x,omitempty"`
	Query       string                   `json:"q,omitempty"`
	SessionID   string                   `json:"i,omitempty"`
	Outputs     map[string]*value.Object `json:"-"`
	Stored      json.RawMessage          `json:"o,omitempty"` // Outputs
	Seq         string                   `json:"n,omitempty"` // where the feed begins
}

// sharedPrefix begins the id of a view that is the same for all visitors: it follows from the address of the page.
const sharedPrefix = "s."

// shared returns the id of a view that follows from its address.
func (v viewRecord) shared() string {
	v.Stored, v.Seq, v.SessionID = nil, "", ""
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return sharedPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// parseShared reads the id of a shared view.
func parseShared(id string) (rec viewRecord, ok bool) {
	text, isShared := strings.CutPrefix(id, sharedPrefix)
	if !isShared || len(id) > 8<<10 {
		return rec, false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(decoded, &rec) != nil {
		return rec, false
	}
	rec.Stored, rec.Seq, rec.SessionID = nil, "", ""
	return rec, rec.WorkspaceID != "" && rec.PageID != ""
}

// viewKey is the key that the record of a view is stored under. A shared view has one per session and tab.
func viewKey(id, sessionID, socket string) string {
	if strings.HasPrefix(id, sharedPrefix) {
		id += "\x00" + sessionID + "\x00" + socket
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// storeView stores the record of a new view and returns its id.
func (v *visit) storeView(ctx context.Context, rec *viewRecord) (string, error) {
	id := ulid.Make().String()
	rec.Seq = v.Feed.Now().Token()
	return id, v.putView(ctx, viewKey(id, "", ""), *rec)
}

func (v *visit) putView(ctx context.Context, key string, rec viewRecord) error {
	if len(rec.Outputs) > 0 {
		o := value.NewObjectSize(len(rec.Outputs))
		for _, path := range sortedKeys(rec.Outputs) {
			o.Set(path, rec.Outputs[path])
		}
		rec.Stored = json.RawMessage(value.JSON(o, ""))
	}
	return v.putRecord(ctx, key, rec, ViewLifetime)
}

// maxPlainRecord is how many bytes of a record are stored as they are. More are compressed: the broker takes 1 MB.
const maxPlainRecord = 32 << 10

// putRecord stores a view or a draft for a while.
func (p *Pages) putRecord(ctx context.Context, key string, record any, ttl time.Duration) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if len(text) > maxPlainRecord {
		text = gzipped(text, gzip.BestSpeed)
	}
	return p.Views.Put(ctx, key, text, ttl)
}

// getRecord reads what putRecord has stored; found is false when there is none any more.
func (p *Pages) getRecord(ctx context.Context, key string, record any) (found bool, err error) {
	text, found, err := p.Views.Get(ctx, key)
	if err != nil || !found {
		return false, err
	}
	if len(text) > 0 && text[0] != '{' {
		zipped, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return false, err
		}
		if text, err = io.ReadAll(zipped); err != nil {
			return false, err
		}
	}
	return true, json.Unmarshal(text, record)
}

// getView returns the record of a view. ok is false when there is none, or the visitor has another session.
func (v *visit) getView(ctx context.Context, id, socket string) (rec viewRecord, key string, ok bool, err error) {
	key = viewKey(id, v.caller.SessionID, socket)
	found, err := v.getRecord(ctx, key, &rec)
	if err != nil {
		return rec, key, false, err
	}
	if !found {
		rec, ok = parseShared(id)
		ok = ok && rec.WorkspaceID == v.place.workspaceID
		return rec, key, ok, nil
	}
	if len(rec.Stored) > 0 {
		stored, err := value.ParseJSON(string(rec.Stored))
		if err != nil {
			return rec, key, false, err
		}
		rec.Outputs = map[string]*value.Object{}
		for path, output := range objectOf(stored).All() {
			rec.Outputs[path] = objectOf(output)
		}
	}
	return rec, key, rec.WorkspaceID == v.place.workspaceID, nil
}

var errForeignView = domain.Refuse(domain.CodePermissionDenied, "this view belongs to another session")

// liveView is a view with its state.
type liveView struct {
	*visit
	id     string
	key    string // its record is stored under
	socket string
	record viewRecord
	at     domain.Position // events up to it are folded in
	view   *page.View
	tree   *page.Tree
	styled map[string]*page.Block // what the style sheet of the page has, as styledBlocks returns it
}

// openView returns a view as it is stored, with the outputs of its automations folded in. It is nil when there is none
// any more.
func (v *visit) openView(ctx context.Context, id, socket string) (*liveView, error) {
	rec, key, ok, err := v.getView(ctx, id, socket)
	if err != nil || !ok {
		return nil, err
	}
	if rec.SessionID != "" && rec.SessionID != v.caller.SessionID {
		return nil, errForeignView
	}
	l := &liveView{visit: v, id: id, key: key, socket: socket, record: rec}
	if rec.Seq != "" {
		if l.at, err = domain.ParsePosition(rec.Seq); err != nil {
			return nil, err
		}
	}
	item := projections.Item{ID: rec.PageID, Path: "pages/" + rec.Slug, Hash: rec.Hash, Apart: rec.Apart}
	if !l.mayReadNow(&item) {
		return nil, v.refusal()
	}
	doc, err := v.document(ctx, rec.WorkspaceID, item)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(rec.Query)
	if err != nil {
		return nil, err
	}
	if rec.Prefixed {
		v.place.site.lang = rec.Language
	}
	l.view = &page.View{
		Document: doc, Definitions: v.definitions(ctx, v.place), Language: page.Language{Tag: rec.Language}, SignedIn: v.isSignedIn(),
		Query: queryObject(query), Now: v.Now(),
	}
	l.tree = l.view.Expand()
	paths := sortedKeys(rec.Outputs)
	slices.SortStableFunc(paths, func(a, b string) int { return blockDepth(a) - blockDepth(b) })
	for i, path := range paths {
		if i > 0 && blockDepth(path) != blockDepth(paths[i-1]) { // outputs of outer blocks may have changed inner ones
			l.tree = l.view.Expand()
		}
		if err := l.view.Fold(l.tree, path, rec.Outputs[path]); err != nil {
			return nil, err
		}
	}
	if len(paths) > 0 {
		l.tree = l.view.Expand()
	}
	l.styled = styledBlocks(l.tree)
	return l, nil
}

// blockDepth is how many blocks a block is inside of, plus one; 0 for the page.
func blockDepth(path string) int {
	if path == "" {
		return 0
	}
	return 1 + strings.Count(path, ".")
}

// mayReadNow reports whether the visitor may read the page of the view, as it is shared now.
func (l *liveView) mayReadNow(item *projections.Item) (may bool) {
	err := l.ReadModel.View(func(rd projections.Reader) error {
		now, ok, err := FindPage(l.request.Context(), rd, l.Shelf, l.record.WorkspaceID, item.Slug())
		if err != nil || !ok || now.ID != item.ID {
			return err
		}
		may = l.rights.Allows("read", "pages", projections.Content{}.SharedObject(rd, l.record.WorkspaceID, now))
		return nil
	})
	return err == nil && may
}

// render returns the rendering of the view as it is now.
func (l *liveView) render() *rendering {
	l.view.Now = l.Now()
	out := l.newRendering(l.view, l.tree, l.id, nil)
	out.query, _ = url.ParseQuery(l.record.Query)
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
