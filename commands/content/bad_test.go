package content_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	symlink = 0o120777 << 16
	device  = 0o060666 << 16
)

// shop is a workspace with content that nothing bad may change.
func shop(t *testing.T, h *testNode) string {
	t.Helper()
	id := h.create(t, `{"name":"Shop","slug":"shop"}`)
	got := h.importing(t, id, "", files(t, map[string]string{
		"index.yml": "name: Shop\nlabels: [aa]\n", "automations/charge.yml": "name: Charge\nwhen: {endpoint: true}\ndo: []\n",
		"pages/home.yml": "name: Home\nblocks: []\n",
	}))
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	return id
}

// laughs is YAML that grows a thousand times with each line.
const laughs = "name: x\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
	"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"

// What is unsafe, too large or not an archive at all is refused whole, by a new
// workspace as by one that exists.
func TestBadArchivesAreRefusedWhole(t *testing.T) {
	h := startNode(t)
	id := shop(t, h)
	before := h.export(t, id)
	index := entry{name: "index.yml", text: []byte("name: Evil\n")}
	with := func(name, text string) []byte { return pack(t, index, entry{name: name, text: []byte(text)}) }
	many := []entry{index}
	for i := range 5000 {
		many = append(many, entry{name: fmt.Sprintf("automations/a%d.yml", i), text: []byte("do: []\n")})
	}
	nested := files(t, map[string]string{"index.yml": "name: Inner\n"})
	bulk := pack(t, entry{name: "bulkExport.json", text: []byte(`{"workspaceIds":["aaaaaaa"]}`)}, entry{name: "workspaces/aaaaaaa.zip", text: nested})
	for name, tt := range map[string]struct {
		data   []byte
		reason string
	}{
		"nothing":                   {nil, "invalid_archive"},
		"no archive":                {[]byte("hello"), "invalid_archive"},
		"cut short":                 {before[:len(before)-30], "invalid_archive"},
		"a bomb":                    {pack(t, index, entry{name: "automations/a.yml", text: bytes.Repeat([]byte(" "), 60<<20)}), "limit_exceeded"},
		"a bomb of many files":      {pack(t, append([]entry{index}, bombs(40)...)...), "limit_exceeded"},
		"a large file":              {with("pages/a.yml", "name: "+strings.Repeat("x", 1100<<10)), "limit_exceeded"},
		"5001 files":                {pack(t, many...), "limit_exceeded"},
		"a parent path":             {with("automations/../../etc/passwd.yml", "do: []\n"), "unsafe_tree"},
		"a parent path elsewhere":   {with("../../README.md", "x"), "unsafe_tree"},
		"an absolute path":          {with("/automations/a.yml", "do: []\n"), "unsafe_tree"},
		"a backslash":               {with(`automations\a.yml`, "do: []\n"), "unsafe_tree"},
		"an empty part":             {with("automations//a.yml", "do: []\n"), "unsafe_tree"},
		"a dot":                     {with("automations/./a.yml", "do: []\n"), "unsafe_tree"},
		"a folder of Git":           {with("automations/.GIT/a.yml", "do: []\n"), "unsafe_tree"},
		"a trailing dot":            {with("automations/a./b.yml", "do: []\n"), "unsafe_tree"},
		"control characters":        {with("automations/a\x01.yml", "do: []\n"), "unsafe_tree"},
		"a link":                    {pack(t, index, entry{name: "automations/a.yml", text: []byte("/etc/passwd"), mode: symlink}), "unsafe_tree"},
		"a link for a folder":       {pack(t, index, entry{name: "automations", text: []byte("/etc"), mode: symlink}), "unsafe_tree"},
		"a device":                  {pack(t, index, entry{name: "pages/a.yml", mode: device}), "unsafe_tree"},
		"names but for case":        {pack(t, index, entry{name: "pages/a.yml", text: []byte("name: A\n")}, entry{name: "pages/A.yml", text: []byte("name: A\n")}), "unsafe_tree"},
		"a name twice":              {pack(t, index, entry{name: "pages/a.yml"}, entry{name: "pages/a.yml"}), "unsafe_tree"},
		"an archive inside":         {with("pages/inner.zip", string(nested)), "unsafe_tree"},
		"no index":                  {files(t, map[string]string{"automations/a.yml": "do: []\n"}), "missing_index"},
		"two indexes":               {with("index.json", `{"name":"x"}`), "invalid_index"},
		"an index of no mapping":    {files(t, map[string]string{"index.yml": "- a\n"}), "invalid_index"},
		"an index without name":     {files(t, map[string]string{"index.yml": "slug: x\n"}), "invalid_index"},
		"an index with a key twice": {files(t, map[string]string{"index.yml": "name: a\nname: b\n"}), "invalid_index"},
		"a broken index":            {files(t, map[string]string{"index.yml": "name: [\n"}), "invalid_index"},
		"a bomb of aliases":         {with("automations/a.yml", laughs), "limit_exceeded"},
		"depth":                     {with("automations/a.yml", "do: "+strings.Repeat("[", 70)+strings.Repeat("]", 70)+"\n"), "limit_exceeded"},
		"an archive of many":        {bulk, "bulk_archive"},
	} {
		for _, to := range []string{id, ""} {
			if to == "" && tt.reason == "bulk_archive" {
				continue // there it is welcome
			}
			got := h.importing(t, to, "?prune=true&force=true", tt.data)
			require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s: %s", name, got.body)
			require.Equal(t, "validation_failed", got.fields(t)["error"], name)
			require.Equal(t, tt.reason, got.reason(t), name)
		}
	}
	require.Equal(t, before, h.export(t, id), "nothing was imported")
	list := h.call(t, "GET", "/v2/workspaces?name=^(Evil|Inner|x|a|b)$", "", "")
	require.Equal(t, "[]", string(list.body), "nothing was made")
}

