package archive_test

import (
	"archive/zip"
	"bytes"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/archive"
	"svc/domain/document"
)

var usual = archive.Options{Limits: archive.Usual}

func TestExportImportExportGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, err := contents().Draw(t, "content").Files(archive.Usual)
		require.NoError(t, err)
		exported := zipped(t, first)
		unpacked, _, err := archive.Unzip(exported, archive.Usual)
		require.NoError(t, err)
		require.Equal(t, first, unpacked)
		read, err := archive.Read(unpacked, usual)
		require.NoError(t, err)
		require.Empty(t, read.Errors)
		second, err := read.Content.Files(archive.Usual)
		require.NoError(t, err)
		require.Equal(t, exported, zipped(t, second))
		require.Equal(t, first, second)

		dir := fstest.MapFS{}
		for path, text := range first {
			dir[path] = &fstest.MapFile{Data: text}
		}
		fromDir, err := archive.ReadDirectory(dir, archive.Usual)
		require.NoError(t, err)
		require.Equal(t, first, fromDir)
	})
}

func TestTheFilesOfAWorkspace(t *testing.T) {
	t.Parallel()
	c := &archive.Content{Index: parse(t, "{id: k3, labels: [b, a, b], name: Billing, customDomains: [x]}"), Security: parse(t, "authorizations: {}")}
	for place, text := range map[archive.Location]string{
		{Kind: document.Automation, Slug: "Send mail/on error"}: "name: Send\ndo: []",
		{Kind: document.Page, Slug: "home"}:                     "slug: old\npublic: true",
		{Kind: document.Import, Slug: "Mail"}:                   "appSlug: mailer",
		{Kind: document.Agent, Slug: "helper"}:                  "name: H",
		{Kind: document.Knowledge, Slug: "faq"}:                 "name: F",
	} {
		c.Put(place, parse(t, text))
	}
	files, err := c.Files(archive.Usual)
	require.NoError(t, err)
	require.Equal(t, tree(map[string]string{
		"index.yml":                          "name: Billing\nlabels:\n  - a\n  - b\n",
		"security.yml":                       "{}\n",
		"automations/Send mail/on error.yml": "slug: Send mail/on error\nname: Send\ndo: []\n",
		"pages/home.yml":                     "slug: home\npublic: true\n",
		"imports/Mail.yml":                   "slug: Mail\nappSlug: mailer\n",
		"agents/helper.yml":                  "slug: helper\nname: H\n",
		"knowledge/faq.yml":                  "slug: faq\nname: F\n",
	}), files)
	c.Put(archive.Location{Kind: document.Page, Slug: "home"}, nil)
	require.Len(t, c.Locations(), 6)
}

func TestBadSlugsCannotBeFiles(t *testing.T) {
	t.Parallel()
	for _, slugs := range [][]string{{"Charge", "charge"}, {".."}, {"a/../../b"}, {".git/hooks/x"}, {"a\\b"}, {" a"}, {"a /b"}, {"a./b"}, {""}, {"__index__"}, {".x"}, {"a//b"}, {"\xff"}} {
		c := &archive.Content{Index: document.MapOf()}
		for _, slug := range slugs {
			c.Put(archive.Location{Kind: document.Automation, Slug: slug}, document.MapOf())
		}
		_, err := c.Files(archive.Usual)
		if slugs[0] == "\xff" {
			require.Error(t, err)
			continue
		}
		require.Equal(t, "unsafe_tree", reason(t, err), slugs)
		require.Len(t, detail(err, "paths"), len(slugs))
	}
	_, err := (&archive.Content{}).Files(archive.Usual)
	require.Equal(t, "missing_index", reason(t, err))
}

func TestAnArchiveHasNothingButContent(t *testing.T) {
	t.Parallel()
	data := zipped(t, tree(map[string]string{"pages/b.yml": "x", "index.yml": "name: A\n", "pages/a.yml": "y"}))
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Empty(t, z.Comment)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		require.Equal(t, zip.Store, f.Method)
		require.Equal(t, time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), f.Modified.UTC())
		require.Equal(t, "-rw-r--r--", f.Mode().String())
		require.Empty(t, f.Extra)
		require.Empty(t, f.Comment)
		require.Zero(t, f.Flags&8, "no sizes after the content")
	}
	require.Equal(t, []string{"current/index.yml", "current/pages/a.yml", "current/pages/b.yml"}, names)
}

