package knowledge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// searchAnswer is what a search answers.
type searchAnswer struct {
	Total    int      `json:"total"`
	Mode     string   `json:"mode"`
	Fuzzy    bool     `json:"fuzzy"`
	Warnings []string `json:"warnings"`
	Results  []struct {
		Document struct {
			ID, Key, Name, KnowledgeBase string
			Metadata                     map[string]any
		} `json:"document"`
		Score     float64            `json:"score"`
		Scores    map[string]float64 `json:"scores"`
		TitleHTML string             `json:"titleHtml"`
		Passages  []struct {
			Chunk int
			Text  string
			HTML  string
		} `json:"passages"`
	} `json:"results"`
	Facets map[string]struct {
		Buckets []struct {
			Key   any
			Count int
		}
		Other, Missing int
	} `json:"facets"`
}

func (a searchAnswer) names() (names []string) {
	names = []string{}
	for _, r := range a.Results {
		names = append(names, r.Document.Name)
	}
	return names
}

// search searches a base, or all of them when base is "".
func search(t *testing.T, p nodetest.Workspace, base, body string) (a searchAnswer) {
	t.Helper()
	path := p.Path + "/knowledgeBases"
	if base != "" {
		path += "/" + base
	}
	require.NoError(t, json.Unmarshal(p.Do(t, 200, "POST", path+"/search", body).Body, &a))
	return a
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	dir := filepath.Join(s.Dir, "search")
	p := nodetest.NewOwnedWorkspace(t, s)
	bases := p.Path + "/knowledgeBases"
	p.Do(t, 201, "POST", bases, `{"name":"FAQ","slug":"faq","language":"en","synonyms":[["car","auto"]]}`)
	p.Do(t, 201, "POST", bases, `{"name":"Other","slug":"other"}`)
	put := func(base, body string) string {
		t.Helper()
		got := p.Send(t, "POST", bases+"/"+base+"/documents?wait=30", body).JSON(t)
		require.Equal(t, "ready", got["status"], got)
		return got["id"].(string)
	}
	find := func(body string) searchAnswer { t.Helper(); return search(t, p, "faq", body) }
	query := func(q string) []string {
		t.Helper()
		body, err := json.Marshal(map[string]string{"query": q})
		require.NoError(t, err)
		return find(string(body)).names()
	}

	t.Log("an empty base has nothing, and no index")
	require.Empty(t, query("anything"))
	require.NoDirExists(t, dir)

	t.Log("what is ready is found at once")
	put("faq", `{"text":"A refund of a payment takes a week.","name":"both","tags":["a","b"],"metadata":{"year":2024,"team":"web"}}`)
	put("faq", `{"text":"A payment by card. Nothing more is said about it here, in this longer text.","name":"longer","tags":["a"],"metadata":{"year":2023}}`)
	put("faq", `{"text":"A payment by card.","name":"shorter","metadata":{"year":2022,"team":"web"}}`)
	first := find(`{"query":"refund payment"}`)
	require.Equal(t, []string{"both", "shorter", "longer"}, first.names(), "both words first, then the shorter one")
	require.Equal(t, 3, first.Total)
	require.Equal(t, "text", first.Mode)
	require.InDelta(t, first.Results[0].Score, first.Results[0].Scores["text"], 0)
	require.Equal(t, "A <mark>refund</mark> of a <mark>payment</mark> takes a week.", first.Results[0].Passages[0].HTML)
	require.Equal(t, "faq", first.Results[0].Document.KnowledgeBase)
	require.Empty(t, find(`{"query":"refund","highlight":false}`).Results[0].Passages[0].HTML)
	require.Equal(t, []string{"shorter", "longer", "both"}, query("*"), "the newest first")
	require.Equal(t, []string{"longer"}, find(`{"query":"*","limit":1,"page":1}`).names())
	require.Equal(t, []string{"shorter"}, find(`{"query":"refund payment","limit":1,"page":1}`).names())

	t.Log("the words of a query")
	put("faq", `{"text":"The car was sold with an invoice. Inventory follows.","name":"car"}`)
	require.Equal(t, []string{"car"}, query(`"was sold"`))
	require.Empty(t, query(`"sold was"`))
	require.Equal(t, []string{"shorter", "longer"}, query(`+card -refund`))
	require.Equal(t, []string{"car"}, query(`inv*`))
	put("faq", `{"text":"Nothing else.","name":"titled","title":"Zebra policies"}`)
	require.Equal(t, []string{"titled"}, query(`policies*`), "a word of a title as it is written")
	require.Equal(t, []string{"titled"}, query(`+polici* -card`))
	require.Equal(t, []string{"titled"}, query("zebra"))
	p.Do(t, 200, "PATCH", bases+"/faq", `{"search":{"boosts":{"title":0}}}`)
	require.Empty(t, query("zebra"), "titles do not count")
	p.Do(t, 200, "PATCH", bases+"/faq", `{"search":null}`)
	require.Equal(t, []string{"titled"}, query("zebra"))
	p.Do(t, 200, "POST", bases+"/faq/documents/delete", `{"filters":{"name":"titled"}}`)
	require.Equal(t, []string{"car"}, query(`"unclosed sold`))
	require.Equal(t, []string{"car"}, query(`auto`))
	misspelt := find(`{"query":"invoise"}`)
	require.Equal(t, []string{"car"}, misspelt.names())
	require.True(t, misspelt.Fuzzy)
	require.Empty(t, find(`{"query":"invoise","fuzzy":false}`).names())
	require.Equal(t, []string{"query_cut"}, find(`{"query":"`+strings.Repeat("card ", 65)+`"}`).Warnings)
	put("faq", `{"text":"Les chevaux sont dans le pré et les élèves les regardent avec plaisir depuis la fenêtre de la classe.","name":"horses"}`)
	require.Equal(t, []string{"horses"}, query("cheval"))

	t.Log("what is refused")
	path := bases + "/faq/search"
	for _, body := range []string{
		`{"query":"-a"}`, `{"query":""}`, `{"query":" "}`, `{"query":"` + strings.Repeat("x", 2001) + `"}`, `{"query":"x","mode":"nope"}`, `{"query":"x","limit":101}`,
		`{"query":"x","group":"page"}`, `{"query":"x","facets":{"f":{"field":"tags","size":0}}}`,
	} {
		p.RequireRefusal(t, 422, "validation_failed", "POST", path, body)
	}
	require.Equal(t, "no_embedding", p.RequireRefusal(t, 422, "validation_failed", "POST", path, `{"query":"x","mode":"vector"}`)["reason"])
	for _, body := range []string{`{"query":"x","page":1000,"limit":100}`, `{"query":"x","page":1000}`, `{"query":"x","page":10001}`, `{"query":"x","page":9000000000000000000}`} {
		p.RequireRefusal(t, 400, "invalid_request", "POST", path, body)
	}
	p.RequireRefusal(t, 422, "validation_failed", "POST", path, `{"query":"x","page":-1}`)
	p.RequireRefusal(t, 400, "missing_parameter", "POST", path, `{}`)
	p.RequireRefusal(t, 400, "missing_parameter", "GET", path, "")
	p.RequireRefusal(t, 400, "invalid_request", "POST", path, `{"query":"x","nope":1}`)
	p.RequireRefusal(t, 404, "resource_not_found", "POST", bases+"/nope/search", `{"query":"x"}`)
	for body, at := range map[string]string{
		`{"query":"x","filters":{"nope":1}}`: "filters.nope", `{"query":"x","filters":{"tags":{"$where":1}}}`: "filters.tags", `{"query":"x","facets":{"f":{"field":"nope"}}}`: "facets.f.field",
	} {
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", path, body)), at)
	}

	t.Log("filters and facets")
	require.Equal(t, []string{"both", "longer"}, find(`{"query":"payment","filters":{"metadata.year":{"$gte":2023}}}`).names())
	var byAddress searchAnswer
	require.NoError(t, json.Unmarshal(p.Do(t, 200, "GET", path+"?q=payment&tags=b,c&limit=5", "").Body, &byAddress))
	require.Equal(t, []string{"both"}, byAddress.names())
	faceted := find(`{"query":"payment","facets":{"tag":{"field":"tags"},"team":{"field":"metadata.team"},"year":{"field":"metadata.year","ranges":[{"to":2023},{"name":"new","from":2023,"to":2024},{"from":2030}]}}}`)
	encoded, err := json.Marshal(faceted.Facets)
	require.NoError(t, err)
	require.JSONEq(t, `{"tag":{"Buckets":[{"Key":"a","Count":2},{"Key":"b","Count":1}],"Other":0,"Missing":1},"team":{"Buckets":[{"Key":"web","Count":2}],"Other":0,"Missing":1},
		"year":{"Buckets":[{"Key":"*-2023","Count":1},{"Key":"new","Count":1},{"Key":"2030-*","Count":0}],"Other":1,"Missing":0}}`, string(encoded))

	t.Log("passages of a long document; markup is text")
	long := strings.Repeat("Nothing is said here. ", 100) + "A needle is <script>alert(1)</script> and <mark>not</mark> more. " + strings.Repeat("Nothing is said here either. ", 100) + "The other needle."
	put("faq", `{"text":"`+long+`","name":"long","title":"<b>Needles</b>","tags":["deep"],"metadata":{"year":2020}}`)
	found := find(`{"query":"needle"}`).Results[0]
	require.Greater(t, len(found.Passages), 1)
	require.Equal(t, "&lt;b&gt;<mark>Needles</mark>&lt;/b&gt;", found.TitleHTML)
	require.Contains(t, found.Passages[0].HTML+found.Passages[1].HTML, "&lt;script&gt;alert(1)&lt;/script&gt; and &lt;mark&gt;not&lt;/mark&gt;")
	byChunk := find(`{"query":"needle","group":"chunk"}`)
	require.Equal(t, 1, byChunk.Total)
	require.Greater(t, len(byChunk.Results), 1)
	require.Len(t, find(`{"query":"needle","passages":1}`).Results[0].Passages, 1)
	for _, group := range []string{"document", "chunk"} { // a document with several passages counts once
		counted := find(`{"query":"needle","group":"` + group + `","facets":{"tag":{"field":"tags"},"year":{"field":"metadata.year","ranges":[{"name":"old","to":2021}]}}}`)
		require.Equal(t, 1, counted.Total, group)
		require.Equal(t, []any{1, 1}, []any{counted.Facets["tag"].Buckets[0].Count, counted.Facets["year"].Buckets[0].Count}, group)
	}

	t.Log("the old text is found until the new one is ready")
	put("faq", `{"text":"alpha stands here","key":"k","name":"keyed"}`)
	p.Do(t, 200, "POST", bases+"/faq/documents", `{"text":"omega stands here","key":"k"}`)
	require.Len(t, query("alpha omega"), 1)
	put("faq", `{"text":"omega stands here","key":"k"}`)
	require.Empty(t, query(`"alpha stands"`))
	require.Equal(t, []string{"keyed"}, query("omega"))
	p.Do(t, 200, "PATCH", bases+"/faq/documents/key:k", `{"title":"Zeppelin","tags":["sky"]}`)
	require.Equal(t, []string{"keyed"}, query("zeppelin"))
	p.Do(t, 200, "DELETE", bases+"/faq/documents/key:k", "")
	require.Empty(t, query("omega zeppelin"))

	t.Log("several bases")
	put("other", `{"text":"A payment in another base.","name":"elsewhere"}`)
	all := search(t, p, "", `{"query":"payment"}`)
	require.ElementsMatch(t, []string{"both", "shorter", "longer", "elsewhere"}, all.names())
	require.Equal(t, 4, all.Total)
	require.Equal(t, []string{"elsewhere"}, search(t, p, "", `{"query":"payment","knowledgeBases":["other"]}`).names())
	p.RequireRefusal(t, 404, "resource_not_found", "POST", bases+"/search", `{"query":"x","knowledgeBases":["nope"]}`)
	require.Equal(t, []string{"elsewhere"}, search(t, p, "", `{"query":"payment","filters":{"knowledgeBase":"other"}}`).names())

	t.Log("automations search with the rights of the workspace")
	p.AddAutomations(t, `
t: [{run: {module: knowledge, function: search, parameters: {knowledgeBase: faq, query: refund, facets: {tag: {field: tags}}}, output: found}}, {run: {module: knowledge, function: getDocument, parameters: {knowledgeBase: faq, id: '{{found.results[0].document.id}}'}, output: one}}, {run: {module: knowledge, function: getDocument, parameters: {knowledgeBase: faq, key: nope}, output: none}}, {run: {module: knowledge, function: listDocuments, parameters: {knowledgeBase: faq, filters: {tags: a}}, output: list}}, {run: {module: knowledge, function: search, parameters: {knowledgeBase: nope, query: x}, onError: continue, output: failed}}, {T: ['{{found.total}}', '{{one.name}}', '{{one.status}}', '{% {{none}} exists %}', '{{list.length}}', '{{failed.error}}', '{{failed.details.reason}}']}]`)
	require.JSONEq(t, `[1,"both","ready",false,2,"KnowledgeError","resource_not_found"]`, p.RunTest(t, 200, `{}`).Result(t))

	t.Log("rules say what is found, counted and shown in facets")
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"reader":{},"editor":{}},"rules":[{"role":"reader","action":"read","subject":"workspaces"},`+
		`{"role":"reader","action":"read","subject":"documents","conditions":{"tags":"a","knowledgeBase":"faq"}}]}}`)
	reader := p.As(s.NewUser(t, "reader"))
	reader.RequireRefusal(t, 403, "workspace_access_denied", "POST", path, `{"query":"payment"}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"role":"reader"}}`)
	mine := search(t, reader, "faq", `{"query":"payment","facets":{"year":{"field":"metadata.year"}}}`)
	require.Equal(t, []string{"both", "longer"}, mine.names())
	require.Equal(t, 2, mine.Total)
	require.Len(t, mine.Facets["year"].Buckets, 2)
	require.Equal(t, []string{"longer", "both"}, search(t, reader, "", `{"query":"*"}`).names())
	readerFinds := func(want ...string) {
		t.Helper()
		for range 2 { // the second time it is known who may read what
			require.ElementsMatch(t, want, search(t, reader, "faq", `{"query":"payment"}`).names())
		}
	}
	readerFinds("both", "longer")
	shorter := bases + "/faq/documents/" + find(`{"query":"*","filters":{"name":"shorter"}}`).Results[0].Document.ID
	p.Do(t, 200, "PATCH", shorter, `{"tags":["a"]}`)
	readerFinds("both", "longer", "shorter")
	p.Do(t, 200, "PATCH", shorter, `{"tags":[]}`)
	readerFinds("both", "longer")
	p.Do(t, 200, "POST", bases+"/faq/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"policies":{"read":true}}}`)
	readerFinds("both", "longer", "shorter")
	share := p.Do(t, 200, "GET", bases+"/faq/permissions", "").JSON(t)["result"].([]any)[0].(map[string]any)
	p.Do(t, 200, "DELETE", bases+"/faq/permissions/"+nodetest.ObjectAt(share, "target")["id"].(string), "")
	readerFinds("both", "longer")
	rules := func(tag string) string {
		return `{"authorizations":{"roles":{"reader":{},"editor":{}},"rules":[{"role":"reader","action":"read","subject":"workspaces"},` +
			`{"role":"reader","action":"read","subject":"documents","conditions":{"tags":"` + tag + `","knowledgeBase":"faq"}}]}}`
	}
	p.Do(t, 200, "PUT", p.Path+"/security", rules("b"))
	readerFinds("both")
	p.Do(t, 200, "PUT", p.Path+"/security", rules("a"))
	readerFinds("both", "longer")
	reader.RequireRefusal(t, 403, "permission_denied", "POST", bases+"/other/search", `{"query":"payment"}`)
	reader.RequireRefusal(t, 403, "permission_denied", "POST", bases+"/search", `{"query":"payment","knowledgeBases":["other"]}`)

	t.Log("an index that was lost is made again, with the same scores")
	before := find(`{"query":"payment refund card","limit":100}`)
	loseIndex(t, p, path, func() {
		require.Equal(t, fmt.Sprint(before.Results), fmt.Sprint(find(`{"query":"payment refund card","limit":100}`).Results))
	})
}

// loseIndex deletes the index of a service, and then damages it, and checks each time that it is made again.
func loseIndex(t *testing.T, p nodetest.Workspace, path string, check func()) {
	t.Helper()
	dir := filepath.Join(p.Service.Dir, "search")
	for _, lose := range []func(){
		func() { require.NoError(t, os.RemoveAll(dir)) },
		func() {
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			for _, path := range files {
				require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
			}
		},
	} {
		p.Service.Stop(t)
		lose()
		p.Service.Start(t)
		require.Eventually(t, func() bool { // 503 while the index is made
			return p.Send(t, "POST", path, `{"query":"payment","mode":"text"}`).StatusCode == 200
		}, time.Minute, 50*time.Millisecond)
		check()
	}
}
