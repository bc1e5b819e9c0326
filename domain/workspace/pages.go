package workspace

import (
	"maps"

	"svc/domain"
	"svc/domain/access"
)

type (
	// SharePage shares a page with a target. To share it with everyone is
	// content: Entry is the page that says so.
	SharePage struct {
		PageID string
		Share  access.Share
		Entry  *Entry
	}
	// UnsharePage takes the share of a target away, named as paths name it. When
	// that is everyone, Entry is the page that does not say so any more.
	UnsharePage struct {
		PageID string
		Target string
		Entry  *Entry
	}
)

func (SharePage) workspaceCommand()   {}
func (UnsharePage) workspaceCommand() {}

type (
	// PageShared says with whom a page is shared, and how, from now on.
	PageShared struct {
		SubjectID   string             `json:"subjectId"`
		Path        string             `json:"path"`
		Target      access.Target      `json:"target"`
		Permissions access.Permissions `json:"permissions"`
		Entry       *Entry             `json:"entry,omitempty"`
	}
	// PageUnshared says that a page is shared with somebody no more.
	PageUnshared struct {
		SubjectID string        `json:"subjectId"`
		Path      string        `json:"path"`
		Target    access.Target `json:"target"`
		Entry     *Entry        `json:"entry,omitempty"`
	}
)

// EventType implements domain.Event.
func (PageShared) EventType() string { return "workspaces.pages.permissions.shared" }

// EventType implements domain.Event.
func (PageUnshared) EventType() string { return "workspaces.pages.permissions.deleted" }

// Everyone is the share of a public page.
func Everyone() access.Share {
	return access.Share{Target: access.Target{Public: true}, Permissions: access.Permissions{Policies: map[string]bool{"read": true}}}
}

// SharesOf returns all shares of a page.
func (i Item) SharesOf() []access.Share {
	if !i.Public {
		return i.Shares
	}
	return append([]access.Share{Everyone()}, i.Shares...)
}

// PageOf returns the path of the page with an id, "" when there is none.
func (s State) PageOf(id string) string {
	for path, item := range s.Items {
		if item.ID == id && id != "" {
			return path
		}
	}
	return ""
}

func sharePage(s State, c SharePage) ([]domain.Event, error) {
	path := s.PageOf(c.PageID)
	if path == "" {
		return nil, noPage(c.PageID)
	}
	policy, err := access.Compile(s.ID, s.Security)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckShare(c.Share); err != nil {
		return nil, err
	}
	if c.Share.Target.Public && !domain.Same(c.Share, Everyone()) {
		return nil, domain.Invalid(domain.FieldError{Field: "permissions.policies", Message: "a page is shared with everyone for reading, and for nothing else"})
	}
	before := s.Items[path].SharesOf()
	if i := indexOf(before, c.Share.Target.String()); i >= 0 && domain.Same(before[i], c.Share) {
		return nil, nil
	}
	return []domain.Event{PageShared{c.PageID, path, c.Share.Target, c.Share.Permissions, c.Entry}}, nil
}

func unsharePage(s State, c UnsharePage) ([]domain.Event, error) {
	path := s.PageOf(c.PageID)
	if path == "" {
		return nil, noPage(c.PageID)
	}
	before := s.Items[path].SharesOf()
	i := indexOf(before, c.Target)
	if i < 0 {
		return nil, notShared(c.Target)
	}
	return []domain.Event{PageUnshared{c.PageID, path, before[i].Target, c.Entry}}, nil
}

func noPage(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", id)
}

// withShares returns s with other shares of a page.
func (s State) withShares(path string, shares []access.Share) State {
	item := s.Items[path]
	item.Shares = shares
	s.Items = maps.Clone(s.Items)
	s.Items[path] = item
	return s
}

func (s State) pageShared(e PageShared) State {
	if e.Target.Public {
		return s
	}
	return s.withShares(e.Path, access.PutShare(s.Items[e.Path].Shares, access.Share{Target: e.Target, Permissions: e.Permissions}))
}

func (s State) pageUnshared(e PageUnshared) State {
	if e.Target.Public {
		return s
	}
	return s.withShares(e.Path, access.DropShare(s.Items[e.Path].Shares, e.Target.String()))
}
