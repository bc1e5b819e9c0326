package knowledge_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// step is an instruction that calls a function of a module, and keeps its result or its error.
func step(module, function, parameters, output string) string {
	return `{"run":{"module":"` + module + `","function":"` + function + `","parameters":` + parameters + `,"onError":"continue","output":"` + output + `"}}`
}

// addAutomation saves an automation of some steps; more has further members of it.
func addAutomation(t *testing.T, p nodetest.Workspace, slug, more string, steps ...string) {
	t.Helper()
	p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"`+slug+`","name":"`+slug+`",`+more+`"do":[`+strings.Join(steps, ",")+`]}`)
}

// awaitPieces waits until the pieces that were emitted are a text together, in the order of their numbers.
func awaitPieces(t *testing.T, p nodetest.Workspace, event, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		pieces := map[int]string{}
		for _, e := range p.ListEvents(t, "limit=1000&types="+event).Result.Events {
			pieces[int(e.Payload["index"].(float64))] = e.Payload["text"].(string)
		}
		joined := ""
		for i := range len(pieces) {
			joined += pieces[i]
		}
		return joined == text
	}, 2*time.Minute, 50*time.Millisecond)
}

// Automations add documents, search and ask, with the rights of the workspace or of the session.
func TestKnowledgeOfAutomations(t *testing.T) {
	t.Parallel()
	fake, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000", "UPLOADS_MAX_SIZE=2kb")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	stranger := p.As(s.NewUser(t, "stranger"))
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"PIN":{"value":"canary-4711-secret"}}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"Other","slug":"other"}`)
	run := func(who nodetest.Workspace, slug, payload string) map[string]any {
		t.Helper()
		return who.Do(t, 200, "POST", p.Path+"/webhooks/"+slug, payload).JSON(t)
	}

	t.Run("a document is added, found and cited", func(t *testing.T) {
		addAutomation(t, p, "learn", `"when":{"endpoint":true},"output":{"added":"{{added}}","found":"{{found}}","answer":"{{answer}}"},`,
			step("knowledge", "addDocument", `{"knowledgeBase":"faq","text":"Paris is the capital of France. {{secret.PIN}}","name":"paris.md","key":"paris","tags":["geo"],"wait":30}`, "added"),
			step("knowledge", "search", `{"knowledgeBase":"faq","query":"capital"}`, "found"),
			step("knowledge", "ask", `{"knowledgeBase":"faq","question":"What is the capital of France?","stream":{"event":"piece","options":{"persist":true}}}`, "answer"))
		got := run(p, "learn", `{}`)
		added := got["added"].(map[string]any)
		require.Equal(t, []any{"ready", "paris", "text", 1.0}, []any{added["status"], added["key"], added["source"], added["revision"]})
		require.InDelta(t, 1, got["found"].(map[string]any)["total"], 0)
		answer := got["answer"].(map[string]any)
		require.Equal(t, []any{"Paris is the capital of [1]", true}, []any{answer["answer"], answer["grounded"]})
		require.Equal(t, added["id"], answer["citations"].([]any)[0].(map[string]any)["documentId"])

		awaitPieces(t, p, "piece", answer["answer"].(string))
		told := p.AwaitEvents(t, 1, "knowledge.documents.added", "")[0]
		require.Equal(t, []any{"automation", "learn", 1.0}, []any{told.Payload["cause"], told.Source["automationSlug"], told.Source["automationDepth"]})
		p.AwaitEvents(t, 1, "knowledge.documents.ready", "source.automationDepth=1")
		text := p.Do(t, 200, "GET", p.Path+"/knowledgeBases/faq/documents/key:paris/text", "")
		require.Contains(t, string(text.Body), "Paris")
		require.NotContains(t, string(text.Body), "canary")
	})
	t.Run("a file, a list and deletions", func(t *testing.T) {
		file := base64.StdEncoding.EncodeToString([]byte("# Berlin\n\nThe capital of Germany."))
		addAutomation(t, p, "files", `"when":{"endpoint":true},"output":["{{added}}","{{list}}","{{one}}","{{none}}","{{gone}}","{{again}}","{{rest}}"],`,
			step("knowledge", "addDocument", `{"knowledgeBase":"other","file":"`+file+`","name":"berlin.md","key":"b","metadata":{"n":1},"wait":30}`, "added"),
			step("knowledge", "addDocument", `{"knowledgeBase":"other","text":"Rome","name":"rome"}`, "rome"),
			step("knowledge", "listDocuments", `{"knowledgeBase":"other","filters":{"metadata.n":1}}`, "list"),
			step("knowledge", "getDocument", `{"knowledgeBase":"other","key":"b"}`, "one"),
			step("knowledge", "deleteDocument", `{"knowledgeBase":"other","key":"b"}`, "gone"),
			step("knowledge", "getDocument", `{"knowledgeBase":"other","key":"b"}`, "none"),
			step("knowledge", "deleteDocument", `{"knowledgeBase":"other","id":"{{added.id}}"}`, "again"),
			step("knowledge", "deleteDocument", `{"knowledgeBase":"other","filters":{"name":"rome"}}`, "rest"))
		var got []map[string]any
		var raw []json.RawMessage
		require.NoError(t, json.Unmarshal(p.Do(t, 200, "POST", p.Path+"/webhooks/files", `{}`).Body, &raw))
		for i, text := range raw {
			one := map[string]any{}
			if i != 1 && string(text) != "null" {
				require.NoError(t, json.Unmarshal(text, &one), string(text))
			}
			got = append(got, one)
		}
		require.Equal(t, []any{"ready", "file", "Berlin"}, []any{got[0]["status"], got[0]["source"], got[0]["title"]})
		require.Contains(t, string(raw[1]), got[0]["id"])
		require.Equal(t, got[0]["id"], got[2]["id"])
		require.Empty(t, got[3])
		require.Equal(t, []any{1.0, 0.0, 1.0}, []any{got[4]["deleted"], got[5]["deleted"], got[6]["deleted"]})
		p.AwaitEvents(t, 1, "knowledge.documents.deleted", "payload.cause=automation&payload.key=b")
		require.Empty(t, p.Do(t, 200, "GET", p.Path+"/knowledgeBases/other/documents", "").List(t))
	})
	t.Run("faults have a name and a reason", func(t *testing.T) {
		for parameters, want := range map[string]string{
			`"search","parameters":{"query":"x","knowledgeBase":"nope"}`:                                                  `KnowledgeError resource_not_found`,
			`"search","parameters":{"query":"-a","knowledgeBase":"faq"}`:                                                  `KnowledgeError validation_failed`,
			`"search","parameters":{"query":"x"}`:                                                                         `InvalidInstructionError `,
			`"search","parameters":{"query":"x","knowledgeBase":"faq","nope":1}`:                                          `InvalidInstructionError `,
			`"search","parameters":{"query":"x","knowledgeBase":"faq","as":"me"}`:                                         `InvalidInstructionError `,
			`"search","parameters":{"query":"x","knowledgeBase":"faq","stream":{"event":"e"}}`:                            `InvalidInstructionError `,
			`"ask","parameters":{"question":"capital?","knowledgeBase":"faq","stream":{}}`:                                `InvalidInstructionError `,
			`"ask","parameters":{"question":"capital fail:401","knowledgeBase":"faq"}`:                                    `ModelError model_auth_failed`,
			`"ask","parameters":{"question":"capital?","model":"nope","knowledgeBase":"faq"}`:                             `KnowledgeError validation_failed`,
			`"addDocument","parameters":{"knowledgeBase":"faq"}`:                                                          `KnowledgeError missing_parameter`,
			`"addDocument","parameters":{"knowledgeBase":"faq","text":"a","wait":31}`:                                     `InvalidInstructionError `,
			`"addDocument","parameters":{"knowledgeBase":"faq","file":"?","name":"x"}`:                                    `KnowledgeError validation_failed`,
			`"addDocument","parameters":{"knowledgeBase":"faq","file":"YQ=="}`:                                            `KnowledgeError validation_failed`,
			`"addDocument","parameters":{"knowledgeBase":"faq","file":"YQ==","text":"a","name":"x"}`:                      `KnowledgeError validation_failed`,
			`"addDocument","parameters":{"knowledgeBase":"faq","fileId":"nope"}`:                                          `KnowledgeError validation_failed`,
			`"addDocument","parameters":{"knowledgeBase":"faq","name":"x","file":"` + strings.Repeat("YWFh", 1000) + `"}`: `KnowledgeError too_large`,
			`"getDocument","parameters":{"knowledgeBase":"faq"}`:                                                          `InvalidInstructionError `,
			`"deleteDocument","parameters":{"knowledgeBase":"faq","filters":{}}`:                                          `KnowledgeError validation_failed`,
			`"crawl","parameters":{"knowledgeBase":"faq","source":"nope"}`:                                                `KnowledgeError resource_not_found`,
			`"crawl","parameters":{"knowledgeBase":"faq"}`:                                                                `InvalidInstructionError `,
		} {
			slug := p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Faulty","do":[{"run":{"module":"knowledge","onError":"continue","output":"r","function":`+parameters+`}}],"output":"{{r.error}} {{r.details.reason}}"}`).JSON(t)["slug"].(string)
			require.Contains(t, string(p.Do(t, 200, "POST", p.Path+"/test/"+slug, `{}`).Body), want, parameters)
		}
		addAutomation(t, p, "uncaught", `"when":{"endpoint":true},`, `{"run":{"module":"knowledge","function":"ask","parameters":{"knowledgeBase":"faq","question":"capital fail:401"}}}`)
		refused := p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/webhooks/uncaught", `{}`)
		require.Equal(t, "ModelError", refused["name"])
	})
	t.Run("as the session", func(t *testing.T) {
		for function, parameters := range map[string]string{
			"search": `{"knowledgeBase":"faq","query":"capital","as":"session"}`, "ask": `{"knowledgeBase":"faq","question":"capital","as":"session"}`,
			"addDocument": `{"knowledgeBase":"faq","text":"x","as":"session"}`, "getDocument": `{"knowledgeBase":"faq","key":"paris","as":"session"}`,
			"listDocuments": `{"knowledgeBase":"faq","as":"session"}`, "deleteDocument": `{"knowledgeBase":"faq","key":"paris","as":"session"}`,
			"crawl": `{"knowledgeBase":"faq","source":"nope","as":"session"}`,
		} {
			addAutomation(t, p, "as-"+strings.ToLower(function), `"when":{"endpoint":true},"output":{"error":"{{r.error}}","reason":"{{r.details.reason}}"},`, step("knowledge", function, parameters, "r"))
			require.Equal(t, map[string]any{"error": "KnowledgeError", "reason": "permission_denied"}, run(stranger, "as-"+strings.ToLower(function), `{}`), function)
		}
		require.NotContains(t, run(p, "as-search", `{}`), "error")
	})
	t.Run("a replay leaves nothing", func(t *testing.T) {
		addAutomation(t, p, "t", `"output":{"r":"{{answer.answer}} {{added.id}}"},`,
			step("knowledge", "addDocument", `{"knowledgeBase":"other","text":"Oslo is the capital of Norway."}`, "added"),
			step("knowledge", "ask", `{"knowledgeBase":"faq","question":"What is the capital of France?"}`, "answer"))
		recorded := p.RunRecorded(t, 200, `{}`)
		calls := len(fake.Calls())
		replayed := recorded.Replay(t, `{}`)
		require.Empty(t, replayed.Differences, "%+v", replayed)
		require.Len(t, fake.Calls(), calls)
		require.Len(t, p.Do(t, 200, "GET", p.Path+"/knowledgeBases/other/documents", "").List(t), 1)
	})
	t.Run("an agent's message in pieces", func(t *testing.T) {
		p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help."}`)
		addAutomation(t, p, "send", `"when":{"endpoint":true},"output":"{{m}}",`, step("agents", "send", `{"agent":"helper","text":"say:one two three","stream":{"event":"said","options":{"async":true}}}`, "m"))
		require.Equal(t, "one two three", run(p, "send", `{}`)["text"])
		awaitPieces(t, p, "said", "one two three")
		addAutomation(t, p, "send-as", `"when":{"endpoint":true},"output":{"error":"{{m.error}}","reason":"{{m.details.reason}}"},`, step("agents", "send", `{"agent":"helper","text":"say:x","as":"session"}`, "m"))
		require.Equal(t, map[string]any{"error": "KnowledgeError", "reason": "permission_denied"}, run(stranger, "send-as", `{}`))
	})
	nodetest.RequireSecretsHidden(t, p, "canary-4711-secret")
}

