// Package suites_test asks services over HTTP to run test suites of automations.
package suites_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

// report is what POST …/tests/run answers.
type report struct {
	Passed, Failed int
	Suites         []struct {
		Slug  string
		Cases []caseReport
	}
}

type caseReport struct {
	Name, Status string
	Differences  []difference
}

type difference struct {
	Path, Message string
	Expected, Got json.RawMessage
}

// run runs tests and requires that so many fail.
func run(t *testing.T, p nodetest.Workspace, failed int, body string) (got report) {
	t.Helper()
	answer := p.Do(t, 200, "POST", p.Path+"/tests/run", body)
	require.NoError(t, json.Unmarshal(answer.Body, &got))
	require.Equal(t, failed, got.Failed, "%s", answer.Body)
	return got
}

// runCase runs one case of the automation of the workspace t and returns how it differs.
func runCase(t *testing.T, p nodetest.Workspace, name, rest string) []difference {
	t.Helper()
	body := `{"suites":["draft"],"documents":{"tests/draft":{"automation":"` + name + `","cases":[{"name":"one"` + rest + `}]}}}`
	answer := p.Do(t, 200, "POST", p.Path+"/tests/run", body)
	var got report
	require.NoError(t, json.Unmarshal(answer.Body, &got), "%s", answer.Body)
	require.Len(t, got.Suites, 1, "%s", answer.Body)
	return got.Suites[0].Cases[0].Differences
}

const charge = `{"slug":"charge","name":"Charge","when":{"endpoint":true},"do":[
	{"fetch":{"method":"post","url":"https://bank.example.com/charges","headers":{"authorization":"Bearer {{secret.bank}}"},"body":{"amount":"{{body.amount}}"},"output":"charge"}},
	{"conditions":{"{{body.amount}} > 100":[{"emit":{"event":"big-charge","payload":{"amount":"{{body.amount}}","at":"{{run.date}}"}}}]}},
	{"run":{"module":"collections","function":"create","parameters":{"collection":"charges","data":{"amount":"{{body.amount}}"}}}},
	{"set":{"name":"global.last","value":"{{body.amount}}"}},
	{"set":{"name":"$http","value":{"status":201}}}],"output":{"id":"{{charge.id}}"}}`

const chargeTest = `{"slug":"charge","automation":"charge","stubs":{"secrets":{"bank":"k3y-of-the-test"},"now":"2026-02-03T04:05:06Z"},"cases":[
	{"name":"a large charge is announced","request":{"method":"POST","body":{"amount":150}},
	 "stubs":{"fetch":[{"method":"POST","url":"https://bank.example.com/*","answer":{"status":201,"body":{"id":"c1"}}}],"collections":{"charges":[{"amount":1}]}},
	 "expect":{"status":201,"output":{"id":"c1"},"events":[{"type":"big-charge","payload":{"amount":150,"at":"2026-02-03T04:05:06.000Z"}}],
	  "fetches":[{"method":"post","url":"https://bank.example.com/charges","headers":{"Authorization":"Bearer k3y-of-the-test"},"body":{"amount":150}}],
	  "contexts":{"global":{"last":150}},"collections":{"charges":[{"amount":1},{"amount":150}]}}},
	{"name":"a small one is not","request":{"body":{"amount":5}},
	 "stubs":{"fetch":[{"url":"https://bank.example.com/charges","answer":{"body":{"id":"c2"}}}]},
	 "expect":{"outputMatches":{"id":{"$regex":"^c"}},"events":[]}},
	{"name":"a bank that does not answer","request":{"body":{"amount":5}},"stubs":{"fetch":[{"url":"https://bank.example.com/charges","error":"timeout"}]},
	 "expect":{"status":504,"error":"FetchError"}}]}`

