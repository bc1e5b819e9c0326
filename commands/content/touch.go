package content

import (
	"cmp"
	"context"
	"math"

	"svc/commands/spread"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Touch is one document that a plan adds, changes or removes.
type Touch struct {
	Path   string         // where it is now; of a new one, where it will be
	Item   workspace.Item // as it is now; zero when it is new
	Before *document.Map  // nil: it is new
	After  *document.Map  // nil: it is removed
	Sent   bool           // the caller named it, not the history or the workspace
}

// Judge says what the caller of an import, a restoration or an undoing may do to
// single documents: what they may do to each by itself, and no more.
type Judge interface {
	// May refuses a document that the caller may not touch so.
	May(t Touch) error
	// MayShare tells whether the caller may make a page public, or stop it.
	MayShare(t Touch) (bool, error)
	// MayInstall tells whether the caller may read an app.
	MayInstall(ctx context.Context, appSlug string) (bool, error)
}

// Confident is a Judge that can say of some documents, unseen, that the caller may
// touch them so. They need not be read then.
type Confident interface {
	// MayAnyway reports whether May would refuse no document that is touched as t
	// is. t.Before is not filled in.
	MayAnyway(t Touch) bool
}

// owning is the judge of somebody who makes a workspace: everything in it is
// theirs, but for the apps that it installs.
type owning struct{ Judge }

// May implements Judge.
func (owning) May(Touch) error { return nil }

// MayShare implements Judge.
func (owning) MayShare(Touch) (bool, error) { return true, nil }

// judged refuses a plan that touches what the caller may not: the first such
// document is named, if the caller may know of it.
func (c *Content) judged(ctx context.Context, p plan, judge Judge) error {
	if judge == nil {
		return nil
	}
	if len(p.of.Items) > 0 { // what the plan was made on must be there to be read
		if _, err := c.Library.At(ctx, p.of.ID, math.MaxUint64); err != nil {
			return err
		}
	}
	if p.to.Settings != nil {
		if err := judge.May(Touch{Path: "index", Before: p.of.Settings.Index(), After: p.to.Settings.Index(), Sent: true}); err != nil {
			return err
		}
	}
	verdicts := make([]error, len(p.to.Entries)+len(p.to.Deleted))
	spread.Over(len(verdicts), func(i int) {
		if i >= len(p.to.Entries) {
			verdicts[i] = c.judgedAt(ctx, p, judge, p.to.Deleted[i-len(p.to.Entries)], nil)
			return
		}
		e := p.to.Entries[i]
		verdicts[i] = c.judgedAt(ctx, p, judge, cmp.Or(e.From, e.Path), p.docs[e.Path])
	})
	for _, err := range verdicts {
		if err != nil {
			return err
		}
	}
	return nil
}

// judgedAt judges what becomes of the document at a path.
func (c *Content) judgedAt(ctx context.Context, p plan, judge Judge, path string, after *document.Map) error {
	t := Touch{Path: path, After: after, Sent: after != nil && p.sources[path] != ""}
	var exists bool
	t.Item, exists = p.of.Items[path]
	if sure, ok := judge.(Confident); ok && sure.MayAnyway(t) {
		return nil
	}
	if exists {
		var err error
		if t.Before, err = c.Library.Document(ctx, p.of.ID, Ref{Hash: t.Item.Hash}); err != nil {
			return err
		}
	}
	return judge.May(t)
}

// unshared returns a page as it may become: whoever may not share it neither makes
// it public nor stops that. from is where the page is now.
func (p *plan) unshared(judge Judge, path, from string, doc *document.Map) (*document.Map, error) {
	before := p.of.Items[from]
	wanted, _ := boolOf(doc, "public")
	if judge == nil || wanted == before.Public {
		return doc, nil
	}
	may, err := judge.MayShare(Touch{Path: from, Item: before, After: doc})
	if err != nil || may {
		return doc, err
	}
	p.kept = true
	p.hold(path)
	p.warnAt("security_excluded", path, "public", "whether the page is public was not changed: that needs the permission manage_permissions")
	if doc = doc.Copy(); !before.Public {
		doc.Delete("public")
		return doc, nil
	}
	doc.Set("public", true)
	return doc, nil
}

// hidden reports whether an instance is one of an app that the caller may not
// read, and that the workspace does not use yet: it is left out, and told of as
// one of an app that does not exist.
func (p *plan) hidden(ctx context.Context, judge Judge, path string, doc *document.Map) (bool, error) {
	app := doc.Text("appSlug")
	if judge == nil || p.uses(app) {
		return false, nil
	}
	may, err := judge.MayInstall(ctx, app)
	if err != nil || may {
		return false, err
	}
	p.fail("app_missing", path, "appSlug", noSuchApp)
	return true, nil
}

// uses reports whether the workspace has an instance of an app.
func (p *plan) uses(app string) bool {
	if p.apps == nil {
		p.apps = map[string]bool{}
		for _, item := range p.of.Items {
			p.apps[item.App] = true
		}
	}
	return p.apps[app]
}
