package knowledge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// secretWord is in texts of documents, and must be in no event.
const secretWord = "Quetzalcoatlus"

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "KNOWLEDGE_REVISIONS_KEPT=2").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	base := p.Path + "/knowledgeBases"
	p.Do(t, 201, "POST", base, `{"name":"FAQ","slug":"faq"}`)
	all := base + "/faq/documents"

	t.Run("a text is ready to be searched", func(t *testing.T) {
		got := p.Do(t, 201, "POST", all+"?wait=30", `{"text":"# Birds\n\n`+secretWord+` was very large.","name":"birds.md","tags":["b","a","b"],"metadata":{"year":2024}}`)
		doc := got.JSON(t)
		require.Equal(t, "ready", doc["status"], "%s", got.Body)
		require.Regexp(t, `^doc_[0-9A-Z]{26}$`, doc["id"])
		require.Equal(t, "faq", doc["knowledgeBase"])
		require.Equal(t, "text", doc["source"])
		require.Equal(t, "text/markdown", doc["mimetype"])
		require.Equal(t, []any{"a", "b"}, doc["tags"])
		require.Equal(t, "none", doc["vectors"])
		require.Equal(t, true, doc["searchable"])
		require.GreaterOrEqual(t, doc["chunks"], 1.0)
		require.Equal(t, 1.0, doc["revision"])
		require.Len(t, doc["textHash"], 64)

		one := all + "/" + doc["id"].(string)
		require.Equal(t, strings.TrimPrefix(one, s.Base), got.Header.Get("Location"))
		require.Equal(t, doc["textHash"], p.Do(t, 200, "GET", one, "").JSON(t)["textHash"])
		text := p.Do(t, 200, "GET", one+"/text", "")
		require.Equal(t, "# Birds\n\n"+secretWord+" was very large.", string(text.Body))
		require.Equal(t, "text/plain; charset=utf-8", text.Header.Get("Content-Type"))
		p.Do(t, 304, "GET", one+"/text", "", "If-None-Match", text.Header.Get("ETag"))
		require.Equal(t, "# Birds", string(p.Do(t, 206, "GET", one+"/content", "", "Range", "bytes=0-6").Body))
		chunks := p.Do(t, 200, "GET", one+"/chunks", "").List(t)
		require.Equal(t, []any{"Birds"}, chunks[0]["headings"])
		require.Equal(t, "1", p.Do(t, 200, "GET", one+"/chunks?limit=1", "").Header.Get("X-Total-Count"))

		counts := p.Do(t, 200, "GET", base+"/faq", "").JSON(t)
		require.Equal(t, 1.0, counts["counts"].(map[string]any)["ready"])
		require.Equal(t, "ready", counts["index"].(map[string]any)["state"])
		require.Equal(t, counts["counts"], p.Do(t, 200, "GET", base, "").List(t)[0]["counts"], "a list has the numbers, too")
	})

	t.Run("a known document is replaced", func(t *testing.T) {
		first := p.Do(t, 201, "POST", all+"?wait=30", `{"text":"the first text","key":"k/1","name":"n"}`).JSON(t)
		again := p.Do(t, 200, "POST", all, `{"text":"the first text","key":"k/1","tags":["x"]}`).JSON(t)
		require.Equal(t, true, again["unchanged"])
		require.Equal(t, "ready", again["status"])
		require.Equal(t, []any{"x"}, again["tags"])
		require.Equal(t, first["id"], again["id"])
		require.Equal(t, 1.0, again["revision"])

		second := p.Do(t, 200, "POST", all+"?wait=30", `{"text":"the second text","key":"k/1"}`).JSON(t)
		require.Equal(t, 2.0, second["revision"])
		require.NotContains(t, second, "unchanged")
		one := all + "/key:k%2F1"
		require.Equal(t, first["id"], p.Do(t, 200, "GET", one, "").JSON(t)["id"])
		require.Equal(t, "the first text", string(p.Do(t, 200, "GET", one+"/content?revision=1", "").Body))
		require.Equal(t, "the second text", string(p.Do(t, 200, "GET", one+"/content", "").Body))
		p.Do(t, 200, "PUT", one+"/content?wait=30", `{"text":"the third text"}`)
		require.Equal(t, []any{3.0, 2.0}, nodetest.Fields(p.Do(t, 200, "GET", one+"/revisions", "").List(t), "revision"))
		require.Equal(t, "revision", p.RequireRefusal(t, 404, "resource_not_found", "GET", one+"/content?revision=1", "")["resource"])
		require.Equal(t, "the second text", string(p.Do(t, 200, "GET", one+"/text?revision=2", "").Body))
		require.Equal(t, "the third text", string(p.Do(t, 200, "GET", one+"/text?revision=3", "").Body))
		require.Equal(t, "revision", p.RequireRefusal(t, 404, "resource_not_found", "GET", one+"/text?revision=1", "")["resource"])
		require.Equal(t, "error", p.Do(t, 200, "PUT", one+"/content?wait=30", `{"text":" "}`).JSON(t)["status"])
		require.Equal(t, "the third text", string(p.Do(t, 200, "GET", one+"/text", "").Body), "it is searched")
		require.Equal(t, "the third text", string(p.Do(t, 200, "GET", one+"/text?revision=3", "").Body))
		require.Equal(t, "text", p.RequireRefusal(t, 404, "resource_not_found", "GET", one+"/text?revision=4", "")["resource"])
		require.Equal(t, "n", p.Do(t, 200, "GET", one, "").JSON(t)["name"])
		p.Do(t, 422, "PUT", one+"/content", `{"text":"x","key":"other"}`)
		require.Equal(t, first["id"], p.Do(t, 200, "DELETE", one, "").JSON(t)["id"])
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")
		anew := p.Do(t, 201, "POST", all, `{"text":"anew","key":"k/1"}`).JSON(t)
		require.NotEqual(t, first["id"], anew["id"], "the key is free again")
	})

	t.Run("files are read", func(t *testing.T) {
		got := postFiles(t, p, all+"?wait=30", map[string]string{"tags": "one, two", "metadata": `{"team":"web"}`}, "a.csv", "name;size\nCar;3\n", "b.html", "<html><head><title>A page</title></head><body><p>Some words</p></body></html>", "c.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "d.txt", "")
		require.Equal(t, 201, got.StatusCode, "%s", got.Body)
		var docs []map[string]any
		require.NoError(t, json.Unmarshal(got.Body, &docs))
		require.Equal(t, []any{"ready", "ready", "error", "error"}, nodetest.Fields(docs, "status"), "%s", got.Body)
		require.Equal(t, "unsupported_type", docs[2]["error"].(map[string]any)["reason"])
		require.Equal(t, "empty", docs[3]["error"].(map[string]any)["reason"])
		require.Equal(t, "A page", docs[1]["title"])
		require.Contains(t, string(p.Do(t, 200, "GET", all+"/"+docs[0]["id"].(string)+"/text", "").Body), "name: Car")
		attached := p.Do(t, 200, "GET", all+"/"+docs[1]["id"].(string)+"/content", "")
		require.Contains(t, attached.Header.Get("Content-Disposition"), "attachment")
		require.Equal(t, []any{"a.csv"}, nodetest.Fields(p.Do(t, 200, "GET", all+"?search=a.csv", "").List(t), "name"))
		require.Len(t, p.Do(t, 200, "GET", all+"?tags=two,nope&metadata.team=web&status=ready", "").List(t), 2)
		require.Equal(t, []any{"a.csv", "b.html", "c.png", "d.txt"}, nodetest.Fields(p.Do(t, 200, "GET", all+"?tags=one&sort=name", "").List(t), "name"))
	})

	t.Run("faults are told", func(t *testing.T) {
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"text":"x","url":"https://example.com/"}`)
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"name":"x"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"text":"x","nope":1}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"url":"ftp://example.com/"}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"fileId":"nope"}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"text":"x","expiresAt":"2001-01-01T00:00:00Z"}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"text":"x","metadata":{"a":{"b":{"c":{"d":{}}}}}}`)
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", all+"?status=lost", "")
		require.Equal(t, "knowledgeBase", p.RequireRefusal(t, 404, "resource_not_found", "GET", base+"/nope/documents", "")["resource"])
		require.Equal(t, "document", p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/doc_nope", "")["resource"])
		require.Equal(t, 400, postFiles(t, p, all, map[string]string{"metadata": "{"}, "a.txt", "x").StatusCode)
		require.Equal(t, 413, postFiles(t, p, all, nil, manyFiles(51)...).StatusCode)
		require.Equal(t, 413, postFiles(t, p, all, nil, "large.txt", strings.Repeat("x", 11<<20)).StatusCode)
	})

	t.Run("many come at once, and go", func(t *testing.T) {
		p.Do(t, 201, "POST", base, `{"name":"Many","slug":"many"}`)
		many := base + "/many/documents"
		items := make([]string, 100)
		for i := range items {
			items[i] = fmt.Sprintf(`{"text":"text %d","key":"k%d","tags":["t%d"],"metadata":{"n":%d}}`, i, i, i%2, i)
		}
		items[7] = `{"name":"bad"}`
		for _, form := range []string{`5`, `null`, `{"text":5}`, `{"text":"x","nope":1}`} { // what has another form keeps no other out, either
			got := p.Do(t, 200, "POST", many+"/bulk", `{"documents":[`+form+`,{"text":"x","key":"first"}]}`).List(t)
			require.Equal(t, "invalid_request", got[0]["error"], "%s: %v", form, got)
			require.NotEmpty(t, got[0]["message"])
			require.Equal(t, "first", nodetest.ObjectAt(got[1], "document")["key"])
		}
		p.Do(t, 200, "DELETE", many+"/key:first", "")
		p.RequireRefusal(t, 400, "invalid_request", "POST", many+"/bulk", `{"documents":{}}`)
		got := p.Do(t, 200, "POST", many+"/bulk", `{"documents":[`+strings.Join(items, ",")+`]}`).List(t)
		require.Len(t, got, 100)
		require.Equal(t, "missing_parameter", got[7]["error"])
		require.Equal(t, "k8", got[8]["document"].(map[string]any)["key"])
		require.Equal(t, "99", p.Do(t, 200, "GET", many, "").Header.Get("X-Total-Count"))
		require.Eventually(t, func() bool {
			return p.Do(t, 200, "GET", many+"?status=ready", "").Header.Get("X-Total-Count") == "99"
		}, time.Minute, 50*time.Millisecond)

		listed := func(query string) (keys []any) {
			for page := range 3 {
				answer := p.Do(t, 200, "GET", fmt.Sprintf("%s?%s&limit=40&page=%d", many, query, page), "")
				require.Equal(t, "99", answer.Header.Get("X-Total-Count"), query)
				keys = append(keys, nodetest.Fields(answer.List(t), "key")...)
			}
			require.Len(t, keys, 99)
			return keys
		}
		byIndex := listed("sort=-updatedAt")
		require.Equal(t, byIndex, listed("tags=t0,t1"), "a filter that no index knows keeps the order")
		require.Equal(t, byIndex, listed("status=ready"))
		require.Equal(t, byIndex, listed("status=ready&language=und"))
		slices.Reverse(byIndex)
		require.Equal(t, byIndex, listed("sort=updatedAt"))
		require.Equal(t, byIndex, listed("sort=updatedAt&tags=t0,t1"))
		require.Len(t, listed("sort=size"), 99)
		require.Empty(t, p.Do(t, 200, "GET", many+"?sourceId=nope", "").List(t))
		require.Empty(t, p.Do(t, 200, "GET", many+"?status=error", "").List(t))

		p.RequireRefusal(t, 422, "validation_failed", "POST", many+"/delete", `{"filters":{}}`)
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", many+"/delete", `{"filters":{"nope":1}}`)), "filters.nope")
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", many+"/delete", `{"filters":{"tags":{"$where":1}}}`)), "filters.tags")
		require.Equal(t, 2.0, p.Do(t, 200, "POST", many+"/delete", `{"ids":["key:k1","key:k2","nope"]}`).JSON(t)["deleted"])
		require.Equal(t, 5.0, p.Do(t, 200, "POST", many+"/delete", `{"filters":{"metadata.n":{"$gte":95}}}`).JSON(t)["deleted"])
		before := len(eventsOf(t, p, "knowledge.documents.deleted"))
		require.Equal(t, 92.0, p.Do(t, 200, "POST", many+"/delete", `{"filters":{},"all":true}`).JSON(t)["deleted"])
		require.Equal(t, "0", p.Do(t, 200, "GET", many, "").Header.Get("X-Total-Count"))
		events := eventsOf(t, p, "knowledge.documents.deleted")
		require.Len(t, events, before+1, "one event for all of them")
		require.InDelta(t, 92, events[0].Payload["count"], 0)
		require.Len(t, events[0].Payload["ids"], 92)
		require.Equal(t, 0.0, p.Do(t, 200, "GET", base+"/many", "").JSON(t)["counts"].(map[string]any)["documents"])
	})

	t.Run("what is said about one changes", func(t *testing.T) {
		doc := p.Do(t, 201, "POST", all+"?wait=30", `{"text":"words","key":"patched","title":"Mine"}`).JSON(t)
		one := all + "/" + doc["id"].(string)
		changed := p.Do(t, 200, "PATCH", one, `{"tags":["new"],"title":null,"language":"fr","metadata":{"a":[1,2]}}`).JSON(t)
		require.Equal(t, "ready", changed["status"])
		require.Equal(t, 1.0, changed["revision"])
		require.Equal(t, "fr", changed["language"])
		require.Empty(t, changed["title"])
		passage := p.Do(t, 200, "GET", one+"/chunks", "").List(t)[0]
		require.Equal(t, []any{"fr", 2.0}, []any{passage["language"], passage["tokens"]})
		p.Do(t, 200, "PATCH", one, `{"language":"cjk"}`)
		passage = p.Do(t, 200, "GET", one+"/chunks", "").List(t)[0]
		require.Equal(t, []any{"cjk", 5.0}, []any{passage["language"], passage["tokens"]})
		p.RequireRefusal(t, 422, "validation_failed", "PATCH", one, `{"expiresAt":"2001-01-01T00:00:00Z"}`)
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", one, `{"key":"x"}`)
		p.Do(t, 200, "PATCH", one, fmt.Sprintf(`{"expiresAt":%q}`, time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)))
		require.Eventually(t, func() bool {
			events := eventsOf(t, p, "knowledge.documents.deleted")
			return len(events) > 0 && events[0].Payload["cause"] == "expired"
		}, time.Minute, 200*time.Millisecond)
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")
	})

	t.Run("one is processed again", func(t *testing.T) {
		doc := p.Do(t, 201, "POST", all+"?wait=30", `{"text":"again and again"}`).JSON(t)
		one := all + "/" + doc["id"].(string)
		require.Equal(t, "pending", p.Do(t, 202, "POST", one+"/reindex", `{}`).JSON(t)["status"])
		require.Eventually(t, func() bool { return p.Do(t, 200, "GET", one, "").JSON(t)["status"] == "ready" }, time.Minute, 20*time.Millisecond)
		require.Equal(t, doc["textHash"], p.Do(t, 200, "GET", one, "").JSON(t)["textHash"])
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/reindex", `{"fetch":true}`)), "no address")
	})

	t.Run("texts are in no event", func(t *testing.T) {
		for _, kind := range []string{"knowledge.documents.added", "knowledge.documents.updated", "knowledge.documents.ready", "knowledge.documents.failed", "knowledge.documents.deleted"} {
			events := eventsOf(t, p, kind)
			require.NotEmpty(t, events, kind)
			body, err := json.Marshal(events)
			require.NoError(t, err)
			require.NotContains(t, string(body), secretWord)
		}
		ready := eventsOf(t, p, "knowledge.documents.ready")[0].Payload
		require.Equal(t, "faq", ready["knowledgeBase"])
		require.Contains(t, ready, "duration")
		require.NotContains(t, ready, "extract")
	})
}

// postFiles sends a form with files: names and contents in turn.
func postFiles(t *testing.T, p nodetest.Workspace, url string, fields map[string]string, files ...string) nodetest.Answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, text := range fields {
		require.NoError(t, form.WriteField(name, text))
	}
	for i := 0; i < len(files); i += 2 {
		part, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, files[i])}})
		require.NoError(t, err)
		_, err = part.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, form.Close())
	return p.Send(t, "POST", url, body.String(), "Content-Type", form.FormDataContentType())
}

// eventsOf returns the events of a type, the newest first.
func eventsOf(t *testing.T, p nodetest.Workspace, kind string) []nodetest.Event {
	t.Helper()
	return p.ListEvents(t, "limit=100&types="+kind).Result.Events
}

func manyFiles(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%d.txt", i), "x")
	}
	return list
}
