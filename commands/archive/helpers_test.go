package archive_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
)

func parse(t require.TestingT, text string) *document.Map {
	m, err := yamltext.ReadMap([]byte(text), document.FileLimits)
	require.NoError(t, err)
	return m
}

func tree(files map[string]string) archive.Tree {
	t := archive.Tree{}
	for path, text := range files {
		t[path] = []byte(text)
	}
	return t
}

func zipped(t require.TestingT, tree archive.Tree) []byte {
	var b bytes.Buffer
	require.NoError(t, tree.WriteZip(&b))
	return b.Bytes()
}

// entry is one entry of an archive as somebody else makes it.
type entry struct {
	name, text string
	mode       fs.FileMode
	flags      uint16
	store      bool
	repeat     int
}

func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Flags: e.flags}
		if e.store {
			h.Method = zip.Store
		}
		h.SetMode(e.mode | 0o644)
		w, err := z.CreateHeader(h)
		require.NoError(t, err)
		for range max(e.repeat, 1) {
			_, err = w.Write([]byte(e.text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// reason returns details.reason of a refusal.
func reason(t require.TestingT, err error) string {
	refusal, ok := err.(*domain.Error) //nolint:errorlint // it is the error itself that is promised
	require.True(t, ok, "%v", err)
	require.Equal(t, domain.CodeValidation, refusal.Code)
	r, _ := refusal.Details["reason"].(string)
	return r
}

func detail(err error, key string) any {
	return err.(*domain.Error).Details[key] //nolint:errorlint,forcetypeassert // asked after reason
}

// documents are mappings with keys that are known to some kind and with others.
func documents() *rapid.Generator[*document.Map] {
	keys := rapid.SampledFrom(strings.Fields("name slug description labels config do when blocks public events id x y authorizations appSlug output"))
	var values func(depth int) *rapid.Generator[any]
	values = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0:
				return rapid.SampledFrom([]any{nil, true, false, 0.0, -1.5, 1e30, "", "a\nb\n", "yes", "a: b"}).Draw(t, "word")
			case kind == 1 && depth > 0:
				return rapid.SliceOfN(values(depth-1), 0, 3).Draw(t, "list")
			case kind == 2 && depth > 0:
				m := document.MapOf()
				for range rapid.IntRange(0, 3).Draw(t, "size") {
					m.Set(rapid.String().Draw(t, "key"), values(depth-1).Draw(t, "value"))
				}
				return m
			default:
				return rapid.String().Draw(t, "text")
			}
		})
	}
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := document.MapOf()
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			m.Set(keys.Draw(t, "key"), values(3).Draw(t, "value"))
		}
		return m
	})
}

// contents are the contents of workspaces.
func contents() *rapid.Generator[*archive.Content] {
	slugs := map[string]*rapid.Generator[string]{
		"agents": rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,9}`), "knowledge": rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,9}`),
		"imports":     rapid.StringMatching(`[a-z0-9_-]([a-z0-9 _-]{0,9}[a-z0-9_-])?`),
		"automations": rapid.StringMatching(`[a-z0-9_-]([a-z0-9 _-]{0,5}[a-z0-9_-])?(/[a-z0-9-]{1,5}){0,2}`),
		"tests":       rapid.StringMatching(`[a-z0-9]([a-z0-9 _-]{0,5}[a-z0-9_-])?(/[a-z0-9-]{1,5}){0,2}`),
		"pages":       rapid.StringMatching(`[a-z0-9]([a-z0-9 _-]{0,5}[a-z0-9_-])?(/[a-z0-9-]{1,5}){0,2}`),
	}
	return rapid.Custom(func(t *rapid.T) *archive.Content {
		drawn := func(kind *document.Kind) *document.Map { // what is stored was corrected when it came in
			doc, _ := shape.Correct(kind, documents().Draw(t, kind.Name))
			return doc
		}
		c := &archive.Content{Index: drawn(document.Index)}
		if rapid.Bool().Draw(t, "secured") {
			c.Security = drawn(document.Security)
		}
		for _, kind := range document.Kinds {
			if kind.Folder == "" {
				continue
			}
			for range rapid.IntRange(0, 3).Draw(t, kind.Folder) {
				c.Put(archive.Location{Kind: kind, Slug: slugs[kind.Folder].Draw(t, "slug")}, drawn(kind))
			}
		}
		return c
	})
}