func TestLocateKnowsWhatIsManaged(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"index.yml": "index", "index.json": "index", "security.yaml": "security", "automations/a/b c.yml": "automations/a/b c", "pages/x.json": "pages/x",
		"agents/a.yml": "agents/a", "knowledge/k.yaml": "knowledge/k", "imports/I.yml": "imports/I", "automations/../x.yml": "automations/../x",
		"automations/.GIT/x.yml": "automations/.GIT/x", "automations//x.yml": "automations//x",
		"README.md": "", "runtime.yml": "", "__index__.yml": "", "automations/__index__.yml": "", "automations/.x.yml": "", "automations/.x/y.yml": "",
		"automations/x.txt": "", "automations/.yml": "", "pages.yml": "", "Index.yml": "", "other/x.yml": "", ".import.yml": "", "index": "", "": "",
	} {
		place, ok := archive.Locate(path)
		require.Equal(t, want != "", ok, path)
		if ok {
			require.Equal(t, want, place.String())
		}
		require.Equal(t, want != "" || path == archive.ImportPath, archive.IsManaged(path), path)
	}
	excludes := archive.Excludes{"security", "pages/home", "automations/*"}
	for place, want := range map[string]bool{"security": true, "pages/home": true, "pages/home/x": false, "automations/a/b": true, "automations": false, "index": false} {
		require.Equal(t, want, excludes.Has(place), place)
	}
}

func TestManyWorkspacesInOneArchive(t *testing.T) {
	t.Parallel()
	inner := zipped(t, tree(map[string]string{"index.yml": "name: A\n"}))
	bulk := archive.Bulk{WorkspaceIDs: []string{"b", "a"}, PublishApps: []archive.BulkApp{{WorkspaceID: "a", Slug: "mailer"}}, Archives: map[string][]byte{"a": inner, "b": inner}}
	var b, again bytes.Buffer
	require.NoError(t, bulk.WriteZip(&b))
	require.NoError(t, bulk.WriteZip(&again))
	require.Equal(t, b.Bytes(), again.Bytes())
	require.True(t, archive.IsBulk(b.Bytes(), archive.Usual))
	require.False(t, archive.IsBulk(inner, archive.Usual))
	require.False(t, archive.IsBulk(nil, archive.Usual))
	back, err := archive.ReadBulk(b.Bytes(), archive.Usual)
	require.NoError(t, err)
	require.Equal(t, bulk, back)
	_, _, err = archive.Unzip(b.Bytes(), archive.Usual)
	require.Equal(t, "bulk_archive", reason(t, err))

	var empty bytes.Buffer
	require.NoError(t, archive.Bulk{}.WriteZip(&empty))
	back, err = archive.ReadBulk(empty.Bytes(), archive.Usual)
	require.NoError(t, err)
	require.Empty(t, back.WorkspaceIDs)
}

func TestBadArchivesOfManyWorkspacesAreRefused(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"no zip":        []byte("x"),
		"no index":      packed(t, entry{name: "workspaces/a.zip"}),
		"broken index":  packed(t, entry{name: archive.BulkName, text: "{"}),
		"missing":       packed(t, entry{name: archive.BulkName, text: `{"workspaceIds":["a"]}`}),
		"twice":         packed(t, entry{name: archive.BulkName, text: `{"workspaceIds":["a","a"]}`}, entry{name: "workspaces/a.zip"}),
		"in a folder":   packed(t, entry{name: archive.BulkName, text: `{"workspaceIds":["a/b"]}`}, entry{name: "workspaces/a/b.zip"}),
		"parent folder": packed(t, entry{name: archive.BulkName, text: `{"workspaceIds":["../a"]}`}, entry{name: "workspaces/../a.zip"}),
	} {
		_, err := archive.ReadBulk(data, archive.Usual)
		require.Contains(t, []string{"invalid_archive", "unsafe_tree"}, reason(t, err), name)
	}
	limits := archive.Usual
	limits.Workspaces = 1
	_, err := archive.ReadBulk(packed(t, entry{name: archive.BulkName, text: `{"workspaceIds":["a","b"]}`}), limits)
	require.Equal(t, "limit_exceeded", reason(t, err))
}