// bombs are files that are nothing much in an archive.
func bombs(n int) (all []entry) {
	for i := range n {
		all = append(all, entry{name: fmt.Sprintf("automations/b%d.yml", i), text: bytes.Repeat([]byte("#"), 1<<20-1)})
	}
	return all
}

// A file that is wrong is told of; the others are imported in one step. With
// strict, none is.
func TestBadFilesAmongGoodOnes(t *testing.T) {
	h := startNode(t)
	for name, tt := range map[string]struct {
		file, text string
		code       string
		line       float64
	}{
		"broken YAML":           {"pages/bad.yml", "name: Bad\nblocks: [\n", "invalid_document", 0},
		"a key twice":           {"pages/bad.yml", "name: Bad\nname: Again\n", "invalid_document", 2},
		"two documents":         {"pages/bad.yml", "name: a\n---\nname: b\n", "invalid_document", 0},
		"a tag":                 {"pages/bad.yml", "name: !!python/object x\n", "invalid_document", 1},
		"no UTF-8":              {"pages/bad.yml", "name: \xff\n", "invalid_document", 0},
		"control characters":    {"pages/bad.yml", "name: a\x00b\n", "invalid_document", 0},
		"an unknown alias":      {"pages/bad.yml", "name: *nobody\n", "invalid_document", 0},
		"broken JSON":           {"pages/bad.json", `{"name": `, "invalid_document", 0},
		"a key twice in JSON":   {"pages/bad.json", `{"name": "a", "name": "b"}`, "invalid_document", 0},
		"no mapping":            {"automations/bad.yml", "just text\n", "invalid_document", 0},
		"values of other types": {"pages/bad.yml", "name: 1\nblocks: yes\n", "invalid_document", 0},
		"an impossible slug":    {"automations/bad.yml", "slug: a.b\ndo: []\n", "invalid_slug", 0},
		"a slug that leads out": {"automations/bad.yml", "slug: ../../x\ndo: []\n", "invalid_slug", 0},
		"a slug of no text":     {"automations/bad.yml", "slug: [a]\ndo: []\n", "invalid_slug", 0},
		"bad security":          {"security.yml", "authorizations:\n  rules:\n    - {action: fly, subject: workspaces, inverted: true}\n", "invalid_document", 3},
		"a pointer of LFS":      {"pages/bad.yml", "version https://git-lfs.github.com/spec/v1\noid sha256:x\n", "invalid_document", 0},
	} {
		id := h.create(t, `{"name":"Shop"}`)
		data := files(t, map[string]string{
			"index.yml": "name: Shop two\n", tt.file: tt.text,
			"automations/good.yml": "name: Good\ndo: []\n", "pages/good.yml": "name: Good\n",
		})
		before := h.export(t, id)
		strict := h.importing(t, id, "?strict=true", data)
		require.Equal(t, http.StatusUnprocessableEntity, strict.status, "%s: %s", name, strict.body)
		require.Equal(t, "invalid_files", strict.reason(t), name)
		require.Equal(t, before, h.export(t, id), "%s: nothing applied", name)
		fresh := h.importing(t, "", "?strict=true", data)
		require.Equal(t, http.StatusUnprocessableEntity, fresh.status, "%s: %s", name, fresh.body)

		dry := h.importing(t, id, "?dryRun=true", data).fields(t)
		require.Equal(t, before, h.export(t, id), "%s: nothing applied", name)
		got := h.importing(t, id, "", data)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", name, got.body)
		result := got.fields(t)
		require.Equal(t, dry["imported"], result["imported"], name)
		require.Equal(t, []any{"automations/good", "index", "pages/good"}, result["imported"], name)
		require.Equal(t, []string{tt.code}, words(result["errors"], "err"), "%s: %s", name, got.body)
		require.Equal(t, []string{tt.file}, words(result["errors"], "filepath"), name)
		require.Equal(t, []string{id}, words(result["errors"], "workspaceId"), name)
		if tt.line > 0 {
			require.InDelta(t, tt.line, result["errors"].([]any)[0].(map[string]any)["line"], 0, name)
		}
	}
}