// An app instance uses the knowledge bases and the agents that its config names.
func TestKnowledgeOfApps(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	s := nodetest.NewOwnedService(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...)
	app, p := s.NewWorkspace(t), s.NewWorkspace(t)
	for slug, steps := range map[string]string{
		"look": step("knowledge", "search", `{"knowledgeBase":"{{body.name}}","query":"capital"}`, "r"),
		"put":  step("knowledge", "addDocument", `{"knowledgeBase":"faq","fileId":"{{body.name}}"}`, "r"),
		"send": step("agents", "send", `{"agent":"{{body.name}}","text":"say:hello"}`, "r"),
	} {
		addAutomation(t, app, slug, `"when":{"endpoint":true},"output":"{{r.error}}{{r.total}}{{r.text}}",`, steps)
	}
	app.PublishApp(t, "librarian")
	for _, slug := range []string{"faq", "hidden"} {
		p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"`+slug+`","slug":"`+slug+`"}`)
		p.Do(t, 201, "POST", p.Path+"/knowledgeBases/"+slug+"/documents?wait=30", `{"text":"The capital of France is Paris.","name":"paris"}`)
		p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"`+slug+`","slug":"`+slug+`","instructions":"You help."}`)
	}
	p.InstallApp(t, "librarian", "lib", `,"config":{"knowledgeBases":["faq"],"agents":["faq"]}`)
	p.InstallApp(t, "librarian", "none", "")
	for path, want := range map[string][2]string{
		"lib.look": {"1", "ObjectNotFoundError"}, "lib.send": {"hello", "ObjectNotFoundError"}, "lib.put": {"ObjectNotFoundError", "ObjectNotFoundError"},
		"none.look": {"ObjectNotFoundError", "ObjectNotFoundError"}, "none.send": {"ObjectNotFoundError", "ObjectNotFoundError"},
	} {
		for i, slug := range []string{"faq", "hidden"} {
			require.Equal(t, want[i], string(p.CallEndpoint(t, 200, "POST", path, `{"name":"`+slug+`"}`).Body), "%s %s", path, slug)
		}
	}
}

