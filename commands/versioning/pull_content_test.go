package versioning_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// zipOf packs files: path, text, path, text.
func zipOf(t *testing.T, pathsAndTexts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pathsAndTexts); i += 2 {
		f, err := w.Create("current/" + pathsAndTexts[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, pathsAndTexts[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// importArchive imports an archive.
func (p *gitWorkspace) importArchive(query string, archive []byte) map[string]any {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), "POST", p.base+p.path+"/import"+query, bytes.NewReader(archive))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer u1")
	r.Header.Set("Content-Type", "application/zip")
	got, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, 200, got.StatusCode, "%s", body)
	return answer{got, body}.json(p.t)
}

func TestPull45TheOrderOfKeysIsContent(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.ok(201, "POST", "/automations", `{"slug":"choose","name":"Choose","do":[{"conditions":{"b":[{"emit":{"event":"b"}}],"a":[{"emit":{"event":"a"}}]}}]}`)
	first := p.content()
	text := p.exported("automations/choose.yml")
	require.Less(t, strings.Index(text, " b:"), strings.Index(text, " a:"), text)
	got := p.importArchive("", []byte(first))
	require.Equal(t, []any{}, got["imported"])
	require.Equal(t, first, p.content())

	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("automations/choose.yml", strings.Replace(text, "name: Choose", "name: Choose well", 1))
	clone.Commit("name")
	clone.Push("main")
	p.pull()
	require.Equal(t, strings.Replace(text, "name: Choose", "name: Choose well", 1), p.exported("automations/choose.yml"))
}

func TestPull46TwoNodesExportTheSame(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	clone.Write("pages/home.yml", "blocks: []\nname: Home\n", "automations/refund.yml", "{\"do\": [], \"name\": \"Refund\", \"slug\": \"refund\"}\n")
	clone.Commit("by hand")
	clone.Push("main")
	p.pull()

	h := newFixture(t)
	other := *p
	other.fixture = h
	other.id = h.do(t, 201, "POST", "/v2/workspaces", fmt.Sprintf(`{"name":"Other","slug":%q}`, p.slug)).json(t)["id"].(string)
	other.path = "/v2/workspaces/" + other.id
	other.configure("")
	other.pull()
	require.Equal(t, p.content(), other.content())
	require.False(t, other.isDirty())
}

func TestPull47AnArchiveDeletesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.ok(201, "POST", "/pages", `{"slug":"x","name":"X","blocks":[]}`)
	p.ok(200, "PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[]}}`)
	archive := zipOf(t, "index.yml", "name: Shop\nslug: "+p.slug+"\n", "automations/charge.yml", file("charge", "charged"))
	got := p.importArchive("", archive)
	require.Equal(t, []any{}, got["deleted"])
	p.ok(200, "GET", "/pages/x", "")
	got = p.importArchive("?prune=true", archive)
	require.Equal(t, []any{"pages/x"}, got["deleted"])
	p.ok(404, "GET", "/pages/x", "")
	require.Contains(t, p.exported("security.yml"), "editor")
	require.NotEmpty(t, p.exported("index.yml"))
}

func TestPull49LabelsAreUnitedAndDomainsKept(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	domain := p.slug + ".example.com"
	p.ok(200, "PATCH", "", fmt.Sprintf(`{"labels":["la"],"customDomains":[%q]}`, domain))
	p.importArchive("", zipOf(t, "index.yml", "name: Shop\nslug: other\nlabels: [lb]\ncustomDomains: [else.example.com]\n"))
	now := p.workspace()
	require.Equal(t, []any{"la", "lb"}, now["labels"])
	require.Equal(t, []any{domain}, now["customDomains"])
	require.Equal(t, p.slug, now["slug"])
}

func TestPull52ReadersSeeTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	var files []string
	for i := range 400 {
		slug := fmt.Sprintf("a%03d", i)
		files = append(files, "automations/"+slug+".yml", file(slug, "new"))
	}
	clone.Git("rm", "-q", "automations/charge.yml")
	clone.Write(files...)
	clone.Commit("much")
	clone.Push("main")
	seen := map[string]bool{p.content(): true}
	stop := make(chan struct{})
	var reading sync.WaitGroup
	var failure error
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			got, err := p.ask("GET", p.path+"/export", "")
			if err != nil {
				failure = err
				return
			}
			seen[string(got.body)] = true
		}
	})
	got := p.ok(200, "POST", "/pull?timeout=60", toOrigin)
	close(stop)
	reading.Wait()
	require.NoError(t, failure)
	require.Len(t, got["imported"], 400)
	seen[p.content()] = true
	require.Len(t, seen, 2)
}
