package automations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// formType is the type of what form makes.
const formType = "multipart/form-data; boundary=x"

// form is a multipart body of such parts.
func form(parts ...string) string {
	return "--x\r\n" + strings.Join(parts, "\r\n--x\r\n") + "\r\n--x--\r\n"
}

// field is a part with text.
func field(name, text string) string {
	return `Content-Disposition: form-data; name="` + name + "\"\r\n\r\n" + text
}

// filePart is a part with a file; of is what says under which name it comes.
func filePart(of, filename, content string) string {
	return `Content-Disposition: form-data` + of + `; filename="` + filename + "\"\r\nContent-Type: text/plain\r\n\r\n" + content
}

// testWithForm tests an automation with a form.
func testWithForm(t *testing.T, p nodetest.Workspace, status int, slug, query string, parts ...string) nodetest.Run {
	t.Helper()
	return nodetest.Run{Answer: p.Do(t, status, "POST", p.Path+"/test/"+slug+query, form(parts...), "Content-Type", formType), Workspace: p}
}

// A form is the whole input of a test: its fields, and a file under the name of its field.
func TestFormsThatTestsAreGiven(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: {do: [], output: {a: '{{a}}', b: '{{b}}', f: '{{f}}', file: '{{file}}', payload: '{{payload}}', by: '{{run.trigger.type}}'}}
size: {do: [], output: ['{{f.size}}', '{{f.base64.length}}', '{{a.length}}']}
hidden: {private: true, disabled: true, do: [], output: {a: '{{a}}'}}
strict: {validateArguments: true, arguments: {f: {type: object, required: [size], properties: {size: {type: integer, maximum: 3}}}, a: {type: string, pattern: '^\d+$'}}, do: [{emit: {event: ran}}], output: {a: '{{a}}'}}
waits: [{wait: {oneOf: [{event: go}], timeout: 60, output: w}}, {emit: {event: done, payload: {a: '{{a}}', f: '{{f.base64}}'}}}]`)
	const hi = `{"originalname":"n.txt","encoding":"7bit","mimetype":"text/plain","size":2,"base64":"aGk="}`
	t.Run("fields and a file", func(t *testing.T) {
		t.Parallel()
		got := testWithForm(t, p, 200, "t", "", field("a", "1"), filePart(`; name="f"`, "n.txt", "hi"), field("b", "x"), field("b", ""), field("payload", `{"a":2}`))
		require.JSONEq(t, `{"a":"1","b":["x",""],"f":`+hi+`,"payload":"{\"a\":2}","by":"test"}`, string(got.Body))
		ended := got.AwaitEvents(t, 1, nodetest.Executed)[0]
		require.JSONEq(t, `{"a":"1","f":`+hi+`,"b":["x",""],"payload":"{\"a\":2}"}`, ended.At("payload"))
		require.JSONEq(t, `{"type":"test","value":"t"}`, ended.At("trigger"))
		require.JSONEq(t, `{"file":`+hi+`,"by":"test"}`, string(testWithForm(t, p, 200, "t", "", filePart("", "n.txt", "hi")).Body), "a file without a field")
		require.JSONEq(t, `{"a":{"originalname":"é.bin","encoding":"7bit","mimetype":"application/octet-stream","size":2,"base64":"AP8="},"by":"test"}`,
			string(testWithForm(t, p, 200, "t", "", "Content-Disposition: form-data; name=\"a\"; filename=\"é.bin\"\r\n\r\n\x00\xff").Body))
		require.JSONEq(t, `{"a":"\ufffdé","by":"test"}`, string(testWithForm(t, p, 200, "t", "", field("a", "\xffé")).Body), "what is no text is none")
		require.JSONEq(t, `{"by":"test"}`, string(p.Do(t, 200, "POST", p.Path+"/test/t", "--x--\r\n", "Content-Type", formType).Body))
		require.JSONEq(t, `{"a":"1"}`, string(testWithForm(t, p, 200, "hidden", "", field("a", "1")).Body))
	})
	t.Run("as large as may be", func(t *testing.T) {
		t.Parallel()
		const most = 500 << 10
		full := filePart(`; name="f"`, "n.txt", strings.Repeat("x", most))
		require.JSONEq(t, `[512000,682668,1048576]`, string(testWithForm(t, p, 200, "size", "", full, field("a", strings.Repeat("y", 1<<20))).Body))
		refused := func(limit float64, parts ...string) {
			t.Helper()
			got := testWithForm(t, p, http.StatusRequestEntityTooLarge, "size", "", parts...)
			require.Equal(t, "invalid_request", got.Code(t))
			details := got.JSON(t)["details"].(map[string]any)
			require.InDelta(t, limit, details["limit"], 0)
			require.Greater(t, details["length"], limit)
		}
		refused(most, full+"x")
		refused(1<<20, field("a", strings.Repeat("y", 1<<20+1)))
		refused(11<<20, field("a", strings.Repeat("y", 11<<20)))
	})
	t.Run("a form that is none", func(t *testing.T) {
		t.Parallel()
		other := w.NewWorkspace(t).AddAutomations(t, `t: [{emit: {event: ran}}]`)
		file := filePart(`; name="f"`, "n.txt", "hi")
		whole := form(field("a", "1"), file)
		path := other.Path + "/test/t"
		for name, body := range map[string]string{
			"cut in a part": whole[:40], "cut in a file": whole[:len(whole)-20], "no form": "hello", "no part": "--x\r\nboo", "nothing": "",
			"too many parts": form(strings.Split(strings.Repeat(field("a", "1")+"|", 51), "|")[:51]...), "a name that is no text": form(field("a\x01", "1")),
		} {
			got := other.Service.SendAs(t, "POST", path, formType, nodetest.WithHeader(other.Auth, "Content-Type", formType), body)
			require.Equal(t, http.StatusBadRequest, got.StatusCode, "%s: %s", name, got.Body)
			require.Equal(t, "invalid_request", got.Code(t), name)
		}
		two := other.RequireRefusal(t, 400, "invalid_request", "POST", path, form(file, filePart(`; name="g"`, "m.txt", "ho")), "Content-Type", formType)
		require.Equal(t, map[string]any{"field": "g"}, two, "a test has one file")
		other.RequireRefusal(t, 415, "invalid_request", "POST", path, whole, "Content-Type", "multipart/form-data")
		other.RequireRefusal(t, 415, "invalid_request", "POST", path, whole, "Content-Type", "multipart/form-data; boundary=")
		other.As(nil).RequireRefusal(t, 401, "missing_token", "POST", path, whole, "Content-Type", formType)
		other.As(w.NewUser(t, "former")).RequireRefusal(t, 403, "workspace_access_denied", "POST", path, whole, "Content-Type", formType)
		other.RequireRefusal(t, 404, "resource_not_found", "POST", other.Path+"/test/nope", whole, "Content-Type", formType)
		require.Empty(t, other.AwaitEvents(t, 0, "ran,"+nodetest.Executed+",runtime.interactions.triggered", ""), "nothing ran")
	})
	t.Run("as its schema has it", func(t *testing.T) {
		t.Parallel()
		require.JSONEq(t, `{"a":"7"}`, string(testWithForm(t, p, 200, "strict", "", field("a", "7"), filePart(`; name="f"`, "n.txt", "hi")).Body))
		got := testWithForm(t, p, 400, "strict", "", field("a", "7"), filePart(`; name="f"`, "n.txt", "four"))
		details := got.JSON(t)["details"].(map[string]any)
		require.Equal(t, "InvalidArgumentsError", details["name"])
		require.Equal(t, "f.size", details["errors"].([]any)[0].(map[string]any)["field"])
		require.Empty(t, got.Events(t, "ran"))
	})
	t.Run("recorded, and in the background", func(t *testing.T) {
		t.Parallel()
		got := testWithForm(t, p, 200, "t", "?record=true", field("a", "1"), filePart(`; name="f"`, "n.txt", "hi"))
		got.AwaitEnd(t)
		require.Equal(t, "identical", got.Replay(t, `{}`).Status)
		begun := testWithForm(t, p, 202, "waits", "?async=true", field("a", "1"), filePart(`; name="f"`, "n.txt", "hi"))
		begun.AwaitEvents(t, 1, "runtime.waits.pending")
		p.Emit(t, `{"type":"go"}`)
		require.JSONEq(t, `{"a":"1","f":"aGk="}`, begun.AwaitEvents(t, 1, "done")[0].At())
	})
}
