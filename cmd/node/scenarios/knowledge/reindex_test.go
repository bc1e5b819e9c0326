package knowledge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// awaitOperation waits until an operation has ended. Meanwhile it does some things again and again, at least once.
func awaitOperation(t *testing.T, p nodetest.Workspace, id string, meanwhile ...func()) (op map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, do := range meanwhile {
			do()
		}
		op = p.Do(t, 200, "GET", p.Path+"/operations/"+id, "").JSON(t)
		return op["status"] != "running"
	}, time.Minute, 20*time.Millisecond)
	return op
}

// A base whose settings change is processed again with them, and can be searched all the time.
func TestReindex(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	stranger := p.As(s.NewUser(t, "stranger"))
	all := p.Path + "/knowledgeBases"
	one := all + "/faq"
	p.Do(t, 201, "POST", all, `{"name":"FAQ"}`)
	text := strings.Repeat("The refund of a payment takes a week or two. ", 20)
	for _, key := range []string{"a", "b", "c"} {
		p.Send(t, "POST", one+"/documents?wait=30", `{"key":"`+key+`","text":"`+text+key+`","tags":["`+key+`"]}`)
	}
	p.Send(t, "POST", one+"/documents?wait=30", `{"key":"empty","text":" "}`)
	chunks := func(key string) float64 {
		t.Helper()
		return p.Do(t, 200, "GET", one+"/documents/key:"+key, "").JSON(t)["chunks"].(float64)
	}
	require.InDelta(t, 1, chunks("a"), 0)
	index := func() map[string]any {
		t.Helper()
		return p.Do(t, 200, "GET", one, "").JSON(t)["index"].(map[string]any)
	}
	require.Equal(t, "ready", index()["state"])

	t.Log("a change of another setting processes nothing")
	require.Empty(t, p.Do(t, 200, "PATCH", one, `{"description":"Questions"}`).Header.Get("X-Svc-Operation-Id"))

	t.Log("a change of chunking divides again what can be searched")
	id := p.Do(t, 200, "PATCH", one, `{"chunking":{"size":200,"overlap":0}}`).Header.Get("X-Svc-Operation-Id")
	require.NotEmpty(t, id)
	op := awaitOperation(t, p, id, func() {
		require.Len(t, search(t, p, "faq", `{"query":"refund"}`).Results, 3, "each document is found all the time")
	})
	require.Equal(t, "succeeded", op["status"], op)
	require.Equal(t, "reindex", op["kind"])
	require.Equal(t, map[string]any{"current": 3.0, "total": 3.0, "percentage": 100.0}, op["progress"])
	for _, key := range []string{"a", "b", "c"} {
		require.Greater(t, chunks(key), 4.0)
	}
	require.Equal(t, "ready", index()["state"])
	started, completed := eventsOf(t, p, "knowledge.reindex.started"), eventsOf(t, p, "knowledge.reindex.completed")
	require.Len(t, started, 1)
	require.Equal(t, map[string]any{"knowledgeBase": "faq", "operationId": id, "documents": 3.0}, started[0].Payload)
	require.Len(t, completed, 1)
	require.InDelta(t, 3, completed[0].Payload["ready"], 0)

	t.Log("and back")
	p.Do(t, 200, "PATCH", one, `{"chunking":null}`)
	require.Eventually(t, func() bool { return chunks("a") == 1 && index()["state"] == "ready" }, time.Minute, 20*time.Millisecond)

	t.Log("somebody asks for it")
	before := p.Do(t, 200, "GET", one+"/documents/key:a", "").JSON(t)["indexedAt"]
	untouched := p.Do(t, 200, "GET", one+"/documents/key:b", "").JSON(t)["indexedAt"]
	asked := p.Do(t, 202, "POST", one+"/reindex", `{"extract":true,"filters":{"tags":"a"}}`)
	require.Equal(t, asked.JSON(t)["id"], asked.Header.Get("X-Svc-Operation-Id"))
	op = awaitOperation(t, p, asked.JSON(t)["id"].(string))
	require.InDelta(t, 1, op["result"].(map[string]any)["ready"], 0, op)
	require.NotEqual(t, before, p.Do(t, 200, "GET", one+"/documents/key:a", "").JSON(t)["indexedAt"])
	require.Equal(t, untouched, p.Do(t, 200, "GET", one+"/documents/key:b", "").JSON(t)["indexedAt"])
	whole := awaitOperation(t, p, p.Do(t, 202, "POST", one+"/reindex", ``).JSON(t)["id"].(string))
	require.Equal(t, []any{3.0, 1.0}, []any{whole["result"].(map[string]any)["ready"], whole["result"].(map[string]any)["failed"]}, "the empty one is tried again, too")

	p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/reindex", `{"filters":{"nope":1}}`)
	p.RequireRefusal(t, 400, "invalid_request", "POST", one+"/reindex", `{"nope":1}`)
	p.RequireRefusal(t, 404, "resource_not_found", "POST", all+"/nope/reindex", ``)
	stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", one+"/reindex", ``)
}
