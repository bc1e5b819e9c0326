package workspace

import (
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
)

type (
	// Secure replaces the security document. Source is how it was written.
	Secure struct {
		Security access.Security
		Source   *document.Map
	}
	// Share lets a target do something, in place of what it could by an earlier
	// entry.
	Share struct{ Entry access.Share }
	// Unshare takes the entry of a target away, named as paths name it.
	Unshare struct{ Target string }
)

func (Secure) workspaceCommand()  {}
func (Share) workspaceCommand()   {}
func (Unshare) workspaceCommand() {}

// ClientID is the OIDC client of the pages of a workspace.
func ClientID(workspaceID string) string { return "workspace-" + workspaceID }

func secure(s State, c Secure) ([]domain.Event, error) {
	c.Security.Authentication.ClientID = ClientID(s.ID)
	if err := c.Security.Validate(s.Shares); err != nil {
		return nil, err
	}
	before := SecurityChange{s.Security, s.SecuritySource}.Document()
	if document.Equal(before, SecurityChange(c).Document()) {
		return nil, nil
	}
	return []domain.Event{Secured(c)}, nil
}

func share(s State, c Share) ([]domain.Event, error) {
	policy, err := access.Compile(s.ID, s.Security)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckShare("workspaces", c.Entry); err != nil {
		return nil, err
	}
	if err := checkOwner(s, access.PutShare(s.Shares, c.Entry)); err != nil {
		return nil, err
	}
	if i := indexOf(s.Shares, c.Entry.Target.String()); i >= 0 && domain.Same(s.Shares[i], c.Entry) {
		return nil, nil
	}
	return []domain.Event{Shared{s.ID, c.Entry.Target, c.Entry.Permissions}}, nil
}

func unshare(s State, c Unshare) ([]domain.Event, error) {
	i := indexOf(s.Shares, c.Target)
	if i < 0 {
		return nil, notShared(c.Target)
	}
	if err := checkOwner(s, access.DropShare(s.Shares, c.Target)); err != nil {
		return nil, err
	}
	return []domain.Event{Unshared{s.ID, s.Shares[i].Target}}, nil
}

// checkOwner refuses to take the last owner away. The platform may have none.
func checkOwner(s State, next []access.Share) error {
	if s.ID == domain.Platform || len(access.Owners(s.Shares)) == 0 || len(access.Owners(next)) > 0 {
		return nil
	}
	return domain.Refuse(domain.CodeConflict, "a workspace keeps at least one owner: make somebody else an owner first").Reason("last_owner")
}

// indexOf returns where the entry of a target is, or -1.
func indexOf(shares []access.Share, target string) int {
	return slices.IndexFunc(shares, func(s access.Share) bool { return s.Target.String() == target })
}

func notShared(target string) error {
	return domain.Refuse(domain.CodeNotFound, "it is not shared with this target").With("resource", "permission").With("id", target)
}

func noWorkspace() error { return domain.Refuse(domain.CodeNotFound, "there is no such workspace") }
