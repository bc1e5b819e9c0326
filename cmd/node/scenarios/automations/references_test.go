package automations_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// references lists what the documents of a workspace use of each other, as
// "object calls listens emits emitsLike".
func references(t *testing.T, p nodetest.Workspace, query string) (all []string) {
	t.Helper()
	all = []string{}
	for _, item := range p.Do(t, 200, "GET", p.Path+"/references"+query, "").List(t) {
		all = append(all, fmt.Sprintf("%v %v %v %v %v", item["object"], item["calls"], item["listens"], item["emits"], item["emitsLike"]))
	}
	return all
}

// Who listens to what, who calls whom and which page runs what is listed, and follows every
// change.
func TestReferencesOfDocuments(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t)
	require.Empty(t, references(t, p, ""))
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Shop","slug":"shop","do":[{"emit":{"event":"order.created"}},{"emit":{"event":"order.{{kind}}"}},{"bill":{}},{"bill":{}}]}`)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Bill","slug":"bill","when":{"events":["order.*"]},"do":[{"wait":{"oneOf":[{"event":"paid"}]}}]}`)
	p.Do(t, 201, "POST", p.Path+"/pages", `{"name":"Orders","slug":"orders","automation":"shop","blocks":[]}`)
	all := []string{
		"automations/bill [] [map[field:do[0].wait.oneOf[0].event name:paid] map[field:when.events[0] name:order.*]] [] []",
		"automations/shop [map[field:do[2].bill name:bill]] [] [order.created] [order.]",
		"pages/orders [map[field:automation name:shop]] [] [] []",
	}
	require.Equal(t, all, references(t, p, ""))
	require.Equal(t, all[1:2], references(t, p, "?limit=1&page=1"))
	p.Do(t, 400, "GET", p.Path+"/references?limit=1001", "")

	p.Do(t, 200, "DELETE", p.Path+"/automations/shop", "")
	require.Equal(t, []string{all[0], all[2]}, references(t, p, ""))
}

// Documents that the caller may not read are not listed, and not counted.
func TestReferencesOfWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
open: {labels: [okay], do: [{hidden: {}}]}
hidden: [{emit: {event: again}}]`)
	p.Do(t, 201, "POST", p.Path+"/pages", `{"name":"P","slug":"p","automation":"hidden","blocks":[]}`)
	p.SetSecurity(t, `{"roles":{"editor":{}},"rules":[
		{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"slug":"hidden"}},
		{"role":"editor","action":"read","subject":"pages","inverted":true}]}`)
	reader := p.As(w.NewUser(t, "refreader"))
	p.Do(t, 200, "POST", p.Path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, reader.UserID(t)))
	require.Equal(t, []string{"automations/open [map[field:do[0].hidden name:hidden]] [] [] []"}, references(t, reader, ""))
	require.Equal(t, "1", reader.Do(t, 200, "GET", p.Path+"/references", "").Header.Get("X-Total-Count"))
	p.As(w.NewUser(t, "refstranger")).RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path+"/references", "")
	p.Anonymous().RequireRefusal(t, 401, "missing_token", "GET", p.Path+"/references", "")
}
