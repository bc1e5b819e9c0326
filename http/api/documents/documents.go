package documents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/knowledge"
	"svc/domain/operation"
	"svc/domain/review"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Folder is one sort of documents of a workspace, with what is its own. Handlers
// are the same for all.
type Folder struct {
	name     string // of the folder in paths of documents
	subject  string // what rules call them
	noun     string // of one
	kind     *document.Kind
	readOnly []string // what the service sets, besides what it sets of all documents
	required []string // fields that a PATCH cannot remove
	// fresh completes a new document; nil: there is nothing to add.
	complete func(*document.Map)
	// detail adds what reading a single one shows besides; nil: nothing.
	addDetail func(*Handlers, *http.Request, *documentView) error
	// addListed adds what a list shows of each besides; nil: nothing.
	addListed func(rd projections.Reader, workspaceID string, item projections.Item, doc *document.Map) error
	// check refuses a document for a reason of its own; nil: there is none.
	check func(rights *access.Rights, workspaceID string, doc *document.Map) error
	// updated does what follows from a change, and returns the id of the operation that does it; nil: nothing does.
	updated func(h *Handlers, r *http.Request, item projections.Item, before, after *document.Map) (operationID string)
	// gone is the answer to its deletion.
	deletedResponse func(projections.Item) any
}

// documentView is a document on its way to a reader.
type documentView struct {
	workspaceID string
	rights      *access.Rights
	item        projections.Item
	doc         *document.Map
	warnings    []handler.LocatedFault // of a document that was saved
	saved       content.Saved          // what was saved; empty for a document that is read
}

// load returns the document as it is stored, and its metadata. What was saved by this request, and by nobody after it,
// is at hand.
func (v *documentView) load(h *Handlers, r *http.Request, rd projections.Reader) (*document.Map, projections.DocumentMeta, error) {
	if s := v.saved; s.Changed && s.Doc != nil && s.Entry.Hash == v.item.Hash {
		return s.Doc, projections.DocumentMeta{Checksum: s.Entry.Checksum, Events: s.Entry.Events}, nil
	}
	doc, meta, err := projections.Content{}.Document(rd, v.workspaceID, v.item.Hash)
	if err == nil && doc == nil {
		doc, err = h.Library.Document(r.Context(), v.workspaceID, content.Ref{Hash: v.item.Hash, Apart: v.item.Apart})
	}
	return doc, meta, err
}

// refuseMissing is the answer about a document that is not there: to those who may not
// look for one, what they hear of any.
func (f Folder) refuseMissing(rights *access.Rights, action, slug string) error {
	if !rights.Could(action, f.subject) {
		return rights.Refusal(action, f.subject)
	}
	return domain.Refuse(domain.CodeNotFound, "there is no such %s", f.noun).With("resource", f.noun).With("id", slug)
}

// GetDocument handles GET of one document, now or at a past moment.
func (h *Handlers) GetDocument(f Folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, slug := handler.WorkspaceID(r), gateway.Var(r, "slug")
		rights := gateway.GrantFrom(r.Context()).Rights
		m, past, err := h.ReadMoment(r)
		if err != nil {
			return nil, err
		}
		if past {
			return f.pastResponse(h, r, m)
		}
		rd := h.ReadModel.Reader()
		defer rd.Close()
		item, err := f.find(rd, rights, id, slug, "read")
		if err != nil {
			return nil, err
		}
		return f.response(h, r, rd, &documentView{workspaceID: id, rights: rights, item: item})
	}
}

// find returns a document on which the caller may do something.
func (f Folder) find(rd projections.Reader, rights *access.Rights, id, slug, action string) (projections.Item, error) {
	item, ok, err := projections.Content{}.Get(rd, id, f.name+"/"+slug)
	if err != nil {
		return item, err
	}
	if !ok {
		return item, f.refuseMissing(rights, action, slug)
	}
	return item, checkObject(rights, action, f.subject, documentObject(rd, id, f.name, item))
}

