package archive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
)

func TestABrokenFileIsAnItemBesideTheOthers(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{
		"index.yml":                "name: Billing\n",
		"security.json":            `{"authorizations":{"roles":{}}}`,
		"automations/good.yml":     "name: Good\ndo: []\n",
		"automations/broken.yml":   "name: Good\ndo: [\n",
		"automations/lfs.yml":      "version https://git-lfs.github.com/spec/v1\n",
		"automations/twice.yml":    "a: 1\nb: 1\na: 2\n",
		"automations/other.yml":    "slug: renamed\nlabls: [a]\n",
		"automations/bad.slug.yml": "name: X\n",
		"automations/number.yml":   "slug: [7]\n",
		"automations/up.yml":       "slug: ../up\n",
		"pages/dup.yml":            "name: One\n",
		"pages/dup.json":           `{"name":"Two"}`,
		"pages/x.yml":              "slug: Twin\n",
		"pages/y.yml":              "slug: twin\n",
		"imports/a/b.yml":          "appSlug: x\n",
		"README.md":                "\x00",
	})
	o := usual
	o.WorkspaceID = "k3"
	read, err := archive.Read(files, o)
	require.NoError(t, err)
	require.Equal(t, []archive.Item{
		{"slug \"bad.slug\" is not allowed for this kind of object", archive.ErrInvalidSlug, "automations/bad.slug.yml", 1, "k3", nil},
		{"line 2, column 5: expected a value here; put texts that begin with { or [ into quotes", archive.ErrInvalidDocument, "automations/broken.yml", 2, "k3", nil},
		{"line 1, column 1: must be a mapping", archive.ErrInvalidDocument, "automations/lfs.yml", 1, "k3", nil},
		{"slug must be a text", archive.ErrInvalidSlug, "automations/number.yml", 1, "k3", nil},
		{"line 3, column 1: the key \"a\" is given twice", archive.ErrInvalidDocument, "automations/twice.yml", 3, "k3", nil},
		{"slug \"../up\" is not allowed for this kind of object", archive.ErrInvalidSlug, "automations/up.yml", 1, "k3", nil},
		{"slug \"a/b\" is not allowed for this kind of object", archive.ErrInvalidSlug, "imports/a/b.yml", 1, "k3", nil},
		{"another file is for the same object", archive.ErrDuplicateObject, "pages/dup.json", 1, "k3", nil},
		{"another file is for the same object", archive.ErrDuplicateObject, "pages/dup.yml", 1, "k3", nil},
		{"another file is for the same object", archive.ErrDuplicateObject, "pages/x.yml", 1, "k3", nil},
		{"another file is for the same object", archive.ErrDuplicateObject, "pages/y.yml", 1, "k3", nil},
	}, read.Errors)
	require.Equal(t, []archive.Item{
		{"the slug is \"renamed\", the file should be automations/renamed.yml", archive.WarnSlugMismatch, "automations/other.yml", 1, "k3", nil},
		{"has no effect here: \"labls\"; did you mean \"labels\"?", archive.WarnUnknownField, "automations/other.yml", 2, "k3", nil},
	}, read.Warnings)
	require.Equal(t, []string{
		"automations/bad.slug", "automations/broken", "automations/lfs", "automations/number", "automations/twice", "automations/up",
		"imports/a/b", "pages/Twin", "pages/dup", "pages/twin", "pages/x", "pages/y",
	}, read.Failed)
	var places []string
	for _, p := range read.Content.Locations() {
		places = append(places, p.String())
	}
	require.Equal(t, []string{"index", "security", "automations/good", "automations/renamed"}, places)
	require.Equal(t, []string{"automations/good.yml", "automations/renamed.yml", "index.yml", "security.yml"}, read.Files.Paths())
	require.Equal(t, "slug: good\nname: Good\ndo: []\n", string(read.Files["automations/good.yml"]))
	require.Equal(t, "good", read.Content.Automations["good"].Text("slug"))
	require.Equal(t, "automations/other.yml", read.Sources[archive.Location{Kind: document.Automation, Slug: "renamed"}])

	o.Strict = true
	_, err = archive.Read(files, o)
	require.Equal(t, "invalid_files", reason(t, err))
	require.Len(t, detail(err, "errors"), 11)
}

func TestAnIndexIsNeeded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":              {map[string]string{"security.yml": "{}\n"}, "missing_index"},
		"broken":            {map[string]string{"index.yml": "a: [\n"}, "invalid_index"},
		"a list":            {map[string]string{"index.yml": "- a\n"}, "invalid_index"},
		"two":               {map[string]string{"index.yml": "a: 1\n", "index.json": "{}"}, "invalid_index"},
		"too deep":          {map[string]string{"index.yml": "a: " + strings.Repeat("[", 64) + strings.Repeat("]", 64)}, "limit_exceeded"},
		"long once written": {map[string]string{"index.yml": "{}", "pages/a.yml": "x: " + strings.Repeat("[", 60) + strings.Repeat("a,", 9000) + strings.Repeat("]", 60)}, "limit_exceeded"},
		"refused":           {map[string]string{"index.yml": "name: bad\n"}, "invalid_index"},
		"all empty":         {nil, "missing_index"},
	} {
		o := usual
		o.Validate = func(p archive.Location, doc *document.Map) error {
			if name, _ := doc.Get("name"); name == "bad" {
				return domain.Invalid(domain.FieldError{Field: "name", Message: "must be a text"})
			}
			return nil
		}
		_, err := archive.Read(tree(tt.files), o)
		require.Equal(t, tt.want, reason(t, err), name)
	}
}

