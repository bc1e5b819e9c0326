package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// read reads the body of a document. What the service sets may be sent back, and
// changes nothing.
func (f folder) read(r *http.Request) (sent, error) {
	in, err := readDocument(r)
	if err == nil {
		in.doc = withoutReadOnly(in.doc, f.readOnly...)
	}
	return in, err
}

// createDocument handles POST of a folder.
func createDocument(d Deps, f folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := f.read(r)
		if err != nil {
			return nil, err
		}
		if f.fresh != nil {
			f.fresh(in.doc)
		}
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		err = d.ReadModel.View(func(rd projections.Reader) error {
			fresh := projections.Item{Path: f.name + "/" + in.doc.Text("slug")}
			return f.mayTouch(rd, rights, id, fresh, nil, in.doc)
		})
		if err != nil {
			return nil, err
		}
		if dry, err := dryRun(r); err != nil {
			return nil, err
		} else if dry {
			return f.verdict(d, r, "", in)
		}
		saved, err := d.Content.Create(r.Context(), id, f.name, in.doc)
		if err != nil {
			return nil, in.withLines(err)
		}
		body, err := f.saved(d, r, saved, in)
		if err != nil {
			return nil, err
		}
		_, slug := workspace.Folder(saved.Path)
		location := strings.TrimRight(r.URL.EscapedPath(), "/") + "/" + (&url.URL{Path: slug}).EscapedPath()
		return madeAt(body, location), nil
	}
}

// madeAt is the answer to a creation: body, at a location.
func madeAt(body any, location string) any {
	if text, isText := body.(gateway.Content); isText {
		text.Status = http.StatusCreated
		text.Header.Set("Location", location)
		return text
	}
	return gateway.Created(body, location)
}

// maxMerges bounds how often a PATCH merges anew because the document changed
// meanwhile.
const maxMerges = 50

// updateDocument handles PATCH and PUT of one document. A PATCH with a JSON body
// changes the fields that it names; otherwise the body is the whole document.
// Another slug in it renames it.
func updateDocument(d Deps, f folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := f.read(r)
		if err != nil {
			return nil, err
		}
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		slug := gateway.Var(r, "slug")
		for attempt := 1; ; attempt++ {
			item, err := f.current(d, r, slug, "update")
			if err != nil {
				return nil, err
			}
			now, err := d.Library.Document(r.Context(), workspaceID(r), content.Ref{Hash: item.Hash, Apart: item.Apart})
			if err != nil {
				return nil, err
			}
			next := content.Replacement{Doc: in.doc, IfMatch: ifMatch(r)}
			if in.isPatch(r) {
				next.Doc, next.Base = f.merge(now, in.doc), item.Hash
			}
			if err := f.mayBecome(d, r, item, now, next.Doc); err != nil {
				return nil, err
			}
			if dry {
				return f.verdict(d, r, slug, sent{next.Doc, in.text, in.source})
			}
			saved, err := d.Content.Replace(r.Context(), workspaceID(r), f.name, slug, next)
			if errors.Is(err, content.ErrMoved) && attempt < maxMerges {
				continue
			}
			if err != nil {
				return nil, in.withLines(err)
			}
			return f.saved(d, r, saved, in)
		}
	}
}

// isPatch reports whether a body names only the fields that change.
func (s sent) isPatch(r *http.Request) bool { return r.Method == http.MethodPatch && s.source == nil }

// merge returns a document with the fields that a change names. Null removes a field
// that is there and not required; any other null is judged as a value.
func (f folder) merge(doc, change *document.Map) *document.Map {
	next := merged(doc, change)
	for key, v := range change.All() {
		if _, stored := doc.Get(key); v == nil && (!stored || slices.Contains(f.required, key)) {
			next.Set(key, nil)
		}
	}
	return next
}

// merged returns an object with the members that a change names; null removes one.
func merged(doc, change *document.Map) *document.Map {
	next := doc.Copy()
	for key, v := range change.All() {
		if v == nil {
			next.Delete(key)
			continue
		}
		next.Set(key, v)
	}
	return next
}

// deleteDocument handles DELETE of one document.
func deleteDocument(d Deps, f folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		slug := gateway.Var(r, "slug")
		item, err := f.current(d, r, slug, "delete")
		if err != nil {
			return nil, err
		}
		if _, err := d.Content.Remove(r.Context(), workspaceID(r), f.name, slug, ifMatch(r)); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return f.gone(item), nil
	}
}

// current returns a document that is about to be changed, as far as the log is
// known: what was just written elsewhere counts.
func (f folder) current(d Deps, r *http.Request, slug, action string) (item projections.Item, err error) {
	id := workspaceID(r)
	if err := reachLog(r.Context(), d, id); err != nil {
		return item, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		item, err = f.find(rd, gateway.GrantFrom(r.Context()).Rights, id, slug, action)
		return err
	})
	return item, err
}