// response is a document as a read shows it now. Its tag names its revision and,
// when more than the document is shown, all of it.
func (f Folder) response(h *Handlers, r *http.Request, rd projections.Reader, view *documentView) (any, error) {
	doc, meta, err := view.load(h, r, rd)
	if err != nil {
		return nil, err
	}
	var text []byte
	if handler.WantsYAML(r) {
		if text, err = archive.Text(archive.Location{Kind: f.kind, Slug: view.item.Slug()}, doc); err != nil {
			return nil, err
		}
	}
	workspaceSlug := ""
	if f.name == "pages" { // only they show it
		rec, _, err := projections.Workspaces{}.Record(rd, view.workspaceID)
		if err != nil {
			return nil, err
		}
		workspaceSlug = rec.Meta.Slug
	}
	if view.doc, err = completeDocument(rd, view.workspaceID, workspaceSlug, view.item, doc, meta); err != nil {
		return nil, err
	}
	if f.addDetail != nil {
		if err := f.addDetail(h, r, view); err != nil {
			return nil, err
		}
	}
	if isShareable(f.name) {
		if err := f.addShares(rd, view); err != nil {
			return nil, err
		}
	}
	tag := handler.RevisionTag(view.item.Revision)
	if f.addDetail != nil || isShareable(f.name) {
		shown, err := handler.ToTaggedJSON(view.doc, tag)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(shown.JSON)
		if tag += "." + hex.EncodeToString(sum[:6]); len(view.warnings) == 0 {
			return handler.JSONOrYAML(r, handler.TaggedJSON{JSON: shown.JSON, Tag: tag}, text), nil
		}
	}
	if len(view.warnings) > 0 {
		view.doc.Set("warnings", handler.FaultList(view.warnings))
	}
	whole, err := handler.ToTaggedJSON(view.doc, tag)
	return handler.JSONOrYAML(r, whole, text), err
}

// pastResponse is a document as it was. Nobody can base a change on its tag.
func (f Folder) pastResponse(h *Handlers, r *http.Request, m Moment) (any, error) {
	id, slug := handler.WorkspaceID(r), gateway.Var(r, "slug")
	rights := gateway.GrantFrom(r.Context()).Rights
	refs, err := h.Library.At(r.Context(), id, m.Seq)
	if err != nil {
		return nil, err
	}
	ref, ok := refs[f.name+"/"+slug]
	if !ok {
		return nil, f.refuseMissing(rights, "read", slug)
	}
	item := projections.Item{Path: f.name + "/" + slug, Hash: ref.Hash, ID: ref.ID, Apart: ref.Apart, Public: ref.Public}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	// Who may read it is a matter of today: what was public once need not be now.
	now, _, err := projections.Content{}.Get(rd, id, item.Path)
	if err != nil {
		return nil, err
	}
	item.Public = now.Public && now.ID == item.ID
	if err := rights.Check("read", f.subject, documentObject(rd, id, f.name, item)); err != nil {
		return nil, err
	}
	meta, err := projections.Content{}.Meta(rd, id, ref.Hash)
	if err != nil {
		return nil, err
	}
	return f.pastDocumentResponse(h, r, id, ref, meta)
}

func (f Folder) pastDocumentResponse(h *Handlers, r *http.Request, id string, ref content.Ref, meta projections.DocumentMeta) (any, error) {
	doc, err := h.Library.Document(r.Context(), id, ref)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Location{Kind: f.kind, Slug: doc.Text("slug")}, doc)
	if err != nil {
		return nil, err
	}
	switch f.name {
	case "pages":
		doc.Set("id", ref.ID)
		doc.Set("workspaceId", id)
		doc.Set("public", ref.Public)
	case "knowledge", "agents":
		doc = f.kind.Complete(doc)
		doc.Set("id", ref.ID)
	}
	if meta.Events != nil {
		doc.Set("events", meta.Events)
	}
	doc.Set("checksum", meta.Checksum)
	whole, err := handler.ToTaggedJSON(doc, "at-"+workspace.HashOf(text)[:16])
	return handler.JSONOrYAML(r, whole, text), err
}

