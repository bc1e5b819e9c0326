package knowledge_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// An app brings neither knowledge bases nor agents: they stay with the workspace that publishes it.
func TestAppsBringNoKnowledge(t *testing.T) {
	t.Parallel()
	s := nodetest.SharedService(t)
	from, to := newWorkspace(t, s, "Publisher"), newWorkspace(t, s, "Customer")
	from.Do(t, 200, "PATCH", from.Path, `{"description":"Knows","photo":"/knowing.png","config":{"schema":{"knowledgeBases":{"type":"array","items":{"type":"string"}},"agents":{"type":"array","items":{"type":"string"}}}}}`)
	from.Do(t, 201, "POST", from.Path+"/automations", `{"name":"Answer","slug":"answer","do":[]}`)
	from.Do(t, 201, "POST", from.Path+"/knowledgeBases", `{"name":"Internal","slug":"internal"}`)
	from.Do(t, 201, "POST", from.Path+"/knowledgeBases/internal/documents?wait=30", `{"text":"The price list of the publisher."}`)
	from.Do(t, 201, "POST", from.Path+"/agents", `{"name":"Helper","instructions":"Help.","knowledge":[{"base":"internal"}]}`)
	from.Do(t, 200, "POST", from.Path+"/agents/helper/publish", "")
	from.Do(t, 201, "POST", "/v2/apps", `{"workspaceId":"`+from.ID+`","slug":"knowing"}`)

	to.Do(t, 201, "POST", to.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	installed := to.Do(t, 201, "POST", to.Path+"/apps", `{"appSlug":"knowing","slug":"helpdesk","config":{"knowledgeBases":["faq"],"agents":[]}}`).JSON(t)
	require.Equal(t, map[string]any{"knowledgeBases": []any{"faq"}, "agents": []any{}}, installed["config"])
	require.Equal(t, []any{"faq"}, nodetest.Fields(to.Do(t, 200, "GET", to.Path+"/knowledgeBases", "").List(t), "slug"))
	require.Empty(t, to.Do(t, 200, "GET", to.Path+"/agents", "").List(t))
	require.Empty(t, to.Do(t, 200, "POST", to.Path+"/knowledgeBases/search", `{"query":"price list"}`).JSON(t)["results"])
	to.RequireRefusal(t, 404, "resource_not_found", "GET", to.Path+"/knowledgeBases/internal", "")
	files := slices.Sorted(maps.Keys(unzip(t, to.Do(t, 200, "GET", to.Path+"/export", "").Body)))
	require.Contains(t, files, "imports/helpdesk.yml")
	require.Contains(t, files, "knowledge/faq.yml")
	require.NotContains(t, files, "knowledge/internal.yml")
	require.NotContains(t, files, "agents/helper.yml")
}