func TestSuites(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	nobody, stranger := p.As(nil), p.As(s.NewUser(t, "stranger"))
	all := p.Path + "/tests"
	one := all + "/charge"
	p.Do(t, 201, "POST", p.Path+"/automations", charge)
	p.Do(t, 201, "POST", all, chargeTest)

	t.Run("a suite passes, and nothing of it is real", func(t *testing.T) {
		got := run(t, p, 0, `{}`)
		require.Equal(t, 3, got.Passed)
		require.Equal(t, "charge", got.Suites[0].Slug)
		require.Empty(t, p.ListEvents(t, "types=big-charge,runtime.automations.executed").Result.Events)
		require.Empty(t, p.Do(t, 200, "GET", p.Path+"/contexts/global", "").JSON(t)["context"])
		require.Equal(t, 3, run(t, p, 0, `{"automations":["charge"]}`).Passed)
		require.Equal(t, 1, run(t, p, 0, `{"cases":"small"}`).Passed)
	})
	t.Run("differences are told with their paths", func(t *testing.T) {
		got := run(t, p, 2, `{"documents":{"automations/charge":`+draftOf(`"{{charge.id}}"`, `"x{{charge.id}}"`)+`}}`)
		require.Equal(t, []difference{{"output.id", "another value", json.RawMessage(`"c1"`), json.RawMessage(`"xc1"`)}}, got.Suites[0].Cases[0].Differences)
		require.Equal(t, "output.id", got.Suites[0].Cases[1].Differences[0].Path)
		run(t, p, 0, `{}`)
	})
	t.Run("a request without a stub says how to add one", func(t *testing.T) {
		found := runCase(t, p, "charge", `,"request":{"body":{"amount":1}},"stubs":{"secrets":{"bank":"x"}}`)
		require.Equal(t, "stubs.fetch", found[0].Path)
		require.Equal(t, "no stub answers POST https://bank.example.com/charges: add one like this", found[0].Message)
		found = runCase(t, p, "charge", `,"request":{"body":{"amount":1}}`)
		require.Contains(t, found[0].Message, "the secret bank has no stub")
		require.Contains(t, runCase(t, p, "chrge", "")[0].Message, `did you mean "charge"?`)
	})
	t.Run("faults are told with their fields", func(t *testing.T) {
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"cases":[]}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"automation":"charge","cases":[{"name":"x","expect":{"outptu":1}}]}`)
		for field, body := range map[string]string{
			"cases[0].stubs.now":            `{"name":"x","stubs":{"now":"noon"}}`,
			"cases[0].expect.status":        `{"name":"x","expect":{"status":"fine"}}`,
			"cases[0].expect.outputMatches": `{"name":"x","expect":{"outputMatches":{"a":{"$nope":1}}}}`,
			"cases[0].stubs.fetch[0]":       `{"name":"x","stubs":{"fetch":[{"url":"https://a.example.com"}]}}`,
			"cases[0]":                      `{"name":"x","input":{},"event":{"type":"e"}}`,
			"cases[1].name":                 `{"name":"x"},{"name":"x"}`,
		} {
			whole := `{"automation":"charge","cases":[` + body + `]}`
			require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, whole)), `"`+field+`"`, body)
		}
		p.RequireRefusal(t, 422, "validation_failed", "POST", all+"/run", `{"documents":{"tests/x":{"automation":"charge","cases":[{"name":"x","stubs":{"now":"noon"}}]}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all+"/run", `{"documents":{"pages/x":{}}}`)
		p.RequireRefusal(t, 404, "resource_not_found", "POST", all+"/run", `{"suites":["nope"]}`)
	})
	t.Run("it is a document like any other", func(t *testing.T) {
		text := p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType)
		require.Contains(t, string(text.Body), "automation: charge\n")
		require.Equal(t, "charge", nodetest.ObjectAt(p.Do(t, 200, "GET", p.Path, "").JSON(t), "tests")["charge"].(map[string]any)["automation"])
		p.Do(t, 200, "PUT", one, string(text.Body), "Content-Type", nodetest.YAMLType)
		p.Do(t, 201, "POST", all, `{"slug":"more/one","automation":"charge"}`)
		p.Do(t, 200, "PATCH", all+"/more/one", `{"slug":"other"}`)
		p.Do(t, 200, "DELETE", all+"/other", "")
		require.Contains(t, nodetest.TypesOf(p.ListEvents(t, "types=workspaces.tests.deleted").Result.Events), "workspaces.tests.deleted")
	})
	t.Run("is not for everybody", func(t *testing.T) {
		for _, path := range []string{all, one} {
			nobody.RequireRefusal(t, 401, "missing_token", "GET", path, "")
			stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", path, "")
		}
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all, `{"automation":"charge"}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all+"/run", `{}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all+"/check", `{"automation":"charge","document":{}}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all+"/fromRuns", `{"automation":"charge"}`)
	})
}

// draftOf returns the automation charge with a part replaced.
func draftOf(before, after string) string { return strings.Replace(charge, before, after, 1) }

func TestSimulatedSurroundings(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"child","name":"Child","do":[{"emit":{"event":"child.ran","payload":{"n":"{{n}}"}}}],"output":{"twice":"{% {{n}} * 2 %}"}}`)
	for slug, doc := range map[string]string{
		"waits":   `"do":[{"emit":{"event":"asked"}},{"wait":{"oneOf":[{"event":"answered","filters":{"payload.n":2}}],"timeout":60,"output":"w"}},{"wait":{"timeout":5}},{"set":{"name":"d","value":"{{run.date}}"}}],"output":{"n":"{{w.payload.n}}","d":"{{d}}"}`,
		"random":  `"do":[{"run":{"module":"crypto","function":"randomUUID","output":"u"}},{"set":{"name":"r","value":"{% rand(0, 1000000) %}"}}],"output":{"u":"{{u}}","r":"{{r}}"}`,
		"calls":   `"do":[{"child":{"n":4,"output":"c"}},{"runWorkflow":{"workflow":"child","parameters":{"n":1},"wait":false}},{"all":[{"emit":{"event":"a"}},{"emit":{"event":"b"}}]}],"output":"{{c}}"`,
		"mails":   `"do":[{"Mail.send":{"to":"ada","output":"r"}}],"output":"{{r}}"`,
		"events":  `"when":{"events":["go"]},"do":[],"output":{"type":"{{type}}","p":"{{payload.x}}","u":"{{user.id}}"}`,
		"endless": `"do":[{"repeat":{"until":"{% false %}","do":[{"set":{"name":"x","value":1}}]}}]`,
		"limited": `"do":[{"repeat":{"until":3,"do":[{"rateLimit":{"name":"l","limit":2,"window":60,"output":"r"}},{"set":{"name":"ok[]","value":"{{r.ok}}"}}]}}],"output":"{{ok}}"`,
		"secret":  `"do":[{"run":{"module":"secrets","function":"get","parameters":{"name":"k"},"output":"ref"}},{"fetch":{"url":"https://a.example.com","headers":{"x-key":"{{ref}}"},"output":"r"}},{"emit":{"event":"e","payload":{"k":"{{secret.k}}"}}}],"output":"{{r}}"`,
		"chunks":  `"when":{"endpoint":true},"do":[{"set":{"name":"$http.chunk","value":{"i":1}}},{"set":{"name":"$http.chunk","value":{"i":2}}}],"output":{"done":true}`,
		"sse":     `"do":[{"fetch":{"url":"https://a.example.com","output":"r"}},{"repeat":{"on":"{{r.body}}","do":[{"set":{"name":"all[]","value":"{{item.chunk.data}}"}}]}}],"output":"{{all}}"`,
		"rows":    `"do":[{"run":{"module":"collections","function":"findMany","parameters":{"collection":"c","query":{"n":{"$gte":2}}},"output":"r"}}],"output":{"n":"{{r.length}}"}`,
	} {
		p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"`+slug+`","name":"`+slug+`",`+doc+`}`)
	}
	for name, c := range map[string]struct{ slug, rest string }{
		"a wait gets the event that fits, and time passes": {"waits", `,"stubs":{"events":[{"type":"answered","payload":{"n":1}},{"type":"answered","payload":{"n":2}}]},"expect":{"output":{"n":2,"d":"2026-01-01T00:00:05.000Z"},"events":[{"type":"asked"}]}`},
		"a wait without an event times out":                {"waits", `,"expect":{"output":{"d":"2026-01-01T00:01:05.000Z"}}`},
		"what is called runs":                              {"calls", `,"expect":{"output":{"twice":8},"events":[{"type":"child.ran","payload":{"n":4}},{"type":"child.ran","payload":{"n":1}},{"type":"a"},{"type":"b"}]}`},
		"what is called may be stubbed":                    {"calls", `,"stubs":{"automations":[{"automation":"child","arguments":{"n":4},"output":{"twice":"{{no}}"}}]},"expect":{"output":{"twice":"{{no}}"},"events":[{"type":"child.ran","payload":{"n":1}},{"type":"a"},{"type":"b"}]}`},
		"also what is not waited for":                      {"calls", `,"stubs":{"automations":[{"automation":"child","times":2,"output":3}]},"expect":{"output":3,"events":[{"type":"a"},{"type":"b"}]}`},
		"a stub of a call may fail":                        {"calls", `,"stubs":{"automations":[{"automation":"child","error":{"error":"NoChild","message":"away"}}]},"expect":{"error":{"error":"NoChild","message":"away"},"events":[]}`},
		"what is not there may be stubbed":                 {"mails", `,"stubs":{"automations":[{"automation":"Mail.send","output":"sent"}]},"expect":{"output":"sent"}`},
		"an event starts it":                               {"events", `,"event":{"type":"go","payload":{"x":1}},"user":{"id":"u1"},"expect":{"output":{"type":"go","p":1,"u":"u1"}}`},
		"a limit counts":                                   {"limited", `,"expect":{"output":[true,true,false]}`},
		"a secret is that of the test, and is redacted":    {"secret", `,"stubs":{"secrets":{"k":"hunter22"},"fetch":[{"url":"https://a.example.com","answer":{"body":"yes"}}]},"expect":{"output":"yes","events":[{"type":"e","payload":{"k":"REDACTED"}}],"fetches":[{"headers":{"x-key":"hunter22"}}]}`},
		"chunks are collected":                             {"chunks", `,"request":{},"expect":{"chunks":[{"i":1},{"i":2}],"output":{"done":true}}`},
		"a stream is read":                                 {"sse", `,"stubs":{"fetch":[{"url":"https://a.example.com","answer":{"headers":{"content-type":"text/event-stream"},"body":"data: a\n\ndata: {\"k\":1}\n\n"}}]},"expect":{"output":[["a"],[{"k":1}]]}`},
		"a module may be stubbed":                          {"rows", `,"stubs":{"modules":[{"module":"collections","function":"findMany","parameters":{"collection":"c"},"result":[1,2,3]}]},"expect":{"output":{"n":3}}`},
		"rows may be given":                                {"rows", `,"stubs":{"collections":{"c":[{"n":1},{"n":2}]}},"expect":{"output":{"n":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, runCase(t, p, c.slug, c.rest))
		})
	}
	t.Run("chance is the same every time", func(t *testing.T) {
		first := runCase(t, p, "random", `,"expect":{"output":null}`)
		require.NotEmpty(t, first)
		require.Equal(t, first, runCase(t, p, "random", `,"expect":{"output":null}`))
		require.NotEqual(t, first, runCase(t, p, "random", `,"stubs":{"random":2},"expect":{"output":null}`))
	})
	t.Run("what never ends is stopped", func(t *testing.T) {
		require.Contains(t, runCase(t, p, "endless", "")[0].Message, "ExecutionTimeoutError")
	})
}