// reachLog waits, not for ever, until the read model has what the log has of a
// workspace.
func reachLog(ctx context.Context, d Deps, id string) error {
	now, err := d.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writtenWait)
	defer cancel()
	_ = d.ReadModel.Reach(ctx, domain.At(domain.State, now.Seq)) // what it has then is the answer
	return nil
}

// mayBecome asks for the right to make another document of one.
func (f folder) mayBecome(d Deps, r *http.Request, item projections.Item, now, next *document.Map) error {
	id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
	next = next.Copy()
	if next.Text("slug") == "" {
		next.Set("slug", item.Slug())
	}
	return d.ReadModel.View(func(rd projections.Reader) error { return f.mayTouch(rd, rights, id, item, now, next) })
}

// mayTouch asks for the right to make a document, nil for none, of another: to
// create it, to delete it, or to change the fields that differ, of the document as
// it is and as it would be. So nobody puts a document out of their own reach.
func (f folder) mayTouch(rd projections.Reader, rights *access.Rights, id string, item projections.Item, now, next *document.Map) error {
	switch {
	case now == nil:
		return rights.Check("create", f.name, f.after(rd, id, item, next))
	case next == nil:
		return checkOn(rights, "delete", f.name, objectAt(rd, id, f.name, item))
	}
	fields := differing(withoutReadOnly(now, f.readOnly...), withoutReadOnly(f.kind.Canonical(next), f.readOnly...))
	if err := checkOn(rights, "update", f.name, objectAt(rd, id, f.name, item), fields...); err != nil {
		return err
	}
	return checkOn(rights, "update", f.name, f.after(rd, id, item, next), fields...)
}

// differing lists the fields in which two documents differ.
func differing(a, b *document.Map) (fields []string) {
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

// after is a document as rules would see it after a change.
func (f folder) after(rd projections.Reader, id string, item projections.Item, doc *document.Map) access.Object {
	before := objectAt(rd, id, f.name, item)
	fields := access.Fields{"slug": doc.Text("slug")}
	for key, v := range workspace.Describe(item.Path, doc).All() {
		fields[key] = document.Plain(v)
	}
	for _, key := range []string{"id", "public", "workspaceId", "runningWorkspaceId"} {
		if v, ok := before.Field(key); ok {
			fields[key] = v
		}
	}
	if f.name == "automations" { // their id is their slug
		fields["id"] = fields["slug"]
	}
	if shared, ok := before.(access.Shared); ok {
		return access.Shared{Object: fields, Shares: shared.Shares}
	}
	return fields
}

// saved is the answer to a document that was saved.
func (f folder) saved(d Deps, r *http.Request, saved content.Saved, in sent) (any, error) {
	settle(r.Context(), d.ReadModel)
	shown := &shownDocument{workspaceID: workspaceID(r), rights: gateway.GrantFrom(r.Context()).Rights}
	err := d.ReadModel.View(func(rd projections.Reader) (err error) {
		item, ok, err := projections.Content{}.Get(rd, shown.workspaceID, saved.Path)
		if err == nil && !ok {
			_, slug := workspace.Folder(saved.Path)
			err = f.absent(shown.rights, "read", slug)
		}
		shown.item = item
		if err == nil && f.name == automationFolder.name {
			shown.warnings, err = d.savedWarnings(r.Context(), rd, shown.workspaceID, saved.Path, in)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f.answer(d, r, shown)
}

// shownFirings is how many firings of a schedule a dry run tells.
const shownFirings = 5

// verdict is the answer to a dry run; slug is that of the document to be replaced.
func (f folder) verdict(d Deps, r *http.Request, slug string, in sent) (any, error) {
	faults, parsed, err := d.Content.Try(r.Context(), workspaceID(r), f.name, slug, in.doc)
	if err != nil {
		return nil, err
	}
	v := checked()
	for _, fault := range faults {
		at := in.place(fault.Field, fault.Message)
		if fault.Warning {
			v.Warnings = append(v.Warnings, at)
		} else {
			v.Errors = append(v.Errors, at)
		}
	}
	if parsed == nil {
		return v, nil
	}
	path := f.name + "/" + cmp.Or(in.doc.Text("slug"), slug)
	more, err := d.triedWarnings(r.Context(), workspaceID(r), path, parsed, in)
	if err != nil {
		return nil, err
	}
	v.Warnings = append(v.Warnings, more...)
	for _, firing := range parsed.Firings(d.Now(), d.Zone(), shownFirings) {
		next := make([]string, len(firing.Next))
		for i, at := range firing.Next {
			next[i] = at.In(time.UTC).Format(domain.Timestamp)
		}
		v.Schedules = append(v.Schedules, schedule{Cron: firing.Cron, Next: next})
	}
	return v, nil
}
