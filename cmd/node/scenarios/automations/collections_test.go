package automations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/value"
)

// keeperApp keeps rows.
const keeperApp = `
add: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {id: '{{body.id}}'}}}}]}
list: {when: {endpoint: true}, do: [{run: {module: collections, function: distinct, parameters: {collection: c, field: id}, output: ids}}], output: '{{ids}}'}`

// rowIDs are the ids of rows in an answer, in order.
func rowIDs(t *testing.T, got nodetest.Answer) string {
	t.Helper()
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(got.Body, &rows), "%s", got.Body)
	var ids []string
	for _, row := range rows {
		ids = append(ids, row["id"].(string))
	}
	return strings.Join(ids, " ")
}

// fieldsOf are those of a body without what the platform writes.
func fieldsOf(t *testing.T, got nodetest.Answer) string {
	t.Helper()
	v, err := value.ParseJSON(string(got.Body))
	require.NoError(t, err, "%s", got.Body)
	row, shown := v.(*value.Object), &value.Object{}
	for _, key := range row.Keys() {
		switch key {
		case "createdAt", "updatedAt", "createdBy", "updatedBy":
		default:
			shown.Set(key, row.At(key))
		}
	}
	return value.JSON(shown, "")
}

func TestCollectionsOverREST(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "COLLECTIONS_MAX_WRITE=3", "COLLECTIONS_MAX_LIMIT=50", "IMPORT_MAX_SIZE=2MB")
	t.Run("rows are written, read and found", func(t *testing.T) { rowsOverREST(t, w) })
	t.Run("declarations are enforced and recorded", func(t *testing.T) { declaredOverREST(t, w) })
	t.Run("rows are exported and imported", func(t *testing.T) { rowsInAndOut(t, w) })
	t.Run("collections of app instances", func(t *testing.T) { rowsOfInstances(t, w) })
	t.Run("rights", func(t *testing.T) { rightsOnCollections(t, w) })
	t.Run("contexts", func(t *testing.T) { contextsOverREST(t, w) })
	t.Run("users", func(t *testing.T) { usersOverREST(t, w) })
}

