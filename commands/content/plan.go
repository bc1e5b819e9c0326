package content

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

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
	sources  map[string]string // the file of each path, when there are files
}

// errMoved says that the content changed since the plan was made.
var errMoved = errors.New("content: it has changed since the plan was made")

// unmoved lets a plan be carried out on the content that it was made for.
func (p plan) unmoved(s workspace.State) error {
	if s.Changes != p.of.Changes || s.Revision != p.of.Revision || s.SecurityRevision != p.of.SecurityRevision || (s.Deleted == nil) != (p.of.Deleted == nil) {
		return errMoved
	}
	return nil
}

func (p *plan) warn(code, path, message string) {
	p.warnings = append(p.warnings, p.item(code, path, message))
}

func (p *plan) fail(code, path, message string) {
	p.errors = append(p.errors, p.item(code, path, message))
}

// refuse is fail with what a rule says.
func (p *plan) refuse(path string, err error) {
	message := err.Error()
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		message = refusal.Message
	}
	p.fail(archive.ErrInvalidDocument, path, message)
}

func (p *plan) item(code, path, message string) archive.Item {
	return archive.Item{Msg: message, Err: code, Filepath: cmp.Or(p.sources[path], path), WorkspaceID: p.of.ID}
}

// put adds a document to what changes, unless it is there already.
func (p *plan) put(e workspace.Entry) {
	before, exists := p.of.Items[e.Path]
	if exists {
		e.ID = before.ID
		if before.Hash == e.Hash && maps.EqualFunc(before.Sealed, e.Sealed, bytes.Equal) {
			return
		}
	}
	p.to.Entries = append(p.to.Entries, e)
	p.imported = append(p.imported, e.Path)
}

func (p *plan) drop(path string) {
	p.to.Deleted = append(p.to.Deleted, path)
	p.deleted = append(p.deleted, path)
}

// settle changes the settings to next, if they differ.
func (p *plan) settle(next workspace.Settings) {
	if domain.Same(next, p.of.Settings) {
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
		p.warn("security_excluded", "security", "changing the security document takes manage_security: it was left as it is")
		return
	}
	p.to.Security = next
	p.imported = append(p.imported, "security")
}

// clashes drops entries that cannot be beside what stays: a name that differs in
// case only, or an endpoint that is taken. What is dropped lets its predecessor
// stay, which may be in the way of another entry: so it goes on until none is
// dropped.
func (p *plan) clashes() {
	for before := -1; before != len(p.to.Entries); {
		before = len(p.to.Entries)
		p.dropClashing()
	}
	kept := map[string]bool{"index": true, "security": true}
	for _, e := range p.to.Entries {
		kept[e.Path] = true
	}
	p.imported = slices.DeleteFunc(p.imported, func(path string) bool { return !kept[path] })
}

func (p *plan) dropClashing() {
	gone, replaced := map[string]bool{}, map[string]bool{}
	for _, path := range p.to.Deleted {
		gone[path] = true
	}
	for _, e := range p.to.Entries {
		replaced[e.Path] = true
	}
	stays, endpoints := map[string]string{}, map[string]string{}
	for path, item := range p.of.Items {
		if gone[path] {
			continue
		}
		stays[strings.ToLower(path)] = path
		if item.Endpoint != "" && !replaced[path] {
			endpoints[item.Endpoint] = path
		}
	}
	kept := p.to.Entries[:0:0]
	for _, e := range p.to.Entries {
		if other, taken := stays[strings.ToLower(e.Path)]; taken && other != e.Path {
			p.fail(archive.ErrDuplicateObject, e.Path, "differs from "+other+" in case only")
			continue
		}
		if other, taken := endpoints[e.Endpoint]; taken && e.Endpoint != "" {
			p.fail("endpoint_in_use", e.Path, "the endpoint "+e.Endpoint+" is that of "+other)
			continue
		}
		if e.Endpoint != "" {
			endpoints[e.Endpoint] = e.Path
		}
		kept = append(kept, e)
	}
	p.to.Entries = kept
}

// readSecurity turns a security document into what rules read. It refuses one
// that is not acceptable.
func readSecurity(workspaceID string, doc *document.Map) (*workspace.SecurityChange, error) {
	doc = document.Security.Canonical(doc)
	if err := shape.Refusal(known(shape.Check(document.Security, doc))); err != nil {
		return nil, err
	}
	body, err := document.JSON(doc)
	if err != nil {
		return nil, err
	}
	change := &workspace.SecurityChange{Source: doc}
	if err := json.Unmarshal(body, &change.Security); err != nil {
		return nil, domain.Refuse(domain.CodeValidation, "the security document has values of another type")
	}
	change.Security.Authentication = access.Authentication{ClientID: workspace.ClientID(workspaceID)}
	if _, err := access.Compile(workspaceID, change.Security); err != nil {
		return nil, err
	}
	return change, nil
}

// known leaves out the fields that imports keep without effect.
func known(faults []shape.Fault) []shape.Fault {
	return slices.DeleteFunc(faults, func(f shape.Fault) bool { return f.Unknown })
}
