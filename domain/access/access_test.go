package access_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
)

// The workspace of the tests, and another one.
const (
	here  = "aB3dE6g"
	there = "zY9xW8v"
)

// People. ann owns the workspace, eve edits it, rob has the custom role agent,
// sam knows nobody.
var (
	ann     = access.Principal{UserID: "ann", SessionID: "s-ann", Email: "ann@example.com"}
	eve     = access.Principal{UserID: "eve", SessionID: "s-eve"}
	rob     = access.Principal{UserID: "rob", SessionID: "s-rob", Topics: []string{"sales"}}
	joining = access.Principal{UserID: "joe", SessionID: "s-joe", Joined: func() []string { return []string{"sales"} }}
	sam     = access.Principal{UserID: "sam", SessionID: "s-sam"}
	root    = access.Principal{UserID: "root", Super: true}
	nobody  = access.Principal{}
	visitor = access.Principal{SessionID: "s-visitor"}
)

// family shares the workspace with them.
func family() []access.Share {
	return []access.Share{access.OwnedBy("ann"), role("eve", "editor"), role("rob", "agent")}
}

func role(user, name string) access.Share {
	return access.Share{Target: access.Target{ID: user}, Permissions: access.Permissions{Role: name}}
}

func policies(target access.Target, names ...string) access.Share {
	s := access.Share{Target: target, Permissions: access.Permissions{Policies: map[string]bool{}}}
	for _, name := range names {
		s.Permissions.Policies[name] = true
	}
	return s
}

// parse reads a security document. The role agent is always there.
func parse(t require.TestingT, rules string) access.Security {
	var doc access.Security
	require.NoError(t, json.Unmarshal([]byte(`{"authorizations": {"roles": {"agent": {}, "clerk": {}}, "rules": `+rules+`}}`), &doc))
	return doc
}

// workspace is the one here, with these rules and shares.
func workspace(t require.TestingT, doc access.Security, shares ...access.Share) *access.Workspace {
	p, err := access.Compile(here, doc)
	require.NoError(t, err)
	return &access.Workspace{Policy: p, Shares: shares}
}

// ruled is a workspace of the family with these rules.
func ruled(t require.TestingT, rules string) *access.Workspace {
	return workspace(t, parse(t, rules), family()...)
}

// with is an object of a workspace with more fields.
func with(subject, workspaceID string, fields map[string]any) access.Fields {
	o := access.Fields{}
	for name, value := range fields {
		o[name] = value
	}
	switch subject {
	case "workspaces":
		o["id"] = workspaceID
	case "automations":
		o["runningWorkspaceId"] = workspaceID
	case "events":
		source, ok := o["source"].(map[string]any)
		if !ok {
			source = map[string]any{"serviceTopic": "topic:runtime:emit"}
		}
		source["workspaceId"] = workspaceID
		o["source"] = source
	default:
		o["workspaceId"] = workspaceID
	}
	return o
}

// plain is an object of the workspace here without more fields.
func plain(subject string) access.Fields { return with(subject, here, nil) }

// key is an API key of a workspace with these rules.
func key(t require.TestingT, workspaceID string, grants ...access.KeyGrant) *access.Key {
	rules, err := access.ScopeKey(workspaceID, grants)
	require.NoError(t, err)
	k, err := access.CompileKey("key_1", workspaceID, rules)
	require.NoError(t, err)
	return k
}

func grant(action, subject string) access.KeyGrant {
	return access.KeyGrant{Action: access.Word(action), Subject: access.Word(subject)}
}

// requireFault checks that err is a validation refusal that names a field.
func requireFault(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodeValidation, refusal.Code)
	var fields []string
	for _, f := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, f.Field)
	}
	require.Contains(t, fields, field, "%v", err)
}