// ListDocuments handles GET of a folder. Permissions come before paging, so that
// pages are full and the count is right.
func (h *Handlers) ListDocuments(f Folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page, sort := q.Page(20, 100), q.Sort("slug", "createdAt", "updatedAt")
		search, labels := strings.ToLower(q.Text("search")), q.List("labels")
		var published *bool
		if f.name == Agents.name {
			published = q.Bool("published")
		}
		if err := q.Err(); err != nil {
			return nil, err
		}
		id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
		rd := h.ReadModel.Reader()
		defer rd.Close()
		items, err := f.listReadable(rd, rights, id)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 && !rights.Could("read", f.subject) {
			return nil, rights.Refusal("read", f.subject)
		}
		if search != "" || len(labels) > 0 {
			if items, err = filterItems(rd, id, items, search, labels); err != nil {
				return nil, err
			}
		}
		if published != nil {
			if items, err = filterPublished(rd, id, items, *published); err != nil {
				return nil, err
			}
		}
		sortItems(items, sort)
		shown := gateway.PageOf(items, page)
		listed, err := listedItems(rd, id, shown)
		for i := 0; err == nil && f.addListed != nil && i < len(shown); i++ {
			err = f.addListed(rd, id, shown[i], listed[i])
		}
		if err != nil {
			return nil, err
		}
		return gateway.List(r, listed, len(items), page), nil
	}
}

// listReadable returns the documents of a folder that the caller may read.
func (f Folder) listReadable(rd projections.Reader, rights *access.Rights, id string) (items []projections.Item, err error) {
	may := rights.Filter("read", f.subject)
	if isShareable(f.name) { // their own shares may say more than rules do
		may = func(o access.Object) bool { return rights.Allows("read", f.subject, o) }
	}
	err = projections.Content{}.List(rd, id, f.name+"/", func(item projections.Item) (bool, error) {
		if may(documentObject(rd, id, f.name, item)) {
			items = append(items, item)
		}
		return true, nil
	})
	return items, err
}

// filterItems keeps the documents that a search finds.
func filterItems(rd projections.Reader, id string, items []projections.Item, search string, labels []string) (found []projections.Item, err error) {
	for _, item := range items {
		meta, err := projections.Content{}.Meta(rd, id, item.Hash)
		if err != nil {
			return nil, err
		}
		texts := []string{item.Slug()}
		for _, key := range []string{"name", "description"} {
			v, _ := meta.About.Get(key)
			text, _ := document.AsLocalized(v)
			texts = append(texts, text.Texts()...)
		}
		if strings.Contains(strings.ToLower(strings.Join(texts, "\n")), search) && hasLabel(meta.About, labels) {
			found = append(found, item)
		}
	}
	return found, nil
}

// hasLabel reports whether a document has one of the labels; of none, any has.
func hasLabel(about *document.Map, labels []string) bool {
	v, _ := about.Get("labels")
	own, _ := v.([]any)
	return len(labels) == 0 || slices.ContainsFunc(own, func(label any) bool {
		text, _ := label.(string)
		return slices.Contains(labels, text)
	})
}

// sortItems sorts what came in the order of slugs.
func sortItems(items []projections.Item, by gateway.Sort) {
	compare := func(a, b projections.Item) int {
		switch by.Field {
		case "slug":
			return strings.Compare(a.Path, b.Path)
		case "createdAt":
			return int(min(max(int64(a.Created)-int64(b.Created), -1), 1))
		}
		return int(min(max(int64(a.Updated)-int64(b.Updated), -1), 1))
	}
	slices.SortStableFunc(items, func(a, b projections.Item) int {
		if by.Down {
			a, b = b, a
		}
		return compare(a, b)
	})
}

func listedItems(rd projections.Reader, id string, items []projections.Item) ([]*document.Map, error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return nil, err
	}
	listed := make([]*document.Map, len(items))
	for i, item := range items {
		if listed[i], err = ListedDocument(rd, id, rec.Meta.Slug, item); err != nil {
			return nil, err
		}
	}
	return listed, nil
}

// read reads the body of a document. What the service sets may be sent back, and
// changes nothing.
func (f Folder) read(r *http.Request) (handler.RequestDocument, error) {
	in, err := handler.ReadDocument(r)
	if err == nil {
		in.Doc = handler.WithoutReadOnly(in.Doc, f.readOnly...)
	}
	return in, err
}

