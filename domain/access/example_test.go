package access_test

import (
	"fmt"

	"svc/domain/access"
)

// A new workspace with an owner and an editor: may they, why, and which.
func Example() {
	policy, err := access.Compile("aB3dE6g", access.Default("aB3dE6g"))
	if err != nil {
		return
	}
	editor := access.Share{Target: access.Target{ID: "eve"}, Permissions: access.Permissions{Role: "editor"}}
	w := &access.Workspace{Policy: policy, Shares: []access.Share{access.OwnedBy("ann"), editor}}

	rights := w.For(access.Principal{UserID: "eve"})
	fmt.Println(rights.Allows("update", "workspaces", nil), rights.Check("delete", "workspaces", nil))

	event := access.Fields{"type": "apikeys.created", "source": map[string]any{"workspaceId": "aB3dE6g"}}
	why := rights.May("read", "events", event)
	fmt.Println(why.Allowed, why.Origin)

	readable := rights.Filter("read", "events")
	fmt.Println(readable(event), readable(access.Fields{"type": "hello", "source": event["source"]}))
	// Output:
	// true permission_denied: you lack permission to delete workspaces
	// false authorizations.rules[5]
	// false true
}