func rowsOverREST(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{run: {module: collections, function: findOne, parameters: {collection: people, query: {email: '{{email}}'}}, output: r}}]
add: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: people, data: {id: auto, email: auto}}}}]}`)
	rows := p.Path + "/collections/people/rows"
	me := p.UserID(t)

	require.Equal(t, map[string]any{"resource": "collection", "id": "people"}, p.RequireRefusal(t, 404, "resource_not_found", "GET", rows, ""))
	require.JSONEq(t, `[]`, string(p.Do(t, 200, "GET", p.Path+"/collections", "").Body))

	made := p.Do(t, 201, "POST", rows, `{"email":"ann","age":30,"tags":["a","b"],"createdBy":"nobody"}`)
	ann := made.JSON(t)
	require.Equal(t, []any{me, me, "ann"}, []any{ann["createdBy"], ann["updatedBy"], ann["email"]})
	require.Equal(t, rows+"/"+ann["id"].(string), made.Header.Get("Location"))
	require.NotEmpty(t, made.Header.Get("X-Svc-Seq"))
	require.NotEmpty(t, made.Header.Get("ETag"))
	// An automation sees it at once, and the caller what an automation wrote.
	require.Equal(t, "30", value.JSON(value.Walk(parseJSON(t, p.RunTest(t, 200, `{"email":"ann"}`).Body), "r", "age"), ""))
	p.CallEndpoint(t, 200, "POST", "add", `{}`)
	require.Equal(t, `{"id":"auto","email":"auto"}`, fieldsOf(t, p.Do(t, 200, "GET", rows+"/auto", "")))

	one := rows + "/" + ann["id"].(string)
	got := p.Do(t, 200, "GET", one, "")
	tag := got.Header.Get("ETag")
	require.Equal(t, made.Header.Get("ETag"), tag)
	p.Do(t, 304, "GET", one, "", "If-None-Match", tag)
	changed := p.Do(t, 200, "PATCH", one, `{"age":31,"tags":null,"more":{"k":1}}`, "If-Match", tag)
	require.Equal(t, `{"id":"`+ann["id"].(string)+`","email":"ann","age":31,"more":{"k":1}}`, fieldsOf(t, changed))
	require.NotEqual(t, tag, changed.Header.Get("ETag"))
	stale := p.RequireRefusal(t, 409, "resource_conflict", "PATCH", one, `{"age":32}`, "If-Match", tag)
	require.Equal(t, []any{"stale", changed.Header.Get("ETag")}, []any{stale["reason"], stale["etag"]})
	require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "DELETE", one, "", "If-Match", tag)["reason"])
	p.Do(t, 200, "PATCH", one, `{"age":31}`, "If-Match", changed.Header.Get("ETag"))

	taken := p.RequireRefusal(t, 409, "resource_already_exists", "POST", rows, `{"id":"auto"}`)
	require.Equal(t, []any{"id", "auto"}, []any{taken["field"], taken["value"]})
	for _, bad := range []struct {
		status             int
		code, method, path string
		body               string
	}{
		{422, "validation_failed", "POST", rows, `{"$a":1}`}, {422, "validation_failed", "POST", rows, `{"a.b":1}`}, {422, "validation_failed", "POST", rows, `{"id":5}`},
		{400, "invalid_request", "POST", rows, `[1]`}, {400, "invalid_request", "POST", rows, `{"a":`}, {400, "invalid_request", "POST", rows, `{"a":1,"a":2}`},
		{422, "validation_failed", "PATCH", one, `{"id":"other"}`}, {422, "validation_failed", "PATCH", one, `{"$set":{"a":1}}`},
		{404, "resource_not_found", "PATCH", rows + "/none", `{"a":1}`}, {404, "resource_not_found", "GET", rows + "/none", ""}, {404, "resource_not_found", "DELETE", rows + "/none", ""},
		{400, "invalid_parameter", "GET", rows + "?query=nope", ""}, {400, "invalid_parameter", "GET", rows + "?query=" + url.QueryEscape(`{"a":{"$nope":1}}`), ""},
		{400, "invalid_parameter", "GET", rows + "?limit=101", ""}, {400, "invalid_parameter", "GET", rows + "?page=-1", ""}, {400, "invalid_parameter", "GET", rows + "?query=" + url.QueryEscape(`[]`), ""},
		{422, "validation_failed", "POST", p.Path + "/collections/people/query", `{"query":{"a":{"$nope":1}}}`}, {422, "validation_failed", "POST", p.Path + "/collections/people/query", `{"limit":51}`},
		{400, "invalid_request", "POST", p.Path + "/collections/people/query", `{"nope":1}`}, {422, "validation_failed", "POST", p.Path + "/collections/people/query", `{"aggregate":[],"limit":1}`},
		{400, "invalid_request", "POST", p.Path + "/collections/people/query", `{"aggregate":5}`}, {404, "resource_not_found", "POST", p.Path + "/collections/none/query", `{}`},
		{404, "resource_not_found", "DELETE", p.Path + "/collections/none", ""}, {404, "resource_not_found", "GET", p.Path + "/collections/none/schema", ""},
		{404, "resource_not_found", "GET", rows + "?appInstance=none", ""}, {400, "invalid_parameter", "GET", p.Path + "/collections?sort=nope", ""},
	} {
		p.RequireRefusal(t, bad.status, bad.code, bad.method, bad.path, bad.body)
	}
	p.Do(t, 200, "DELETE", one, "")
	p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")

	for i := range 5 {
		p.Do(t, 201, "POST", rows, fmt.Sprintf(`{"id":"r%d","n":%d,"odd":%t}`, i, i, i%2 == 1))
	}
	p.Do(t, 200, "PATCH", rows+"/r1", `{"x":1}`)
	page := p.Do(t, 200, "GET", rows+"?limit=2", "")
	require.Equal(t, "r1 r4", rowIDs(t, page)) // the last changed first
	require.Equal(t, "6", page.Header.Get("X-Total-Count"))
	require.Contains(t, page.Header.Get("Link"), `rel="next"`)
	require.Equal(t, "r3 r4", rowIDs(t, p.Do(t, 200, "GET", rows+"?sort=n&limit=2&page=2", "")))
	require.Equal(t, "r3 r1", rowIDs(t, p.Do(t, 200, "GET", rows+"?sort=-odd,-n&query="+url.QueryEscape(`{"odd":true}`), "")))
	require.JSONEq(t, `[{"id":"r2","n":2}]`, string(p.Do(t, 200, "GET", rows+"?fields=n&query="+url.QueryEscape(`{"n":2}`), "").Body))
	require.JSONEq(t, `{"rows":[{"id":"r4","n":4}],"total":3}`, string(p.Do(t, 200, "POST", p.Path+"/collections/people/query", `{"query":{"n":{"$gte":2}},"sort":{"n":-1},"limit":1,"fields":["n"]}`).Body))
	require.JSONEq(t, `{"rows":[{"_id":true,"sum":4}]}`, string(p.Do(t, 200, "POST", p.Path+"/collections/people/query", `{"query":{"odd":true},"aggregate":[{"$group":{"_id":"$odd","sum":{"$sum":"$n"}}}]}`).Body))

	// Names and ids may be any text.
	odd := p.Path + "/collections/" + url.PathEscape("Ann's list/2") + "/rows"
	oddRow := p.Do(t, 201, "POST", odd, `{"id":"a/b c?"}`)
	require.Equal(t, odd+"/"+url.PathEscape("a/b c?"), oddRow.Header.Get("Location"))
	require.Equal(t, `{"id":"a/b c?","n":1}`, fieldsOf(t, p.Do(t, 200, "PATCH", oddRow.Header.Get("Location"), `{"n":1}`)))
	require.Contains(t, string(p.Do(t, 200, "GET", p.Path+"/collections?sort=name", "").Body), `"name":"Ann's list/2"`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/collections/"+strings.Repeat("n", 200)+"/rows", `{}`)
	p.Do(t, 200, "DELETE", p.Path+"/collections/"+url.PathEscape("Ann's list/2"), "")

	// The same request twice makes one row.
	first := p.Do(t, 201, "POST", rows, `{"once":true}`, "Idempotency-Key", "k1")
	again := p.Do(t, 201, "POST", rows, `{"once":true}`, "Idempotency-Key", "k1")
	require.Equal(t, first.JSON(t)["id"], again.JSON(t)["id"])
	require.Equal(t, "7", p.Do(t, 200, "GET", rows+"?limit=1", "").Header.Get("X-Total-Count"))

	require.JSONEq(t, `{"name":"people"}`, string(p.Do(t, 200, "DELETE", p.Path+"/collections/people", "").Body))
	p.RequireRefusal(t, 404, "resource_not_found", "GET", rows, "")
	require.Empty(t, p.AwaitEvents(t, 0, "workspaces.collections.updated", "")) // rows are no events
}

func parseJSON(t *testing.T, body []byte) any {
	t.Helper()
	v, err := value.ParseJSON(string(body))
	require.NoError(t, err, "%s", body)
	return v
}

func declaredOverREST(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	p := w.NewWorkspace(t)
	c := p.Path + "/collections/orders"
	p.Do(t, 201, "POST", c+"/rows", `{"id":"a","n":"5","free":1}`)
	require.JSONEq(t, `{"collection":"orders","properties":{},"indexes":[],"uniques":[],"declared":false}`, string(p.Do(t, 200, "GET", c+"/schema", "").Body))
	const declaration = `{"properties":{"n":{"type":"integer","minimum":1,"maximum":9},"mail":{"type":"string","format":"email"},"state":{"type":"string","enum":["new","done"],"default":"new","required":true}},"indexes":[{"properties":["n"],"name":"by n"}],"uniques":[["mail"]]}`
	declared := p.Do(t, 200, "PUT", c+"/schema", declaration)
	shown := p.Do(t, 200, "GET", c+"/schema", "")
	require.JSONEq(t, string(declared.Body), string(shown.Body))
	require.JSONEq(t, strings.Replace(declaration, `{"properties":{"n"`, `{"collection":"orders","properties":{"n"`, 1), string(shown.Body))
	p.Do(t, 200, "PUT", c+"/schema", string(shown.Body)) // what was read may be sent back
	events := p.AwaitEvents(t, 2, "workspaces.collections.updated", "")
	require.Equal(t, `["orders","default",[["mail"]]]`, fmt.Sprintf(`[%q,%q,%s]`, events[0].Payload["collection"], events[0].Payload["schema"], events[0].At("uniques")))
	require.Equal(t, p.UserID(t), events[0].Source["userId"])

	require.JSONEq(t, `{"id":"a","n":5,"free":1,"state":"new"}`, fieldsOf(t, p.Do(t, 200, "GET", c+"/rows/a", "")))
	require.JSONEq(t, `{"id":"b","n":2,"mail":"a@example.org","state":"new","droppedFields":["zz"]}`, fieldsOf(t, p.Do(t, 201, "POST", c+"/rows", `{"id":"b","n":"2","mail":"a@example.org","zz":1}`)))
	for body, want := range map[string]string{
		`{"n":10}`:      `[{"field":"n","message":"must be at most 9"}]`,
		`{"n":true}`:    `[{"field":"n","message":"expected integer, got boolean"}]`,
		`{"mail":"x"}`:  `[{"field":"mail","message":"must be an e-mail address (format email)"}]`,
		`{"state":"x"}`: `[{"field":"state","message":"must be one of: new, done"}]`,
	} {
		require.JSONEq(t, want, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", c+"/rows", body)))
		require.JSONEq(t, want, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", c+"/rows/b", body)))
	}
	p.RequireRefusal(t, 422, "validation_failed", "PATCH", c+"/rows/b", `{"state":null}`)
	taken := p.RequireRefusal(t, 409, "resource_already_exists", "POST", c+"/rows", `{"mail":"a@example.org"}`)
	require.Equal(t, []any{"mail", "a@example.org"}, []any{taken["field"], taken["value"]})

	require.Contains(t, p.Do(t, 422, "PUT", c+"/schema", `{"properties":{"n":{"type":"integer","multipleOf":2}}}`).JSON(t)["message"], "unknown keyword multipleOf")
	p.RequireRefusal(t, 422, "validation_failed", "PUT", c+"/schema", `{"properties":{"n":{"type":"integer","maximum":1}}}`) // rows break it
	p.RequireRefusal(t, 400, "missing_parameter", "PUT", c+"/schema", `{"indexes":[]}`)
	p.RequireRefusal(t, 400, "invalid_request", "PUT", c+"/schema", `{"properties":{},"declared":false}`)
	p.RequireRefusal(t, 409, "resource_already_exists", "PUT", c+"/schema", `{"properties":{"state":"string","n":"integer","mail":"string"},"uniques":[["state"]]}`)
	for body, want := range map[string]string{
		`{"properties":{"n":{"type":"integer","maximum":1}}}`:                                   `{"errors":[{"field":"n","message":"the row a: must be at most 1"}],"warnings":[]}`,
		`{"properties":{"n":{"type":"integer","multipleOf":2}}}`:                                `{"errors":[{"field":"n","message":"the property n: unknown keyword multipleOf; the keywords are: type, required, enum, minimum, maximum, minLength, maxLength, pattern, format, default"}],"warnings":[]}`,
		`{"properties":{"state":"string","n":"integer","mail":"string"},"uniques":[["state"]]}`: `{"errors":[{"field":"state","message":"another row of orders has the same state"}],"warnings":[]}`,
		`{"properties":{"n":"string","mail":"string"}}`:                                         `{"errors":[],"warnings":[]}`,
		`{"properties":{"n":"string"},"oldCollection":"none"}`:                                  `{"errors":[],"warnings":[]}`,
	} {
		verdict, err := json.Marshal(p.DryRun(t, "PUT", c+"/schema", body))
		require.NoError(t, err)
		require.JSONEq(t, want, string(verdict), body)
	}
	require.JSONEq(t, string(shown.Body), string(p.Do(t, 200, "GET", c+"/schema", "").Body), "nothing of that has changed anything")

	p.Do(t, 200, "PUT", p.Path+"/collections/sales/schema?schema=s2", `{"oldCollection":"orders","oldSchema":"default","properties":{"n":"integer","mail":"string","state":"string"}}`)
	renamed := p.AwaitEvents(t, 3, "workspaces.collections.updated", "")[2]
	require.Equal(t, []any{"sales", "orders", "s2"}, []any{renamed.Payload["collection"], renamed.Payload["oldCollection"], renamed.Payload["schema"]})
	require.JSONEq(t, `[{"name":"sales","schema":"s2","rows":2,"bytes":`+strconv.Itoa(bytesOf(t, p))+`,"indexes":0,"declared":true}]`, string(p.Do(t, 200, "GET", p.Path+"/collections", "").Body))
}

// bytesOf is how large the first collection of a workspace is.
func bytesOf(t *testing.T, p nodetest.Workspace) int {
	t.Helper()
	var all []struct{ Bytes int }
	require.NoError(t, json.Unmarshal(p.Do(t, 200, "GET", p.Path+"/collections", "").Body, &all))
	require.Positive(t, all[0].Bytes)
	return all[0].Bytes
}

// exportInOrder exports more rows than a page has, in an order that is asked for.
func exportInOrder(t *testing.T, p nodetest.Workspace) {
	t.Helper()
	c := p.Path + "/collections/numbers"
	var lines strings.Builder
	for i := range 250 {
		fmt.Fprintf(&lines, `{"id":"%03d","n":%d,"odd":%t}`+"\n", i, i*7%250, i%2 == 1)
	}
	p.Do(t, 200, "POST", c+"/import", lines.String(), "Content-Type", "application/x-ndjson")
	export := func(query, accept string) (found []string) {
		t.Helper()
		return strings.Split(strings.TrimSpace(string(p.Do(t, 200, "GET", c+"/rows?"+query, "", "Accept", accept).Body)), "\n")
	}
	down := export("sort=-n&fields=n", "application/x-ndjson")
	require.Len(t, down, 250)
	for i, line := range down {
		require.Contains(t, line, fmt.Sprintf(`"n":%d}`, 249-i))
	}
	table := export("sort=odd,n&fields=n,odd", "text/csv")
	require.Len(t, table, 251)
	require.Equal(t, []string{"id,n,odd", "000,0,false"}, table[:2])
	require.True(t, strings.HasSuffix(table[126], ",1,true"), table[126])
	odd := export("sort=n&fields=n&query="+url.QueryEscape(`{"odd":true}`), "application/x-ndjson")
	require.Len(t, odd, 125)
	require.Contains(t, odd[0], `"n":1}`)
	require.Len(t, export("sort=id", "application/x-ndjson"), 250)
	require.Len(t, export("sort=-n&limit=30", "application/x-ndjson"), 30, "a page is one also in another form")
	require.Len(t, export("sort=-n&page=1&limit=50", "text/csv"), 51)
}

func rowsInAndOut(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	p := w.NewWorkspace(t)
	c := p.Path + "/collections/things"
	csv := []string{"Content-Type", "text/csv"}
	table := "id,name,n,ok,list,note\r\n1,\"a, b\",1,true,\"[1,2]\",\"two\r\nlines\"\r\n2,=SUM(A1),x,false,,-5\r\n3,Ünï,3,maybe,[],'=1\r\n4,short\r\n5,last,5,TRUE,\"{}\",\r\n"
	p.Do(t, 200, "PUT", c+"/schema", `{"properties":{"name":"string","n":"integer","ok":"boolean","list":"array","note":"text"},"uniques":[["name"]]}`)
	wanted := `{"inserted":1,"updated":0,"errors":[{"line":4,"field":"n","message":"expected integer, got \"x\""},{"line":5,"field":"ok","message":"expected boolean, got \"maybe\""},{"line":6,"message":"wrong number of fields"},{"line":7,"field":"list","message":"expected array, got object"}]}`
	require.JSONEq(t, wanted, string(p.Do(t, 200, "POST", c+"/import?dryRun=true", table, csv...).Body))
	require.Equal(t, "0", p.Do(t, 200, "GET", c+"/rows", "").Header.Get("X-Total-Count"))
	require.JSONEq(t, wanted, string(p.Do(t, 200, "POST", c+"/import", table, csv...).Body))
	require.JSONEq(t, `{"id":"1","name":"a, b","n":1,"ok":true,"list":[1,2],"note":"two\nlines"}`, fieldsOf(t, p.Do(t, 200, "GET", c+"/rows/1", "")))

	// Lines are written in batches of three, and rows that are there are changed.
	lines := `{"name":"a, b","n":7}` + "\n\n" + `{"name":"=1+1","n":2,"zz":1}` + "\n" + `{"name":"'=x"}` + "\n" + `nonsense` + "\n" + `{"name":"-5","note":"@x"}` + "\n" + `[1]` + "\n" + `{"name":"b"}` + "\n" + `{"name":"b","n":4}` + "\n" + `{"name":"+33 1"}`
	done := p.Do(t, 200, "POST", c+"/import?onConflictFields=name", lines, "Content-Type", "application/x-ndjson").JSON(t)
	require.Equal(t, []any{5.0, 2.0, []any{"zz"}}, []any{done["inserted"], done["updated"], done["droppedFields"]})
	require.Equal(t, []any{5.0, 7.0}, []any{done["errors"].([]any)[0].(map[string]any)["line"], done["errors"].([]any)[1].(map[string]any)["line"]})
	again := p.Do(t, 200, "POST", c+"/import?onConflictFields=name", `[{"name":"b","n":4},`+"\n"+`{"name":"b","n":"x"}]`, "Content-Type", "application/json")
	require.JSONEq(t, `{"inserted":0,"updated":0,"unchanged":1,"errors":[{"line":2,"field":"n","message":"expected integer, got \"x\""}]}`, string(again.Body))
	require.JSONEq(t, `{"inserted":0,"updated":0,"errors":[{"line":1,"field":"name","message":"another row of things has the same name"}]}`, string(p.Do(t, 200, "POST", c+"/import", `{"name":"b"}`, "Content-Type", "application/x-ndjson").Body))
	broken := p.Do(t, 200, "POST", c+"/import", "[{\"name\":\"whole\"},\n\n{\"name\":", "Content-Type", "application/json").JSON(t)
	require.Equal(t, []any{1.0, 1}, []any{broken["inserted"], len(broken["errors"].([]any))})

	// Tables do not compute, and come back as they were.
	out := p.Do(t, 200, "GET", c+"/rows?fields=name,note,n", "", "Accept", "text/csv")
	require.Equal(t, []string{"text/csv; charset=utf-8; header=present", "attachment; filename=things.csv"}, []string{out.Header.Get("Content-Type"), out.Header.Get("Content-Disposition")})
	text := string(out.Body)
	for _, cell := range []string{"'=1+1", "''=x", "'@x", "-5", "+33 1"} {
		require.Contains(t, text, cell)
	}
	require.NotContains(t, text, ",=")
	require.Contains(t, text, "'+33 1")
	copied := p.Path + "/collections/copy"
	p.Do(t, 200, "PUT", copied+"/schema", `{"properties":{"name":"string","n":"integer","ok":"boolean","list":"array","note":"text"}}`)
	whole := p.Do(t, 200, "GET", c+"/rows", "", "Accept", "text/csv")
	require.True(t, strings.HasPrefix(string(whole.Body), "id,name,n,ok,list,note,createdAt,updatedAt,createdBy,updatedBy\n"), "%s", whole.Body)
	require.JSONEq(t, `{"inserted":7,"updated":0,"errors":[]}`, string(p.Do(t, 200, "POST", copied+"/import", string(whole.Body), csv...).Body))
	bare := func(path string) (all []string) {
		for line := range strings.Lines(string(p.Do(t, 200, "GET", path+"/rows", "", "Accept", "application/x-ndjson").Body)) {
			all = append(all, fieldsOf(t, nodetest.Answer{Body: []byte(line)}))
		}
		return all
	}
	require.Len(t, bare(c), 7)
	require.Equal(t, bare(c), bare(copied))
	few := p.Do(t, 200, "GET", c+"/rows?sort=n&limit=1&fields=name,n&query="+url.QueryEscape(`{"n":{"$gt":4}}`), "", "Accept", "text/csv")
	require.Equal(t, "1", few.Header.Get("X-Total-Count"))
	require.Equal(t, "id,name,n\n1,\"a, b\",7\n", string(few.Body))
	require.JSONEq(t, `{"id":"1","n":7}`, strings.TrimSpace(string(p.Do(t, 200, "GET", c+"/rows?fields=n&query="+url.QueryEscape(`{"id":"1"}`), "", "Accept", "application/x-ndjson").Body)))
	exportInOrder(t, p)
	p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/collections/none/rows", "", "Accept", "text/csv")
	p.RequireRefusal(t, 400, "invalid_parameter", "GET", c+"/rows?query=nope", "", "Accept", "text/csv")

	// A form, with a file that Excel of Europe saves.
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	require.NoError(t, parts.WriteField("onConflictFields", "name"))
	require.NoError(t, parts.WriteField("dryRun", "false"))
	file, err := parts.CreateFormFile("file", "rows.csv")
	require.NoError(t, err)
	_, err = file.Write([]byte("\xef\xbb\xbfname;n\nb;8\n"))
	require.NoError(t, err)
	require.NoError(t, parts.Close())
	require.JSONEq(t, `{"inserted":0,"updated":1,"errors":[]}`, string(p.Do(t, 200, "POST", c+"/import", form.String(), "Content-Type", parts.FormDataContentType()).Body))

	p.RequireRefusal(t, 415, "invalid_request", "POST", c+"/import", "x", "Content-Type", "application/pdf")
	p.RequireRefusal(t, 400, "invalid_request", "POST", c+"/import", `{"a":1}`, "Content-Type", "application/json")
	p.RequireRefusal(t, 400, "invalid_request", "POST", c+"/import", "\n", csv...)
	p.RequireRefusal(t, 422, "validation_failed", "POST", c+"/import", "a,a\n1,2\n", csv...)
	p.RequireRefusal(t, 422, "validation_failed", "POST", c+"/import?onConflictFields=nope", "name\nx\n", csv...)
	p.RequireRefusal(t, 400, "invalid_parameter", "POST", c+"/import?dryRun=nope", "name\nx\n", csv...)
	p.RequireRefusal(t, 413, "invalid_request", "POST", c+"/import", "name\n"+strings.Repeat("x\n", 2<<20), csv...)
	fresh := p.Path + "/collections/fresh"
	require.JSONEq(t, `{"inserted":0,"updated":0,"errors":[{"line":1,"field":"$a","message":"the field $a has a $ at its beginning, or a dot"}]}`, string(p.Do(t, 200, "POST", fresh+"/import", `{"$a":1}`, "Content-Type", "application/x-ndjson").Body))
	p.RequireRefusal(t, 404, "resource_not_found", "GET", fresh+"/rows", "") // no row, no collection
	require.JSONEq(t, `{"inserted":4,"updated":1,"errors":[]}`, string(p.Do(t, 200, "POST", fresh+"/import?onConflictFields=k", "k,v\na,1\nb,1\nc,1\nd,1\na,2\n", csv...).Body))
	require.JSONEq(t, `{"collection":"fresh","properties":{},"indexes":[],"uniques":[["k"]],"declared":false}`, string(p.Do(t, 200, "GET", fresh+"/schema", "").Body))
	require.Empty(t, p.Do(t, 200, "HEAD", fresh+"/rows", "", "Accept", "text/csv").Body)
}

func rowsOfInstances(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	w.NewWorkspace(t).AddAutomations(t, keeperApp).PublishApp(t, "rest keeper")
	p := w.NewWorkspace(t).InstallApp(t, "rest keeper", "a", "")
	p.CallEndpoint(t, 200, "POST", "a.add", `{"id":"1"}`)
	p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/collections/c/rows", "")
	require.Equal(t, "1", rowIDs(t, p.Do(t, 200, "GET", p.Path+"/collections/c/rows?appInstance=a", "")))
	made := p.Do(t, 201, "POST", p.Path+"/collections/c/rows?appInstance=a", `{"id":"2"}`)
	require.Equal(t, p.Path+"/collections/c/rows/2?appInstance=a", made.Header.Get("Location"))
	require.JSONEq(t, `["1","2"]`, string(p.CallEndpoint(t, 200, "GET", "a.list", "").Body))
	p.Do(t, 201, "POST", p.Path+"/collections/own/rows", `{}`)
	var all []map[string]any
	require.NoError(t, json.Unmarshal(p.Do(t, 200, "GET", p.Path+"/collections?limit=2", "").Body, &all))
	require.Equal(t, []any{"own", nil, "c", "a"}, []any{all[0]["name"], all[0]["appInstance"], all[1]["name"], all[1]["appInstance"]})
	require.Equal(t, "2", p.Do(t, 200, "GET", p.Path+"/collections?limit=1", "").Header.Get("X-Total-Count"))
	p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"slug":"b"}`)
	require.Equal(t, "2", p.Do(t, 200, "GET", p.Path+"/collections/c/rows?appInstance=b", "").Header.Get("X-Total-Count"))
	p.Do(t, 200, "PUT", p.Path+"/collections/c/schema?appInstance=b", `{"properties":{"n":"number"}}`)
	require.Equal(t, "rest keeper", p.AwaitEvents(t, 1, "workspaces.collections.updated", "")[0].Payload["appSlug"])
}

func rightsOnCollections(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	p := w.NewWorkspace(t)
	rows := p.Path + "/collections/people/rows"
	p.Do(t, 201, "POST", rows, `{"id":"1","n":1,"m":1}`)
	p.Do(t, 201, "POST", p.Path+"/collections/hidden/rows", `{"id":"1"}`)
	editor, reader, clerk := p.As(w.NewUser(t, "coleditor")), p.As(w.NewUser(t, "colreader")), p.As(w.NewUser(t, "colclerk"))
	share := func(who nodetest.Workspace, permissions string) {
		p.Do(t, 200, "POST", p.Path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":%s}`, who.UserID(t), permissions))
	}
	share(editor, `{"role":"editor"}`)
	share(reader, `{"policies":{"read":true}}`)
	require.Equal(t, map[string]any{"action": "read", "subject": "collections"}, reader.RequireRefusal(t, 403, "permission_denied", "GET", rows, ""))
	clerk.RequireRefusal(t, 403, "workspace_access_denied", "GET", rows, "")
	p.Anonymous().RequireRefusal(t, 401, "missing_token", "GET", rows, "")
	editor.Do(t, 200, "PATCH", rows+"/1", `{"n":2}`)
	require.Equal(t, editor.UserID(t), p.Do(t, 200, "GET", rows+"/1", "").JSON(t)["updatedBy"])
	editor.Do(t, 201, "POST", rows, `{"id":"2"}`)
	editor.Do(t, 200, "DELETE", rows+"/2", "")

	security := p.Do(t, 200, "GET", p.Path+"/security", "").JSON(t)["authorizations"].(map[string]any)
	security["roles"].(map[string]any)["clerk"] = map[string]any{}
	security["rules"] = append(security["rules"].([]any),
		map[string]any{"role": "clerk", "action": []string{"read", "update"}, "subject": "collections", "conditions": map[string]any{"name": "people"}, "fields": []string{"n"}},
		map[string]any{"role": "editor", "action": "manage", "subject": "collections", "conditions": map[string]any{"name": map[string]any{"$regex": "^hid"}}, "inverted": true})
	body, err := json.Marshal(map[string]any{"authorizations": security})
	require.NoError(t, err)
	p.Do(t, 200, "PUT", p.Path+"/security", string(body))
	share(clerk, `{"role":"clerk"}`)
	require.Equal(t, "1", rowIDs(t, clerk.Do(t, 200, "GET", rows, "")))
	clerk.Do(t, 200, "PATCH", rows+"/1", `{"n":3,"id":"1","createdBy":"x"}`)
	clerk.RequireRefusal(t, 403, "permission_denied", "PATCH", rows+"/1", `{"n":3,"m":2}`)
	clerk.RequireRefusal(t, 403, "permission_denied", "POST", rows, `{}`)
	clerk.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/collections/people/import", "n\n1\n", "Content-Type", "text/csv")
	for _, who := range []nodetest.Workspace{clerk, editor} {
		who.RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/collections/hidden/rows", "")
		who.RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/collections/hidden/rows", "", "Accept", "text/csv")
		var all []map[string]any
		require.NoError(t, json.Unmarshal(who.Do(t, 200, "GET", p.Path+"/collections", "").Body, &all))
		require.Len(t, all, 1)
		require.Equal(t, "people", all[0]["name"])
	}
	p.RequireRefusal(t, 422, "validation_failed", "PUT", p.Path+"/security", `{"authorizations":{"rules":[{"action":"test","subject":"collection"}]}}`)

	// A key holds what it is given. Changing rows by an import is an update.
	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":`+rules+`}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	adds := key(`[{"action":"create","subject":"collections","conditions":{"name":"people"}}]`)
	adds.Do(t, 200, "POST", p.Path+"/collections/people/import", "id\nk1\n", "Content-Type", "text/csv")
	adds.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/collections/people/import?onConflictFields=id", "id\nk1\n", "Content-Type", "text/csv")
	adds.RequireRefusal(t, 403, "permission_denied", "GET", rows, "")
	adds.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/collections/hidden/rows", `{}`)
	require.Contains(t, p.Do(t, 200, "GET", rows+"/k1", "").JSON(t)["createdBy"], "key:key_")
	explained := p.Do(t, 200, "GET", p.Path+"/security/explain?action=read&subject=collections&id=hidden&user="+editor.UserID(t), "").JSON(t)
	require.Equal(t, false, explained["allowed"], "%v", explained)
}

func contextsOverREST(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"token":{"value":"a very secret text"}}`)
	p.AddAutomations(t, `
keep: {when: {endpoint: true}, do: [{set global.count: 3}, {set global.secret: '{{secret.token}}'}, {set user.name: Ann}, {set session.cart: [1, 2]}, {set user.deep: {k: 'x {{secret.token}} y'}}]}`)
	require.JSONEq(t, `{}`, string(p.Do(t, 200, "GET", p.Path+"/contexts/global", "").Body))
	p.CallEndpoint(t, 200, "POST", "keep", `{}`)
	me := p.Do(t, 200, "GET", "/v2/me", "").JSON(t)
	global := p.Do(t, 200, "GET", p.Path+"/contexts/global", "")
	require.JSONEq(t, `{"count":3,"secret":"REDACTED"}`, string(global.Body))
	require.JSONEq(t, `{"name":"Ann","deep":{"k":"x REDACTED y"}}`, string(p.Do(t, 200, "GET", p.Path+"/contexts/user/"+me["id"].(string), "").Body))
	require.JSONEq(t, `{"cart":[1,2]}`, string(p.Do(t, 200, "GET", p.Path+"/contexts/session/"+me["sessionId"].(string), "").Body))
	require.JSONEq(t, `{}`, string(p.Do(t, 200, "GET", p.Path+"/contexts/user/nobody", "").Body))
	p.RequireRefusal(t, 400, "invalid_parameter", "GET", p.Path+"/contexts/user/"+strings.Repeat("x", 500), "")
	p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/contexts/run/x", "")
	reader := p.As(w.NewUser(t, "ctxreader"))
	p.Do(t, 200, "POST", p.Path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":{"policies":{"read":true}}}`, reader.UserID(t)))
	require.Equal(t, map[string]any{"action": "test", "subject": "automations"}, reader.RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/contexts/global", ""))
}