// CreateDocument handles POST of a folder.
func (h *Handlers) CreateDocument(f Folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := f.read(r)
		if err != nil {
			return nil, err
		}
		if f.complete != nil {
			f.complete(in.Doc)
		}
		id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
		fresh := projections.Item{Path: f.name + "/" + in.Doc.Text("slug")}
		if err := f.checkTouchNow(h, rights, id, fresh, nil, in.Doc); err != nil {
			return nil, err
		}
		if dry, err := handler.ReadDryRun(r); err != nil {
			return nil, err
		} else if dry {
			return f.dryRunResponse(h, r, "", in)
		}
		saved, err := h.Content.Create(r.Context(), id, f.name, in.Doc)
		if err != nil {
			return nil, in.WithLines(err)
		}
		body, err := f.savedResponse(h, r, saved, in)
		if err != nil {
			return nil, err
		}
		_, slug := workspace.Folder(saved.Path)
		location := strings.TrimRight(r.URL.EscapedPath(), "/") + "/" + (&url.URL{Path: slug}).EscapedPath()
		return handler.CreatedResponse(body, location), nil
	}
}

// maxMerges bounds how often a PATCH merges anew because the document changed
// meanwhile.
const maxMerges = 50

// UpdateDocument handles PATCH and PUT of one document. A PATCH with a JSON body
// changes the fields that it names; otherwise the body is the whole document.
// Another slug in it renames it.
func (h *Handlers) UpdateDocument(f Folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := f.read(r)
		if err != nil {
			return nil, err
		}
		dry, err := handler.ReadDryRun(r)
		if err != nil {
			return nil, err
		}
		slug := gateway.Var(r, "slug")
		for attempt := 1; ; attempt++ {
			item, err := f.findCurrent(h, r, slug, "update")
			if err != nil {
				return nil, err
			}
			now, err := h.Library.Document(r.Context(), handler.WorkspaceID(r), content.Ref{Hash: item.Hash, Apart: item.Apart})
			if err != nil {
				return nil, err
			}
			next := content.Replacement{Doc: in.Doc, IfMatch: handler.IfMatch(r)}
			if in.IsPatch(r) {
				next.Doc, next.Base = f.merge(now, in.Doc), item.Hash
			}
			if err := f.checkReplace(h, r, item, now, next.Doc); err != nil {
				return nil, err
			}
			if dry {
				return f.dryRunResponse(h, r, slug, handler.RequestDocument{Doc: next.Doc, Text: in.Text, Source: in.Source})
			}
			saved, err := h.Content.Replace(r.Context(), handler.WorkspaceID(r), f.name, slug, next)
			if errors.Is(err, content.ErrMoved) && attempt < maxMerges {
				continue
			}
			if err != nil {
				return nil, in.WithLines(err)
			}
			body, err := f.savedResponse(h, r, saved, in)
			if err != nil || f.updated == nil {
				return body, err
			}
			return withOperation(body, f.updated(h, r, item, now, next.Doc)), nil
		}
	}
}

// withOperation adds the id of an operation to an answer; "": there is none.
func withOperation(body any, id string) any {
	if id == "" {
		return body
	}
	if text, isText := body.(gateway.Content); isText {
		text.Header.Set(handler.OperationHeader, id)
		return text
	}
	return gateway.OK(body).With(handler.OperationHeader, id)
}

// merge returns a document with the fields that a change names. Null removes a field
// that is there and not required; any other null is checked as a value.
func (f Folder) merge(doc, change *document.Map) *document.Map {
	next := handler.MergePatch(doc, change)
	for key, v := range change.All() {
		if _, stored := doc.Get(key); v == nil && (!stored || slices.Contains(f.required, key)) {
			next.Set(key, nil)
		}
	}
	return next
}

// DeleteDocument handles DELETE of one document.
func (h *Handlers) DeleteDocument(f Folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		slug := gateway.Var(r, "slug")
		item, err := f.findCurrent(h, r, slug, "delete")
		if err != nil {
			return nil, err
		}
		if _, err := h.Content.Remove(r.Context(), handler.WorkspaceID(r), f.name, slug, handler.IfMatch(r)); err != nil {
			return nil, err
		}
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return f.deletedResponse(item), nil
	}
}