func TestValidateAddsItems(t *testing.T) {
	t.Parallel()
	o := usual
	o.HasSlug = func(p archive.Location) bool { return p.Slug != "c" }
	o.Validate = func(p archive.Location, doc *document.Map) error {
		switch p.Slug {
		case "a":
			return domain.Invalid(domain.FieldError{Field: "do[0]", Message: "is unknown"})
		case "b":
			return &document.Fault{Line: 7, Message: "is wrong"}
		}
		return nil
	}
	files := map[string]string{"index.yml": "{}\n", "pages/a.yml": "{}", "pages/b.yml": "{}", "pages/c.yml": "{}", "pages/é.yml": "{}"}
	read, err := archive.Read(tree(files), o)
	require.NoError(t, err)
	require.Equal(t, []archive.Item{
		{Msg: "do[0]: is unknown", Err: archive.ErrInvalidDocument, Filepath: "pages/a.yml", Line: 1},
		{Msg: "line 7: is wrong", Err: archive.ErrInvalidDocument, Filepath: "pages/b.yml", Line: 7},
		{Msg: "slug \"c\" is not allowed for this kind of object", Err: archive.ErrInvalidSlug, Filepath: "pages/c.yml", Line: 1},
	}, read.Errors)
	require.Contains(t, read.Content.Pages, "é")

	trouble := errors.New("the disk is gone")
	o.Validate = func(archive.Location, *document.Map) error { return trouble }
	_, err = archive.Read(tree(files), o)
	require.ErrorIs(t, err, trouble, "what is not about a file is no item")
}

func TestChecksumsAreVerifiedWhenAsked(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{"index.yml": "name: A\n", "automations/a.yml": "do: []\r\n", "automations/b/c.yml": "do: []\n", "pages/p.yml": "name: P\n"})
	info := archive.ImportFile{
		WorkspaceID: "k3Jx9Qa", Version: "v2.5.0", Groups: []string{"z", "base", "z"}, DependsOn: []string{"app/mailer"},
		AppSlug: "billing", AppName: "Billing", Checksums: files.Checksums(),
	}
	info.Checksums["pages/gone"] = "sha256:00"
	text, err := info.Text()
	require.NoError(t, err)
	require.Equal(t, `workspaceId: k3Jx9Qa
version:
  name: v2.5.0
groups:
  - base
  - z
dependsOn:
  - app/mailer
app:
  slug: billing
  name: Billing
checksums:
  index: `+archive.Checksum(files["index.yml"])+`
  automations:
    a: `+archive.Checksum([]byte("do: []\n"))+`
    b/c: `+archive.Checksum([]byte("do: []\n"))+`
  pages:
    gone: sha256:00
    p: `+archive.Checksum(files["pages/p.yml"])+"\n", string(text))
	files[archive.ImportPath] = text
	files["automations/a.yml"] = []byte("do: []\n")
	files["automations/b/c.yml"] = []byte("do: [x]\n")

	for _, o := range []archive.Options{{Verify: true}, {Verify: true, Force: true}, {}} {
		o.Limits = archive.Usual
		read, err := archive.Read(files, o)
		require.NoError(t, err)
		require.Equal(t, "v2.5.0", read.Import.Version)
		require.Equal(t, info.Checksums, read.Import.Checksums)
		require.Equal(t, []string{"base", "z"}, read.Import.Groups)
		items := read.Errors
		if o.Force {
			items = read.Warnings
		}
		if !o.Verify {
			require.Empty(t, items)
			continue
		}
		require.Len(t, items, 2)
		require.Equal(t, "automations/b/c.yml", items[0].Filepath)
		require.Equal(t, "pages/gone.yml", items[1].Filepath)
		require.Equal(t, archive.ErrChecksumMismatch, items[0].Err)
		require.Equal(t, o.Force, read.Content.Automations["b/c"] != nil)
		if !o.Force {
			require.Equal(t, []string{"automations/b/c", "pages/gone"}, read.Failed)
		}
	}
	require.Equal(t, archive.Digest(info.Checksums), archive.Digest(info.Checksums))
	require.NotEqual(t, archive.Digest(info.Checksums), archive.Digest(nil))
}

func TestABrokenImportFileIsAnItem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [": "line 1, column 4: expected a value here; put texts that begin with { or [ into quotes", "groups: x": "groups must be a list of texts", "groups: [1]": "groups must be a list of texts",
		"version: v1": "version must be a mapping", "workspaceId: 1": "workspaceId must be a text", "checksums: {pages: {a: 1}}": "a must be a text",
	} {
		read, err := archive.Read(tree(map[string]string{"index.yml": "{}\n", ".import.yml": text}), usual)
		require.NoError(t, err)
		require.Nil(t, read.Import)
		require.Len(t, read.Errors, 1, text)
		require.Equal(t, archive.ErrInvalidImportFile, read.Errors[0].Err)
		require.Equal(t, want, read.Errors[0].Msg)
	}
	text, err := archive.ImportFile{}.Text()
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(text))
}

