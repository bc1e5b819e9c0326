package content

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// plan is what an import or a restoration would change of one state.
type plan struct {
	of       workspace.State
	to       workspace.Switch
	imported []string
	deleted  []string
	errors   []archive.Item
	warnings []archive.Item
	sources  map[string]string            // the file of each path, when there are files
	lineOf   func(file, field string) int // where a field stands in a file; nil: there are no files
	failed   []string                     // paths that have a file which could not be used
	foreign  string                       // the slug that the source has, when it is taken here
	kept     bool                         // something was left as it is because the caller may not change it
	docs     map[string]*document.Map     // what entries are made of
	apps     map[string]bool              // of which the workspace has instances; nil: not looked for yet
}

// ErrMoved says that the content changed since what is to be saved was made of it.
var ErrMoved = errors.New("content: it has changed since the plan was made")

// unmoved lets a plan be carried out on the content that it was made for.
func (p plan) unmoved(s workspace.State) error {
	if s.Changes != p.of.Changes || s.Revision != p.of.Revision || s.SecurityRevision != p.of.SecurityRevision || (s.Deleted == nil) != (p.of.Deleted == nil) {
		return ErrMoved
	}
	return nil
}

func (p *plan) warn(code, path, message string) { p.warnAt(code, path, "", message) }

// warnAt is warn about a field of the document at a path.
func (p *plan) warnAt(code, path, field, message string) {
	p.warnings = append(p.warnings, p.item(code, path, field, message))
}

// hold notes that the file at a path of the source was not taken over: what is there
// stays there, and what is here stays here.
func (p *plan) hold(path string) { p.failed = append(p.failed, path) }

// fail tells why a document is left as it is here.
func (p *plan) fail(code, path, field, message string) {
	p.hold(path)
	p.errors = append(p.errors, p.item(code, path, field, message))
}

// refuse is fail with what a rule says.
func (p *plan) refuse(path string, err error) {
	message, field := err.Error(), ""
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		message, field = refusal.Message, archive.FirstField(refusal)
	}
	p.fail(archive.ErrInvalidDocument, path, field, message)
}

func (p *plan) item(code, path, field, message string) archive.Item {
	item := archive.Item{Msg: message, Err: code, Filepath: cmp.Or(p.sources[path], path), WorkspaceID: p.of.ID}
	if file := p.sources[path]; file != "" && p.lineOf != nil {
		item.Line = p.lineOf(file, field)
	}
	return item
}

// put adds a document to what changes, unless it is there already. doc is what
// the entry was made of.
func (p *plan) put(e workspace.Entry, doc *document.Map) {
	before, exists := p.of.Items[e.Path]
	if exists {
		e.ID, e.Untold = before.ID, e.Untold.And(before.Untold)
		if before.Hash == e.Hash && maps.EqualFunc(before.Sealed, e.Sealed, bytes.Equal) {
			return
		}
	}
	if p.docs == nil {
		p.docs = map[string]*document.Map{}
	}
	p.docs[e.Path] = doc
	p.to.Entries = append(p.to.Entries, e)
	p.imported = append(p.imported, e.Path)
}

func (p *plan) drop(path string) {
	p.to.Deleted = append(p.to.Deleted, path)
	p.deleted = append(p.deleted, path)
}

// settle changes the settings to next, if they differ. untold is what events do not tell
// of them, besides what they did not tell before.
func (p *plan) settle(next workspace.Settings, untold workspace.Untold) {
	if next = next.Follow(p.of.Settings, untold); domain.Same(next, p.of.Settings) {
		return
	}
	p.to.Settings = &next
	if next.Slug != p.of.Settings.Slug {
		p.to.OldSlug = p.of.Settings.Slug
	}
	p.imported = append(p.imported, "index")
}

// secure changes the security document, if it differs. Whoever may not do that
// keeps the one there is.
func (p *plan) secure(next *workspace.SecurityChange, may bool) {
	before := workspace.SecurityChange{Security: p.of.Security, Source: p.of.SecuritySource}
	if document.Equal(before.Document(), next.Document()) {
		return
	}
	if !may {
		p.kept = true
		p.hold("security")
		p.warn("security_excluded", "security", "the security document was not changed: that needs the permission manage_security")
		return
	}
	p.to.Security = next
	p.imported = append(p.imported, "security")
}

// readSecurity turns a security document into what rules read. It refuses one
// that is not acceptable.
func readSecurity(workspaceID string, doc *document.Map) (*workspace.SecurityChange, error) {
	doc = document.Security.Canonical(doc)
	if err := shape.Refusal(known(shape.Check(document.Security, doc))); err != nil {
		return nil, err
	}
	security, err := workspace.ReadSecurity(doc)
	if err != nil {
		return nil, err
	}
	security.Authentication = access.Authentication{ClientID: workspace.ClientID(workspaceID)}
	if _, err := access.Compile(workspaceID, security); err != nil {
		return nil, err
	}
	return &workspace.SecurityChange{Security: security, Source: doc}, nil
}

// known leaves out the fields that imports keep without effect.
func known(faults []shape.Fault) []shape.Fault {
	return slices.DeleteFunc(faults, func(f shape.Fault) bool { return f.Unknown })
}