// findCurrent returns a document that is about to be changed, as far as the log is
// known: what was just written elsewhere counts.
func (f Folder) findCurrent(h *Handlers, r *http.Request, slug, action string) (item projections.Item, err error) {
	id := handler.WorkspaceID(r)
	if err := h.reachLog(r.Context(), id); err != nil {
		return item, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	return f.find(rd, gateway.GrantFrom(r.Context()).Rights, id, slug, action)
}

// reachLog waits, not for ever, until the read model has what the log has of a
// workspace.
func (h *Handlers) reachLog(ctx context.Context, id string) error {
	now, err := h.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, handler.VisibleWait)
	defer cancel()
	_ = h.ReadModel.Reach(ctx, domain.At(domain.State, now.Seq)) // what it has then is the answer
	return nil
}

// checkReplace asks for the right to make another document of one.
func (f Folder) checkReplace(h *Handlers, r *http.Request, item projections.Item, now, next *document.Map) error {
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	next = next.Copy()
	if next.Text("slug") == "" {
		next.Set("slug", item.Slug())
	}
	return f.checkTouchNow(h, rights, id, item, now, next)
}

// checkTouchNow is checkTouch with what is known now.
func (f Folder) checkTouchNow(h *Handlers, rights *access.Rights, id string, item projections.Item, now, next *document.Map) error {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if err := f.checkTouch(rd, rights, id, item, now, next); err != nil || f.check == nil {
		return err
	}
	return f.check(rights, id, next)
}

// checkTouch asks for the right to make a document, nil for none, of another: to
// create it, to delete it, or to change the fields that differ, of the document as
// it is and as it would be. So nobody puts a document out of their own reach.
func (f Folder) checkTouch(rd projections.Reader, rights *access.Rights, id string, item projections.Item, now, next *document.Map) error {
	switch {
	case now == nil:
		return rights.Check(f.action("create"), f.subject, f.objectAfter(rd, id, item, next))
	case next == nil:
		return checkObject(rights, f.action("delete"), f.subject, documentObject(rd, id, f.name, item))
	}
	fields := differingFields(handler.WithoutReadOnly(now, f.readOnly...), handler.WithoutReadOnly(f.kind.Canonical(next), f.readOnly...))
	if err := checkObject(rights, "update", f.subject, documentObject(rd, id, f.name, item), fields...); err != nil {
		return err
	}
	return checkObject(rights, "update", f.subject, f.objectAfter(rd, id, item, next), fields...)
}

// differingFields lists the fields in which two documents differ.
func differingFields(a, b *document.Map) (fields []string) {
	for key, v := range a.All() {
		if other, ok := b.Get(key); !ok || !document.Equal(v, other) {
			fields = append(fields, key)
		}
	}
	for key := range b.All() {
		if _, ok := a.Get(key); !ok {
			fields = append(fields, key)
		}
	}
	return fields
}

// action is the right that creating or deleting a document takes. A test suite is part of its automation: who may
// change that may do all.
func (f Folder) action(name string) string {
	if f.name == "tests" {
		return "update"
	}
	return name
}

// objectAfter is a document as rules would see it after a change. It is good as long as its reader.
func (f Folder) objectAfter(rd projections.Reader, id string, item projections.Item, doc *document.Map) access.Object {
	if f.name == "automations" {
		return &lazyObject{rd: rd, id: id, folder: f.name, item: item, after: doc}
	}
	return changedObject(rd, id, f.name, item, doc)
}

// changedObject reads what rules would see of a document after a change.
func changedObject(rd projections.Reader, id, folder string, item projections.Item, doc *document.Map) access.Object {
	before := documentObject(rd, id, folder, item)
	fields := access.Fields{"slug": doc.Text("slug")}
	for key, v := range workspace.Describe(item.Path, doc).All() {
		fields[key] = document.Plain(v)
	}
	for _, key := range []string{"id", "public", "workspaceId", "runningWorkspaceId"} {
		if v, ok := before.Field(key); ok {
			fields[key] = v
		}
	}
	switch folder {
	case "automations": // their id is their slug
		fields["id"] = fields["slug"]
	case "tests":
		asAutomation(fields, id)
	}
	if shared, ok := before.(access.Shared); ok {
		return access.Shared{Object: fields, Shares: shared.Shares}
	}
	return fields
}