func TestCanonicalTellsWhetherTwoFilesMeanTheSame(t *testing.T) {
	t.Parallel()
	p := archive.Location{Kind: document.Automation, Slug: "a"}
	one, err := archive.Canonical(p, []byte("# mine\ndo: [ ]\nname:  'A'\n"), document.FileLimits)
	require.NoError(t, err)
	two, err := archive.Canonical(p, []byte(`{"name":"A","slug":"a","do":[],"labels":[]}`), document.FileLimits)
	require.NoError(t, err)
	require.Equal(t, string(one), string(two))
	_, err = archive.Canonical(p, []byte("["), document.FileLimits)
	require.Error(t, err)
}

func TestBadTreesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{
		{"automations/../x.yml"}, {"automations/./x.yml"}, {"automations//x.yml"}, {"automations/.git/x.yml"}, {"automations/.GiT/x.yml"}, {"automations/git~1/x.yml"},
		{"automations/.g\u200cit/x.yml"}, {"automations/.git::$INDEX_ALLOCATION/x.yml"}, {"automations/a\\b.yml"}, {"automations/a\x00.yml"}, {"automations/a\n.yml"},
		{"automations/ a.yml"}, {"automations/a /b.yml"}, {"automations/a./b.yml"}, {"automations/\xff.yml"}, {"automations/A.yml", "automations/a.yml"},
		{"pages/É.yml", "pages/é.yml"}, {"pages/K.yml", "pages/\u212a.yml"},
	} {
		files := archive.Tree{"index.yml": []byte("{}\n")}
		for _, p := range paths {
			files[p] = []byte("{}\n")
		}
		_, err := archive.Read(files, usual)
		require.Equal(t, "unsafe_tree", reason(t, err), "%q", paths)
		require.Len(t, detail(err, "paths"), len(paths), "%q", paths)
	}
	for limit, path := range map[string]string{
		"pathBytes": "pages/" + strings.Repeat("abc/", 130) + "x.yml", "segments": "pages/" + strings.Repeat("a/", 32) + "x.yml", "segmentBytes": "pages/" + strings.Repeat("a", 200) + ".yml",
	} {
		_, err := archive.Read(tree(map[string]string{"index.yml": "{}", path: "{}"}), usual)
		require.Equal(t, "limit_exceeded", reason(t, err))
		require.Equal(t, limit, detail(err, "limit"))
		require.Equal(t, path, detail(err, "path"))
	}
	many := archive.Tree{"index.yml": nil}
	for i := range 5000 {
		many[fmt.Sprintf("pages/%d.yml", i)] = nil
	}
	require.Equal(t, "files", detail(many.Check(archive.Usual), "limit"))
	small := archive.Usual
	small.FileBytes, small.TreeBytes = 10, 15
	require.Equal(t, "fileBytes", detail(tree(map[string]string{"a": "12345678901"}).Check(small), "limit"))
	require.Equal(t, "treeBytes", detail(tree(map[string]string{"a": "1234567890", "b": "123456"}).Check(small), "limit"))
}

func TestADirectoryIsReadWithoutFollowingLinks(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	dir := fstest.MapFS{
		"index.yml": file("name: A\n"), "README.md": file("x"), "node_modules/index.yml": file("x"), ".git/config": file("x"),
		"pages/a/b.yml": file("{}"), "pages/.hidden/x.yml": file("x"), "pages/logo.png": file("x"), "link": {Mode: 0o777 | 1<<27},
	}
	got, err := archive.ReadDirectory(dir, archive.Usual)
	require.NoError(t, err)
	require.Equal(t, tree(map[string]string{"index.yml": "name: A\n", "pages/a/b.yml": "{}"}), got)

	dir["pages/link.yml"] = &fstest.MapFile{Mode: 0o777 | 1<<27}
	dir["automations"] = &fstest.MapFile{Mode: 0o777 | 1<<27}
	_, err = archive.ReadDirectory(dir, archive.Usual)
	require.Equal(t, "unsafe_tree", reason(t, err))
	require.Equal(t, []string{"automations", "pages/link.yml"}, detail(err, "paths"))

	for limit, set := range map[string]func(*archive.Limits){
		"files": func(l *archive.Limits) { l.Files = 1 }, "fileBytes": func(l *archive.Limits) { l.FileBytes = 3 }, "treeBytes": func(l *archive.Limits) { l.TreeBytes = 9 },
	} {
		limits := archive.Usual
		set(&limits)
		_, err = archive.ReadDirectory(dir, limits)
		require.Equal(t, limit, detail(err, "limit"))
	}
	_, err = archive.ReadDirectory(fstest.MapFS{"index.yml": {Mode: 0o777 | 1<<27}}, archive.Usual)
	require.Equal(t, "unsafe_tree", reason(t, err))
}