func usersOverREST(t *testing.T, w *nodetest.OwnedService) {
	t.Parallel()
	admin := nodetest.Workspace{Service: w.Service, Auth: nodetest.Bearer(w.SignInAdmin(t))}
	for i, name := range []string{"zoe", "yan", "xia"} {
		admin.Do(t, 201, "POST", "/v2/users", fmt.Sprintf(`{"email":"%s@listed.example","firstName":"Listed","lastName":"%c","password":"long enough"}`, name, 'A'+i))
	}
	var found []map[string]any
	list := func(query string) (emails []string) {
		got := admin.Do(t, 200, "GET", "/v2/users?search=listed&"+query, "")
		require.NoError(t, json.Unmarshal(got.Body, &found))
		for _, u := range found {
			emails = append(emails, strings.TrimSuffix(u["email"].(string), "@listed.example"))
		}
		return emails
	}
	require.Equal(t, []string{"xia", "yan", "zoe"}, list(""))
	require.NotContains(t, found[0], "password")
	require.Equal(t, []string{"zoe", "yan", "xia"}, list("sort=lastName"))
	require.Equal(t, []string{"yan"}, list("sort=email&limit=1&page=1"))
	page := admin.Do(t, 200, "GET", "/v2/users?search=listed&limit=1", "")
	require.Equal(t, "3", page.Header.Get("X-Total-Count"))
	require.Contains(t, page.Header.Get("Link"), `rel="next"`)
	admin.Do(t, 200, "PATCH", "/v2/users/"+found[0]["id"].(string), `{"status":"deactivated"}`)
	require.Equal(t, []string{"yan"}, list("status=deactivated"))
	require.Equal(t, []string{"yan"}, list("validated=false"))
	require.Equal(t, []string{"xia", "zoe"}, list("validated=true"))
	require.Equal(t, []string{"yan", "xia", "zoe"}, list("sort=-updatedAt"))
	require.Empty(t, list("status=pending"))
	admin.RequireRefusal(t, 400, "invalid_parameter", "GET", "/v2/users?status=nope", "")
	admin.RequireRefusal(t, 400, "invalid_parameter", "GET", "/v2/users?validated=maybe", "")
	admin.RequireRefusal(t, 400, "invalid_parameter", "GET", "/v2/users?sort=meta", "")
	w.NewWorkspace(t).RequireRefusal(t, 403, "permission_denied", "GET", "/v2/users", "")
	nodetest.Workspace{Service: w.Service}.RequireRefusal(t, 401, "missing_token", "GET", "/v2/users", "")
}
