package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/domain"
)

func TestArchivesOfOthersAreRead(t *testing.T) {
	t.Parallel()
	index, page := entry{name: "index.yml", text: "name: A\n"}, entry{name: "pages/a.yml", text: "{}"}
	want := tree(map[string]string{"index.yml": "name: A\n", "pages/a.yml": "{}"})
	under := func(root string, e entry) entry { e.name = root + e.name; return e }
	for name, entries := range map[string][]entry{
		"at the root":          {index, page},
		"under current":        {under("current/", index), under("current/", page)},
		"under another folder": {{name: "repo-main/"}, under("repo-main/", index), under("repo-main/", page), {name: "repo-main/README.md", text: "x"}},
		"made by macOS":        {under("a/", index), under("a/", page), {name: "__MACOSX/a/._index.yml", text: "x"}},
		"with what is ignored": {index, page, {name: "link", text: "/etc/passwd", mode: fs.ModeSymlink}, {name: ".git/config"}, {name: "pages/.x/b.yml"}, {name: "x/Icon\r"},
			{name: "x/A"}, {name: "x/a"}, {name: "big.bin", text: strings.Repeat("0", 1<<20), repeat: 20}},
		"stored": {under("c/", entry{name: index.name, text: index.text, store: true}), under("c/", page)},
	} {
		got, _, err := archive.Unzip(packed(t, entries...), archive.Usual)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	got, _, err := archive.Unzip(packed(t, index), archive.Usual)
	require.NoError(t, err)
	require.Len(t, got, 1, "a file alone is no folder")
	got, _, err = archive.Unzip(packed(t), archive.Usual)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestBadArchivesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	index := entry{name: "index.yml", text: "name: A\n"}
	for name, e := range map[string]entry{
		"parent folder":          {name: "../index.yml"},
		"parent in the middle":   {name: "pages/../../x.txt"},
		"absolute":               {name: "/etc/passwd"},
		"a dot":                  {name: "./x.txt"},
		"backslash":              {name: "pages\\x.yml"},
		"drive":                  {name: "C:\\x.yml"},
		"empty part":             {name: "pages//x.yml"},
		"NUL":                    {name: "a\x00b"},
		"not UTF-8":              {name: "pages/\xff.yml"},
		"twice":                  {name: "index.yml"},
		"a folder like a file":   {name: "index.yml/"},
		"encrypted":              {name: "pages/x.yml", flags: 1},
		"encrypted, not ours":    {name: "x.txt", flags: 1},
		"symlink":                {name: "pages/x.yml", text: "/etc/passwd", mode: fs.ModeSymlink},
		"folder symlink":         {name: "automations", text: "/etc", mode: fs.ModeSymlink},
		"device":                 {name: "pages/x.yml", mode: fs.ModeDevice},
		"pipe":                   {name: ".import.yml", mode: fs.ModeNamedPipe},
		"nested":                 {name: "more.ZIP"},
		"case twins":             {name: "pages/A.yml"},
		"Git's folder":           {name: "pages/.Git/x.yml"},
		"control characters":     {name: "pages/a\x07.yml"},
		"a space at the end":     {name: "pages/a /b.yml"},
		"macOS leaving a folder": {name: "__MACOSX/../x"},
	} {
		_, _, err := archive.Unzip(packed(t, index, entry{name: "pages/a.yml"}, e), archive.Usual)
		require.Equal(t, "unsafe_tree", reason(t, err), name)
		require.NotEmpty(t, detail(err, "paths"), name)
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("name: A\n"), "cut": packed(t, index)[:60], "wrong method": bytes.ReplaceAll(packed(t, index), []byte("\x08\x00\x08\x00"), []byte("\x08\x00\x0c\x00")),
		"wrong bytes": bytes.ReplaceAll(packed(t, entry{name: "index.yml", text: "name: A\n", store: true}), []byte("name: A"), []byte("name: B")),
	} {
		_, _, err := archive.Unzip(data, archive.Usual)
		require.Equal(t, "invalid_archive", reason(t, err), name)
	}
}

func TestBadSizesAreRefusedBeforeTheyFillTheMemory(t *testing.T) {
	t.Parallel()
	index := entry{name: "index.yml", text: "name: A\n"}
	many, unmanaged := []entry{index}, []entry{index}
	for i := range 5000 {
		many = append(many, entry{name: fmt.Sprintf("pages/%d.yml", i), store: true})
	}
	for i := range 6000 {
		unmanaged = append(unmanaged, entry{name: fmt.Sprint(i), store: true})
	}
	mega := strings.Repeat(" ", 1<<20)
	large := packed(t, entry{name: "index.yml", text: mega + "x"})
	lying := bytes.Clone(large)
	for _, header := range []string{"PK\x01\x02"} { // the size in the directory: 5 bytes
		at := bytes.Index(lying, []byte(header)) + 24
		copy(lying[at:], []byte{5, 0, 0, 0})
	}
	bomb, heavy := []entry{index}, []entry{index}
	for i := range 3 {
		bomb = append(bomb, entry{name: fmt.Sprintf("pages/%d.yml", i), text: mega})
	}
	for i := range 4 {
		heavy = append(heavy, entry{name: fmt.Sprintf("pages/%d.yml", i), text: mega, store: true})
	}
	limits := archive.Usual // but for those that would take long to reach
	limits.Entries, limits.TreeBytes = 6000, 4<<20
	for name, tt := range map[string]struct {
		data  []byte
		limit string
	}{
		"5001 files": {packed(t, many...), "files"}, "too many entries": {packed(t, unmanaged...), "entries"},
		"1 MB and a byte": {large, "fileBytes"}, "a bomb": {packed(t, bomb...), "ratio"}, "too much": {packed(t, heavy...), "treeBytes"},
	} {
		_, _, err := archive.Unzip(tt.data, limits)
		require.Equal(t, "limit_exceeded", reason(t, err), name)
		require.Equal(t, tt.limit, detail(err, "limit"), name)
	}
	_, _, err := archive.Unzip(lying, archive.Usual)
	require.Error(t, err, "what is said about the size is not believed")
	_, _, err = archive.Unzip(make([]byte, 50<<20+1), archive.Usual)
	require.Equal(t, "archiveBytes", detail(err, "limit"))
}

// Whatever the bytes: an archive is refused, or gives safe files that can be
// packed and unpacked again.
func FuzzUnzip(f *testing.F) {
	var b bytes.Buffer
	_ = tree(map[string]string{"index.yml": "name: A\n", "pages/a b/c.yml": "{}\n", ".import.yml": "{}\n"}).WriteZip(&b)
	f.Add(b.Bytes())
	b.Reset()
	_ = archive.Bulk{WorkspaceIDs: []string{"a"}, Archives: map[string][]byte{"a": {}}}.WriteZip(&b)
	f.Add(b.Bytes())
	t := &testing.T{}
	f.Add(packed(t, entry{name: "c/index.yml", text: "name: A\n"}, entry{name: "c/pages/../x.yml"}, entry{name: "c/automations", mode: fs.ModeSymlink}))
	f.Add(packed(t, entry{name: "index.yml", text: "a: [1, 2]\nb: &x {c: d}\ne: *x\n"}, entry{name: "pages/a.json", text: `{"slug":"b"}`}, entry{name: "__MACOSX/x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = archive.ReadBulk(data, archive.Usual)
		unzipped(t, data)
	})
}

// The same for archives that are well made, of files that are not.
func FuzzFiles(f *testing.F) {
	for _, seed := range [][2]string{
		{"pages/a.yml", "slug: b\nlabels: [c, a]\n"}, {"automations/a/b c.json", `{"do":[],"slug":"a/b c"}`}, {"pages/../x.yml", ""}, {"index.json", "{}"},
		{".import.yml", "checksums: {pages: {a: x}, index: y}\ngroups: [a]\n"}, {"security.yaml", "a: &a {b: 1}\nc: *a\n<<: *a\n"}, {"Pages/x.yml", "x"}, {"knowledge/.GIT/x.yml", ""},
	} {
		f.Add(seed[0], seed[1], "pages/A.yml", "name: |+\n  x\n\n", 0)
		f.Add(seed[0], seed[1], "index.yml", "name: A", 0o120000)
	}
	f.Fuzz(func(t *testing.T, name, text, name2, text2 string, mode int) {
		if len(name) > 1<<12 || len(name2) > 1<<12 {
			return
		}
		unzipped(t, packed(t, entry{name: "index.yml", text: "name: A\n"}, entry{name: strings.TrimRight(name, "/"), text: text}, entry{name: strings.TrimRight(name2, "/"), text: text2, mode: fs.FileMode(mode)}))
	})
}

func unzipped(t *testing.T, data []byte) {
	t.Helper()
	files, _, err := archive.Unzip(data, archive.Usual)
	if err != nil {
		_, refused := errors.AsType[*domain.Error](err)
		require.True(t, refused, "%v", err)
		return
	}
	require.NoError(t, files.Check(archive.Usual))
	back, _, err := archive.Unzip(zipped(t, files), archive.Usual)
	require.NoError(t, err)
	require.Equal(t, files, back)
	read, err := archive.Read(files, archive.Options{Limits: archive.Usual, Verify: true})
	if err != nil {
		reason(t, err)
		return
	}
	if read.Content.Index == nil {
		return
	}
	first, err := read.Content.Files(archive.Usual)
	require.NoError(t, err)
	require.Equal(t, read.Files, first)
	again, err := archive.Read(first, usual)
	require.NoError(t, err)
	require.Empty(t, again.Errors)
	require.Equal(t, first, again.Files)
}