// Runs that cause each other through documents and messages end.
func TestKnowledgeLoopsEnd(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	const depth = 4
	s := nodetest.NewOwnedService(t, append(env, "RATE_LIMIT_ASK_MODELS=1000", "MAXIMUM_SUCCESSIVE_CALLS=4", "DOWNLOAD_DELAY=0", "REQUEST_QUEUES_POLLING_INTERVAL=0.2")...)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<title>Start</title><main><p>The start page of the manual.</p></main>`)
	}))
	t.Cleanup(site.Close)
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		p := s.NewWorkspace(t)
		p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
		addAutomation(t, p, "more", `"when":{"events":["knowledge.documents.ready"]},`, step("knowledge", "addDocument", `{"knowledgeBase":"faq","text":"after {{payload.id}}"}`, "r"))
		p.Do(t, 201, "POST", p.Path+"/knowledgeBases/faq/documents", `{"text":"the first"}`)
		p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError")
		for i, e := range p.AwaitEvents(t, depth+2, "knowledge.documents.ready", "") {
			found, _ := e.Source["automationDepth"].(float64)
			require.InDelta(t, i, found, 0)
		}
		require.Len(t, p.Do(t, 200, "GET", p.Path+"/knowledgeBases/faq/documents", "").List(t), depth+2)
	})
	t.Run("crawls", func(t *testing.T) {
		t.Parallel()
		p := s.NewWorkspace(t)
		p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq","sources":{"manual":{"urls":["`+site.URL+`/"]}}}`)
		addAutomation(t, p, "crawl", `"when":{"endpoint":true,"events":["knowledge.crawls.completed"]},"output":"{{r}}",`, step("knowledge", "crawl", `{"knowledgeBase":"faq","source":"manual"}`, "r"))
		begun := p.Do(t, 200, "POST", p.Path+"/webhooks/crawl", `{}`).JSON(t)
		require.Regexp(t, "^op_", begun["operationId"])
		p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError")
		ended := p.AwaitEvents(t, depth+1, "knowledge.crawls.completed", "")
		require.Equal(t, begun["operationId"], ended[0].Payload["operationId"])
		for i, e := range ended {
			require.InDelta(t, i+1, e.Source["automationDepth"], 0)
		}
		added := p.AwaitEvents(t, 1, "knowledge.documents.added", "")[0]
		require.Equal(t, []any{"crawl", 1.0}, []any{added.Payload["cause"], added.Source["automationDepth"]})
	})
	t.Run("messages", func(t *testing.T) {
		t.Parallel()
		p := s.NewWorkspace(t)
		p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help."}`)
		addAutomation(t, p, "more", `"when":{"events":["agents.messages.completed"]},`, step("agents", "send", `{"agent":"helper","text":"say:more"}`, "r"))
		p.Do(t, 200, "POST", p.Path+"/agents/helper/messages", `{"text":"say:first"}`)
		p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError")
		p.AwaitEvents(t, depth+2, "agents.messages.completed", "")
	})
}