// Bodies that are no upload of an archive.
func TestBadUploads(t *testing.T) {
	h := startNode(t, "IMPORT_MAX_SIZE=100000")
	id := shop(t, h)
	before, good := h.export(t, id), files(t, map[string]string{"index.yml": "name: Other\n"})
	form := func(parts ...entry) (string, []byte) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, p := range parts {
			part, err := w.CreateFormFile(p.name, "x.zip")
			require.NoError(t, err)
			_, err = part.Write(p.text)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		return w.FormDataContentType(), b.Bytes()
	}
	large := bytes.Repeat([]byte("PK\x03\x04"), 30_000)
	for name, tt := range map[string]struct {
		parts  []entry
		media  string
		body   []byte
		status int
		code   string
	}{
		"no type":            {nil, "", good, 415, "invalid_request"},
		"JSON":               {nil, "application/json", []byte(`{}`), 415, "invalid_request"},
		"too large":          {nil, "application/zip", large, 413, "invalid_request"},
		"too large a part":   {[]entry{{name: "archive", text: large}}, "", nil, 413, "invalid_request"},
		"no part":            {[]entry{}, "", nil, 400, "missing_parameter"},
		"another part":       {[]entry{{name: "file", text: good}}, "", nil, 400, "invalid_request"},
		"two archives":       {[]entry{{name: "archive", text: good}, {name: "archive", text: good}}, "", nil, 400, "invalid_request"},
		"a broken multipart": {nil, "multipart/form-data; boundary=x", []byte("--x\r\nboo"), 400, "invalid_request"},
	} {
		if tt.parts != nil {
			tt.media, tt.body = form(tt.parts...)
		}
		for _, path := range []string{"/v2/workspaces/" + id + "/import", "/v2/workspaces/import"} {
			got, err := h.send("POST", path, tt.media, tt.body)
			require.NoError(t, err)
			require.Equal(t, tt.status, got.status, "%s: %s", name, got.body)
			require.Equal(t, tt.code, got.fields(t)["error"], name)
		}
	}
	for _, query := range []string{"?prune=maybe", "?dryRun=1", "?strict=", "?timeout=soon", "?force=true&force=true"} {
		got := h.importing(t, id, query, good)
		require.Equal(t, http.StatusBadRequest, got.status, "%s: %s", query, got.body)
		require.Equal(t, "invalid_parameter", got.fields(t)["error"], query)
	}
	for _, body := range []string{
		`{"workspaces":{"query":{"color":"red"}}}`, `{"workspaces":{"query":{"ids":[1]}}}`, `{"workspaces":{"query":{"name":3}}}`,
		`{"workspaces":{"query":[]}}`, `{"includeApps":"yes"}`, `{"more":1}`, `{"workspaces":{"pagination":{"page":"x"}}}`,
	} {
		got := h.call(t, "POST", "/v2/workspaces/export", "application/json", body)
		require.Equal(t, http.StatusBadRequest, got.status, "%s: %s", body, got.body)
	}
	got := h.call(t, "POST", "/v2/workspaces/export", "application/json", `{"workspaces":{"pagination":{"limit":0}}}`)
	require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s", got.body)
	require.Equal(t, before, h.export(t, id))
}