func TestCasesOfRecordedRuns(t *testing.T) {
	t.Parallel()
	bank := nodetest.NewRemoteServer(t)
	s := nodetest.NewServiceWithAccounts(t, "RUN_RECORDING=all", "FETCH_ALLOWED_HOSTS=127.0.0.1", "EGRESS_ALLOW_PRIVATE=yes").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"bank":{"value":"hunter22"}}`)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"t","name":"T","do":[
		{"fetch":{"url":"`+bank.URL+`/json","headers":{"x-key":"{{secret.bank}}"},"output":"r"}},
		{"run":{"module":"collections","function":"create","parameters":{"collection":"c","data":{"n":"{{n}}"}},"output":"row"}},
		{"emit":{"event":"done","payload":{"n":"{{n}}","key":"{{secret.bank}}","id":"{{row.insertedId}}"}}}],"output":{"n":"{{n}}","r":"{{r}}"}}`)
	for _, n := range []string{"1", "2", "2"} {
		p.RunRecorded(t, 200, `{"n":`+n+`}`)
	}

	t.Run("cases have no secrets, and pass", func(t *testing.T) {
		got := p.Do(t, 200, "POST", p.Path+"/tests/fromRuns", `{"automation":"t","runs":50}`)
		require.NotContains(t, string(got.Body), "hunter22")
		var made struct {
			Test    json.RawMessage
			Cases   int
			Skipped []struct{ Reason string }
		}
		require.NoError(t, json.Unmarshal(got.Body, &made))
		require.Equal(t, 3, made.Cases, "%s", got.Body) // their rows have other ids
		p.Do(t, 201, "POST", p.Path+"/tests", string(made.Test))
		require.Equal(t, 3, run(t, p, 0, `{}`).Passed)
		require.Contains(t, string(made.Test), `"secrets":{"bank":"REDACTED"}`)
	})
	t.Run("a draft is compared with what is saved", func(t *testing.T) {
		before := p.Do(t, 200, "GET", p.Path+"/automations/t", "")
		check := func(draft string) (out struct {
			Same, Different, Skipped int
			Runs                     []struct{ Differences []difference }
		}) {
			got := p.Do(t, 200, "POST", p.Path+"/tests/check", `{"automation":"t","document":`+draft+`}`)
			require.NotContains(t, string(got.Body), "hunter22")
			require.NoError(t, json.Unmarshal(got.Body, &out))
			return out
		}
		require.Equal(t, 3, check(string(before.Body)).Same)
		moved := strings.Replace(string(before.Body), `"do":[`, `"do":[{"comment":"moved"},`, 1)
		require.Equal(t, 3, check(moved).Same, "instructions may move")
		other := check(strings.Replace(string(before.Body), `"event":"done"`, `"event":"ended"`, 1))
		require.Equal(t, 3, other.Different)
		require.Equal(t, []difference{{"events[0].type", "another event", json.RawMessage(`"done"`), json.RawMessage(`"ended"`)}}, other.Runs[0].Differences)
		shown := check(strings.Replace(string(before.Body), `"r":"{{r}}"`, `"r":"{{secret.bank}}"`, 1))
		require.Equal(t, json.RawMessage(`"REDACTED"`), shown.Runs[0].Differences[0].Got)
		require.Len(t, p.ListEvents(t, "types=done").Result.Events, 3, "nothing was emitted")
		text, err := json.Marshal("slug: t\ndo:\n  - emit:\n      event: ended\n")
		require.NoError(t, err)
		require.Equal(t, 3, check(string(text)).Different, "a draft may be the text of its file")
		suite := run(t, p, 0, `{"suites":["draft"],"documents":{"tests/draft":"automation: t\ncases:\n  - name: none\n    input: {n: 3}\n    expect:\n      events: []\n","automations/t":"slug: t\ndo: []\n"}}`)
		require.Equal(t, 1, suite.Passed)
		refused := p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/tests/run", `{"documents":{"automations/t":"do: [\n"}}`)
		require.NotEmpty(t, refused["line"])
		refused = p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/tests/run", `{"documents":{"tests/x":"automation: t\ncases:\n  - name: 3\n"}}`)
		require.EqualValues(t, 3, refused["errors"].([]any)[0].(map[string]any)["line"])
	})
	p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/tests/check", `{"automation":"nope","document":{}}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/tests/check", `{"automation":"t"}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/tests/fromRuns", `{"automation":"t","runs":0}`)
}
