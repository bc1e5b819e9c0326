package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
)

// owned is a workspace of ada.
func owned() []domain.Event {
	ev := createdEvent(id, shop)
	ev.Shares = []access.Share{access.OwnedBy("ada")}
	return []domain.Event{ev}
}

func shared(entry access.Share) workspace.Shared {
	return workspace.Shared{SubjectID: id, Target: entry.Target, Permissions: entry.Permissions}
}

func user(id, role string) access.Share {
	return access.Share{Target: access.Target{ID: id}, Permissions: access.Permissions{Role: role}}
}

// securityWithRole is a document with one role of its own.
func securityWithRole() access.Security {
	return access.Security{Authorizations: access.Authorizations{
		Roles: map[string]access.Role{"clerk": {}},
		Rules: []access.Rule{{Action: access.Word("read"), Subject: access.Word("pages"), Role: access.Word("clerk")}},
	}, Authentication: access.Authentication{ClientID: workspace.ClientID(id)}}
}

func TestSharing(t *testing.T) {
	everyone := access.Share{Target: access.Target{Public: true}, Permissions: access.Permissions{Policies: map[string]bool{"read": true}}}
	for name, sc := range map[string]scenario{
		"whoever creates a workspace owns it": {
			When: workspace.Create{ID: id, Owners: []string{"ada"}, Settings: shop}, Then: owned(),
		},
		"it is shared with a user": {
			Given: owned(), When: workspace.Share{Entry: user("bob", "editor")}, Then: []domain.Event{shared(user("bob", "editor"))},
		},
		"sharing it again the same way is no event": {
			Given: append(owned(), shared(user("bob", "editor"))), When: workspace.Share{Entry: user("bob", "editor")},
		},
		"it is shared with everyone": {
			Given: owned(), When: workspace.Share{Entry: everyone}, Then: []domain.Event{shared(everyone)},
		},
		"an unknown role is refused": {
			Given: owned(), When: workspace.Share{Entry: user("bob", "clerk")}, Refuse: domain.CodeValidation,
		},
		"the last owner does not become an editor": {
			Given: owned(), When: workspace.Share{Entry: user("ada", "editor")}, Refuse: domain.CodeConflict,
		},
		"the last owner does not leave": {
			Given: owned(), When: workspace.Unshare{Target: "ada"}, Refuse: domain.CodeConflict,
		},
		"one of two owners leaves": {
			Given: append(owned(), shared(user("bob", "owner"))), When: workspace.Unshare{Target: "ada"},
			Then: []domain.Event{workspace.Unshared{SubjectID: id, Target: access.Target{ID: "ada"}}},
		},
		"what is not shared cannot be taken back": {
			Given: owned(), When: workspace.Unshare{Target: "*"}, Refuse: domain.CodeNotFound,
		},
		"what is not there cannot be shared": {
			When: workspace.Share{Entry: user("bob", "editor")}, Refuse: domain.CodeNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
}

func TestThePlatformMayHaveNoOwner(t *testing.T) {
	entry := user("ada", "owner")
	scenario{
		Given: []domain.Event{createdEvent(domain.Platform, shop), workspace.Shared{SubjectID: domain.Platform, Target: entry.Target, Permissions: entry.Permissions}},
		When:  workspace.Unshare{Target: "ada"},
		Then:  []domain.Event{workspace.Unshared{SubjectID: domain.Platform, Target: entry.Target}},
	}.Check(t, workspace.Decider)
}

func TestSecurity(t *testing.T) {
	wrong := securityWithRole()
	wrong.Authorizations.Rules[0].Action = access.Word("fly")
	for name, sc := range map[string]scenario{
		"the document is replaced": {
			Given: owned(), When: workspace.Secure{Security: securityWithRole()}, Then: []domain.Event{workspace.Secured{Security: securityWithRole()}},
		},
		"the same document is no event": {
			Given: append(owned(), workspace.Secured{Security: securityWithRole()}), When: workspace.Secure{Security: securityWithRole()},
		},
		"the client id is the service's": {
			Given: owned(), When: workspace.Secure{Security: func() access.Security {
				s := securityWithRole()
				s.Authentication.ClientID = "mine"
				return s
			}()}, Then: []domain.Event{workspace.Secured{Security: securityWithRole()}},
		},
		"an unknown action is refused": {
			Given: owned(), When: workspace.Secure{Security: wrong}, Refuse: domain.CodeValidation,
		},
		"what is not there cannot be secured": {
			When: workspace.Secure{Security: securityWithRole()}, Refuse: domain.CodeNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
}

func TestARoleThatSomebodyHasStays(t *testing.T) {
	given := append(owned(), workspace.Secured{Security: securityWithRole()}, shared(user("bob", "clerk")))
	_, err := workspace.Decider.Decide(workspace.Decider.Fold(workspace.State{}, given...), workspace.Secure{Security: access.Security{}})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodeValidation, refusal.Code)
	require.Equal(t, []string{"bob"}, refusal.Details["users"])
}