// savedResponse is the answer to a document that was saved.
func (f Folder) savedResponse(h *Handlers, r *http.Request, saved content.Saved, in handler.RequestDocument) (any, error) {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	view := &documentView{workspaceID: handler.WorkspaceID(r), rights: gateway.GrantFrom(r.Context()).Rights, saved: saved}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	item, ok, err := projections.Content{}.Get(rd, view.workspaceID, saved.Path)
	if err == nil && !ok {
		_, slug := workspace.Folder(saved.Path)
		err = f.refuseMissing(view.rights, "read", slug)
	}
	view.item = item
	if err == nil && (f.name == Automations.name || f.name == Agents.name) {
		view.warnings, err = h.savedWarnings(r.Context(), rd, view.workspaceID, saved.Path, in)
	}
	if err != nil {
		return nil, err
	}
	return f.response(h, r, rd, view)
}

// maxFirings is how many firings of a schedule a dry run tells.
const maxFirings = 5

// dryRunResponse is the answer to a dry run; slug is that of the document to be replaced.
func (f Folder) dryRunResponse(h *Handlers, r *http.Request, slug string, in handler.RequestDocument) (any, error) {
	faults, parsed, err := h.Content.Try(r.Context(), handler.WorkspaceID(r), f.name, slug, in.Doc)
	if err != nil {
		return nil, err
	}
	v := handler.NewDryRunResponse()
	for _, fault := range faults {
		at := in.Locate(fault.Field, fault.Message)
		if fault.Warning {
			v.Warnings = append(v.Warnings, at)
		} else {
			v.Errors = append(v.Errors, at)
		}
	}
	path := f.name + "/" + cmp.Or(in.Doc.Text("slug"), slug)
	var found automation.Review
	switch {
	case parsed != nil:
		found = automation.NewReview(parsed, nil)
	case f.name == Agents.name:
		found = review.Agent(in.Doc)
		found.Findings = nil // they are errors
	default:
		return v, nil
	}
	more, err := h.triedWarnings(r.Context(), handler.WorkspaceID(r), path, found, in)
	if err != nil {
		return nil, err
	}
	v.Warnings = append(v.Warnings, more...)
	if parsed == nil {
		return v, nil
	}
	for _, firing := range parsed.Firings(h.Now(), h.Zone(), maxFirings) {
		next := make([]string, len(firing.Next))
		for i, at := range firing.Next {
			next[i] = at.In(time.UTC).Format(domain.Timestamp)
		}
		v.Schedules = append(v.Schedules, handler.ScheduleResponse{Cron: firing.Cron, Next: next})
	}
	return v, nil
}

// Automations holds the automations of a workspace.
var Automations = Folder{
	name: "automations", subject: "automations", noun: "automation", kind: document.Automation, readOnly: []string{"events", "warnings"}, required: []string{"name", "do"},
	complete: func(doc *document.Map) {
		if given, _ := doc.Get("validateArguments"); given == nil {
			doc.Set("validateArguments", true)
		}
	},
	deletedResponse: func(item projections.Item) any { return map[string]string{"slug": item.Slug()} },
}

// KnowledgeBases holds the knowledge bases of a workspace.
var KnowledgeBases = Folder{
	name: "knowledge", subject: "knowledgeBases", noun: "knowledgeBase", kind: document.Knowledge, required: []string{"name"}, readOnly: []string{"counts", "index"},
	addListed: addBaseNumbers,
	addDetail: func(h *Handlers, _ *http.Request, view *documentView) error {
		rd := h.ReadModel.Reader()
		defer rd.Close()
		return addBaseNumbers(rd, view.workspaceID, view.item, view.doc)
	},
	updated:         reindexChanged,
	deletedResponse: func(item projections.Item) any { return map[string]string{"slug": item.Slug()} },
}

// Tests holds the test suites of a workspace.
var Tests = Folder{
	name: "tests", subject: "automations", noun: "test", kind: document.Test, required: []string{"automation"},
	deletedResponse: func(item projections.Item) any { return map[string]string{"slug": item.Slug()} },
}

