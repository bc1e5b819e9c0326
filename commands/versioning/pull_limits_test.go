package versioning_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object writes a Git object, whatever Git thinks of it.
func (p *gitWorkspace) object(kind string, body []byte) string {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "object")
	require.NoError(p.t, os.WriteFile(path, body, 0o600))
	return p.repo.Git("hash-object", "-t", kind, "--literally", "-w", path)
}

// node is an entry of a tree: mode, id, name.
type node struct{ mode, id, name string }

// tree writes a tree that no work tree could have.
func (p *gitWorkspace) tree(nodes ...node) string {
	p.t.Helper()
	var b strings.Builder
	for _, n := range nodes {
		id, err := hex.DecodeString(n.id)
		require.NoError(p.t, err)
		b.WriteString(n.mode + " " + n.name + "\x00" + string(id))
	}
	return p.object("tree", []byte(b.String()))
}

// replaceTree puts a tree with an index on the target branch.
func (p *gitWorkspace) replaceTree(nodes ...node) {
	p.t.Helper()
	index := node{"100644", p.object("blob", []byte("name: Shop\nslug: "+p.slug+"\n")), "index.yml"}
	p.repo.Git("update-ref", "refs/heads/main", p.repo.Git("commit-tree", "-m", "by hand", p.tree(append(nodes, index)...)))
}

const folder, regular, link, module = "40000", "100644", "120000", "160000"

func TestPull76UnsafeTreesAreRefused(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	good := p.object("blob", []byte("slug: x\n"))
	inner := p.tree(node{regular, good, "x.yml"})
	commit := p.onMain()
	for name, tt := range map[string]struct {
		nodes []node
		paths []any
	}{
		"a symlink":      {[]node{{link, good, "x.yml"}}, []any{"automations/x.yml"}},
		"a submodule":    {[]node{{module, commit, "module"}}, []any{"automations/module"}},
		"two dots":       {[]node{{folder, inner, ".."}}, []any{"automations/../x.yml"}},
		"a .GIT":         {[]node{{folder, inner, ".GIT"}}, []any{"automations/.GIT/x.yml"}},
		"its short name": {[]node{{folder, inner, "git~1"}}, []any{"automations/git~1/x.yml"}},
		"case twins":     {[]node{{regular, good, "A.yml"}, {regular, good, "a.yml"}}, []any{"automations/A.yml", "automations/a.yml"}},
		"a backslash":    {[]node{{regular, good, `b\c.yml`}}, []any{`automations/b\c.yml`}},
		"all are named":  {[]node{{regular, good, "ok.yml"}, {link, good, "x.yml"}, {link, good, "y.yml"}}, []any{"automations/x.yml", "automations/y.yml"}},
	} {
		p.replaceTree(node{folder, p.tree(tt.nodes...), "automations"})
		details := p.requirePullFailure(422, "unsafe_tree", "pull", "/pull", toOrigin)
		require.Equal(t, tt.paths, details["paths"], name)
		require.Equal(t, "charged", p.emittedEvent("charge"), name)
	}
	require.Empty(t, p.emittedEvent("ok"))
	p.requirePullFailure(422, "unsafe_tree", "pull", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
	unsafe := p.onMain()

	p.replaceTree(node{link, good, "elsewhere"}, node{module, commit, "vendor"}, node{folder, p.tree(node{regular, p.object("blob", []byte(file("charge", "safe"))), "charge.yml"}), "automations"})
	require.Equal(t, []any{"automations/charge"}, p.pull()["imported"], "elsewhere they do no harm")
	p.repo.Git("update-ref", "refs/tags/unsafe", unsafe)
	p.requirePullFailure(422, "unsafe_tree", "pull", "/versions/unsafe/pull", toOrigin)
}

func TestPull81TooMuchIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	blob := p.object("blob", []byte("do: []\n"))
	var many []node
	for i := range 5000 {
		many = append(many, node{regular, blob, fmt.Sprintf("f%04d.yml", i)})
	}
	p.replaceTree(node{folder, p.tree(many...), "automations"}) // and the index
	details := p.requirePullFailure(422, "limit_exceeded", "pull", "/pull", toOrigin)
	require.Equal(t, []any{"files", 5000.0}, []any{details["limit"], details["value"]})

	huge := p.object("blob", []byte("slug: x\nname: "+strings.Repeat("x", 1_100_000)+"\ndo: []\n"))
	p.replaceTree(node{folder, p.tree(node{regular, huge, "x.yml"}), "automations"})
	details = p.requirePullFailure(422, "limit_exceeded", "pull", "/pull", toOrigin)
	require.Equal(t, []any{"fileBytes", "automations/x.yml"}, []any{details["limit"], details["path"]})

	deep := p.tree(node{regular, blob, "x.yml"})
	for range 40 {
		deep = p.tree(node{folder, deep, "d"})
	}
	p.replaceTree(node{folder, deep, "pages"})
	require.Equal(t, "segments", p.requirePullFailure(422, "limit_exceeded", "pull", "/pull", toOrigin)["limit"])
}

// A repository that is larger than may be fetched is not, and leaves nothing; one
// with a huge file that is not ours is pulled.
func TestPull81AHugeBlob(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "GIT_MAX_FETCH_MB=2")
	p := newGitWorkspace(t, h)
	noise := make([]byte, 3<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	p.replaceTree(node{regular, p.object("blob", noise), "big.bin"})
	require.Equal(t, "fetchBytes", p.requirePullFailure(422, "limit_exceeded", "pull", "/pull", toOrigin)["limit"])
	left, err := filepath.Glob(filepath.Join(h.dir, "data", "git", "*", "*", "objects", "pack", "*"))
	require.NoError(t, err)
	require.Empty(t, left)

	zeros := p.object("blob", make([]byte, 64<<20)) // 64 kB on the wire
	p.replaceTree(node{regular, zeros, "big.bin"}, node{folder, p.tree(node{regular, p.object("blob", []byte(file("charge", "charged"))), "charge.yml"}), "automations"})
	require.Contains(t, p.pull()["imported"], "automations/charge")
	p.replaceTree(node{folder, p.tree(node{regular, zeros, "x.yml"}), "automations"})
	require.Equal(t, "fileBytes", p.requirePullFailure(422, "limit_exceeded", "pull", "/pull", toOrigin)["limit"])
}