// Whatever starts a run, `as: session` has the rights of who caused it; a schedule has nobody's.
func TestAsTheSessionOfEventsAndSchedules(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	clock := &nodetest.Clock{}
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...)
	s.Clock = clock.Now
	s.Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	stranger := p.As(s.NewUser(t, "stranger"))
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases/faq/documents?wait=30", `{"text":"The capital of France is Paris.","key":"paris"}`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help."}`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Inner","instructions":"You help."}`)
	p.Do(t, 200, "POST", p.Path+"/agents/helper/publish", "")
	p.Do(t, 200, "POST", p.Path+"/agents/helper/permissions", `{"target":{"email":"stranger@example.org"},"permissions":{"policies":{"execute":true}}}`)
	key := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":"execute","subject":"agents","conditions":{"slug":"helper"}}]}`).JSON(t)["apiKey"].(string)
	byKey := p.As(http.Header{"X-Svc-Api-Key": {key}})
	calls := map[string]string{
		"search": `{"knowledgeBase":"faq","query":"capital"`, "ask": `{"knowledgeBase":"faq","question":"capital"`, "listDocuments": `{"knowledgeBase":"faq"`,
		"addDocument": `{"knowledgeBase":"faq","text":"x","key":"added"`, "deleteDocument": `{"knowledgeBase":"faq","key":"added"`,
	}
	for name, when := range map[string]string{
		"heard": `"when":{"events":["agents.messages.completed"]},`, "ticked": `"when":{"schedules":["* * * * *"]},`,
	} {
		var steps []string
		for _, function := range []string{"search", "ask", "listDocuments", "addDocument", "deleteDocument"} {
			steps = append(steps, step("knowledge", function, calls[function]+`,"as":"session"}`, function))
		}
		steps = append(steps, step("agents", "send", `{"agent":"inner","text":"say:x","as":"session"}`, "send"), step("knowledge", "search", `{"knowledgeBase":"faq","query":"capital"}`, "workspace"),
			`{"emit":{"event":"`+name+`.done","payload":{"by":"{{user.email}}","reasons":["{{search.details.reason}}","{{ask.details.reason}}","{{listDocuments.details.reason}}","{{addDocument.details.reason}}","{{deleteDocument.details.reason}}","{{send.details.reason}}"],`+
				`"found":"{{search.total}}","status":"{{send.status}}","workspace":"{{workspace.total}}"}}}`)
		if name == "heard" {
			steps = []string{`{"conditions":{"{{payload.agent}} == \"helper\"":[` + strings.Join(steps, ",") + `]}}`}
		}
		addAutomation(t, p, name, when, steps...)
	}
	p.AwaitEvents(t, 1, "runtime.schedules.created", "")
	refused := []any{"permission_denied", "permission_denied", "permission_denied", "permission_denied", "permission_denied", "permission_denied"}

	for i, who := range []nodetest.Workspace{stranger, byKey} {
		who.Do(t, 200, "POST", p.Path+"/agents/helper/messages", `{"text":"say:hello"}`)
		told := p.AwaitEvents(t, i+1, "heard.done", "")[i].Payload
		require.Equal(t, refused, told["reasons"], i)
		require.InDelta(t, 1, told["workspace"], 0, "the workspace may")
	}
	p.Do(t, 200, "POST", p.Path+"/agents/helper/messages", `{"text":"say:hello"}`)
	own := p.AwaitEvents(t, 3, "heard.done", "")[2].Payload
	require.InDelta(t, 1, own["found"], 0, "%v", own)
	require.Equal(t, "completed", own["status"])

	clock.NextMinute()
	require.Equal(t, refused, p.AwaitEvents(t, 1, "ticked.done", "")[0].Payload["reasons"])
	p.Do(t, 200, "DELETE", p.Path+"/automations/ticked", "")
}