// addBaseNumbers adds how many documents a base has, and how far they can be searched.
func addBaseNumbers(rd projections.Reader, workspaceID string, item projections.Item, doc *document.Map) error {
	c, err := projections.KBDocuments{}.Counts(rd, workspaceID, item.ID)
	if err != nil {
		return err
	}
	doc.Set("counts", document.ValueOf(c))
	state, progress, lag := "ready", 1.0, c.Pending+c.Processing
	if lag > 0 {
		state, progress = "building", float64(c.Documents-lag)/float64(c.Documents)
	}
	op, isReindexed, err := projections.Operations{}.Reindexing(rd, workspaceID, item.ID)
	if err != nil {
		return err
	}
	if isReindexed {
		state, progress = "rebuilding", float64(op.Percentage())/100
	}
	served, err := projections.KBDocuments{}.VectorSet(rd, workspaceID, item.ID)
	if err != nil {
		return err
	}
	vectors := "none"
	if set := knowledge.ReadSettings(doc).VectorSet(); set != "" {
		if vectors = "building"; set == served || c.Documents == 0 {
			vectors = "ready"
		}
	}
	doc.Set("index", document.MapOf(
		document.Pair{Key: "state", Value: state}, document.Pair{Key: "progress", Value: progress},
		document.Pair{Key: "vectors", Value: vectors}, document.Pair{Key: "lag", Value: float64(lag)},
	))
	return nil
}

// reindexChanged has the documents of a base processed again whose settings have changed. When it cannot be recorded now,
// the pipeline of documents begins it.
func reindexChanged(h *Handlers, r *http.Request, item projections.Item, before, after *document.Map) (operationID string) {
	settings := knowledge.ReadSettings(after)
	if settings == knowledge.ReadSettings(before) {
		return ""
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	outdated, err := projections.KBDocuments{}.CountOutdated(rd, handler.WorkspaceID(r), item.ID, settings)
	if err != nil || outdated == 0 {
		return ""
	}
	id, err := h.Reindexes.Update(r.Context(), handler.WorkspaceID(r), operation.ReindexAbout{
		BaseID: item.ID, KnowledgeBase: cmp.Or(after.Text("slug"), item.Slug()), Documents: outdated,
	})
	if err != nil {
		return ""
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return id
}

// addAudit adds who made a document, and who changed it last.
func addAudit(rd projections.Reader, workspaceID string, item projections.Item, doc *document.Map) error {
	created, err := projections.History{}.Audit(rd, workspaceID, item.Created)
	if err != nil {
		return err
	}
	updated := created
	if item.Updated != item.Created {
		if updated, err = (projections.History{}).Audit(rd, workspaceID, item.Updated); err != nil {
			return err
		}
	}
	for _, p := range []document.Pair{
		{Key: "createdAt", Value: created.At}, {Key: "createdBy", Value: created.By},
		{Key: "updatedAt", Value: updated.At}, {Key: "updatedBy", Value: updated.By},
	} {
		doc.Set(p.Key, p.Value)
	}
	return nil
}

// ListedDocument returns a document as lists show it.
func ListedDocument(rd projections.Reader, workspaceID, workspaceSlug string, item projections.Item) (*document.Map, error) {
	meta, err := projections.Content{}.Meta(rd, workspaceID, item.Hash)
	if err != nil {
		return nil, err
	}
	return completeDocument(rd, workspaceID, workspaceSlug, item, meta.About.Copy(), meta)
}

// completeDocument adds to a document what the service says about it.
func completeDocument(rd projections.Reader, workspaceID, workspaceSlug string, item projections.Item, doc *document.Map, meta projections.DocumentMeta) (*document.Map, error) {
	switch folder, _ := workspace.Folder(item.Path); folder {
	case "pages":
		doc.Set("id", item.ID)
		doc.Set("workspaceId", workspaceID)
		doc.Set("workspaceSlug", workspaceSlug)
		doc.Set("public", item.Public)
	case "knowledge":
		doc = document.Knowledge.Complete(doc)
		doc.Set("id", item.ID)
	case "agents":
		doc = document.Agent.Complete(doc)
		doc.Set("id", item.ID)
		doc.Set("public", item.Public)
		if err := addPublication(rd, workspaceID, item, doc); err != nil {
			return nil, err
		}
	}
	if meta.Events != nil {
		doc.Set("events", meta.Events)
	}
	doc.Set("checksum", meta.Checksum)
	return doc, addAudit(rd, workspaceID, item, doc)
}
