package merge_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/document"
	"svc/domain/shape"
)

// values are values of few words, so that changes collide.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case n < 2 && depth > 0:
			return mappings(depth-1).Draw(t, "mapping")
		case n == 2 && depth > 0:
			return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "list")
		case n == 3:
			return rapid.SampledFrom([]any{nil, true, 1.0, 2.0, "a\nb\n", "a\nb\nc\n", "<<<<<<< ours\n=======\n"}).Draw(t, "odd")
		default:
			return rapid.SampledFrom([]any{"a", "b", "c", "y"}).Draw(t, "word")
		}
	})
}

func mappings(depth int) *rapid.Generator[*document.Map] {
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := document.MapOf()
		for range rapid.IntRange(0, 6).Draw(t, "keys") {
			m.Set(rapid.SampledFrom([]string{"name", "description", "labels", "config", "do", "when", "blocks", "output", "x", "y"}).Draw(t, "key"),
				values(depth).Draw(t, "value"))
		}
		return m
	})
}

// changed are documents that are m but for some keys.
func changed(m *document.Map) *rapid.Generator[*document.Map] {
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := m.Copy()
		for key, v := range mappings(2).Draw(t, "new").All() {
			was, _ := m.Get(key)
			inner, isMap := was.(*document.Map)
			switch n := rapid.IntRange(0, 5).Draw(t, "how"); {
			case n == 0:
				m.Delete(key)
			case isMap && n < 4:
				m.Set(key, changed(inner).Draw(t, "inner"))
			default:
				m.Set(key, v)
			}
		}
		return m
	})
}

var paths = []string{"index.yml", "security.yml", "automations/a.yml", "pages/b/c.yml", "imports/d.yml"}

// trees are three trees: two that came from one.
func trees(t *rapid.T) (base, ours, theirs archive.Tree) {
	base, ours, theirs = archive.Tree{}, archive.Tree{}, archive.Tree{}
	for _, path := range paths {
		place, _ := archive.Locate(path)
		put := func(tree archive.Tree, doc *document.Map) {
			if rapid.IntRange(0, 9).Draw(t, "there") == 0 {
				return
			}
			doc, _ = shape.Correct(place.Kind, doc) // as what is stored was when it came in
			text, err := archive.Text(place, doc)
			require.NoError(t, err)
			tree[path] = text
		}
		doc := mappings(3).Draw(t, "document")
		put(base, doc)
		put(ours, changed(doc).Draw(t, "ours"))
		put(theirs, changed(doc).Draw(t, "theirs"))
	}
	return base, ours, theirs
}

func TestTheMergeOfOneChangeIsThatChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, changed, _ := trees(t)
		for _, sides := range [][2]archive.Tree{{base, changed}, {changed, base}, {changed, changed}} {
			r := merged(t, base, sides[0], sides[1])
			require.Empty(t, r.Conflicts)
			require.Equal(t, changed, r.Files)
		}
	})
}

func TestAMergeIsCleanForBothOrForNeither(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := trees(t)
		r, mirrored := merged(t, base, ours, theirs), merged(t, base, theirs, ours)
		require.Len(t, mirrored.Conflicts, len(r.Conflicts))
		for i, c := range r.Conflicts {
			require.Equal(t, c.Path, mirrored.Conflicts[i].Path)
			require.ElementsMatch(t, c.Keys, mirrored.Conflicts[i].Keys)
			require.NotContains(t, r.Files, c.Path)
		}
		for path, text := range r.Files {
			_, err := yamltext.ReadMap(text, document.FileLimits)
			require.NoError(t, err, path)
		}
	})
}

// Whatever the git binary merges to a document is merged here, to the same bytes.
func TestFilesAreMergedAsByGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	require.NoError(t, err, "the git binary is needed to compare with")
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := trees(t)
		r := merged(t, base, ours, theirs)
		for _, path := range paths {
			if base[path] == nil || ours[path] == nil || theirs[path] == nil {
				continue
			}
			text, clean := byGit(t, git, dir, base[path], ours[path], theirs[path])
			if _, err := yamltext.ReadMap(text, document.FileLimits); clean && err == nil {
				require.Equal(t, string(text), string(r.Files[path]), path)
			}
		}
	})
}

func byGit(t *rapid.T, git, dir string, base, ours, theirs []byte) (merged []byte, clean bool) {
	for i, text := range [][]byte{ours, base, theirs} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), text, 0o600))
	}
	cmd := exec.Command(git, "merge-file", "-p", "-q", "0", "1", "2") //nolint:gosec // as found
	cmd.Dir = dir
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return nil, false
	}
	require.NoError(t, err)
	return out.Bytes(), true
}
