package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A directory is the source of a workspace: made, changed, checked and pruned by one command.
func TestADirectoryIsApplied(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	require.Contains(t, d.requireFailure(t, 1, "apply", dir), "is no workspace")
	write("index.yml", "name: Shop\nslug: shop\n")
	write("automations/greet.yml", "slug: greet\nname: Greet\ndo: []\noutput: hello\n")
	write(".git/config", "not content")

	require.Contains(t, d.must(t, "validate", dir), "nothing is wrong, and nothing was changed")
	require.NotContains(t, d.must(t, "workspace", "list"), "shop", "it was checked only")
	require.Contains(t, d.must(t, "apply", dir), "made ")
	require.Equal(t, "hello\n", d.must(t, "run", "shop", "greet"))
	require.Equal(t, "nothing changes\n", d.must(t, "apply", dir))

	write("automations/greet.yml", "slug: greet\nname: Greet\ndo: []\noutput: goodbye\n")
	write("automations/more.yml", "slug: more\nname: More\ndo: []\noutput: more\n")
	plan := d.must(t, "apply", dir, "--dry-run")
	require.Contains(t, plan, "+ automations/greet")
	require.Contains(t, plan, "+ automations/more")
	require.Equal(t, "hello\n", d.must(t, "run", "shop", "greet"))
	d.must(t, "apply", dir)
	require.Equal(t, "goodbye\n", d.must(t, "run", "shop", "greet"))

	// A file that is wrong is named with its line; the others are applied unless --strict.
	write("automations/more.yml", "slug: more\nname: More\ndo: []\noutput: better\n")
	write("automations/bad.yml", "slug: bad\nname: Bad\ndo: [\n")
	for _, command := range [][]string{{"validate", dir}, {"apply", dir, "--strict"}, {"apply", dir}} {
		require.Equal(t, "more\n", d.must(t, "run", "shop", "more"), "%v", command)
		got := d.run(t, command...)
		require.Equal(t, 1, got.code, "%v", command)
		require.Contains(t, got.out+got.err, "automations/bad.yml", "%v", command)
	}
	require.Equal(t, "better\n", d.must(t, "run", "shop", "more"))

	require.NoError(t, os.Remove(filepath.Join(dir, "automations/bad.yml")))
	require.NoError(t, os.Remove(filepath.Join(dir, "automations/more.yml")))
	d.must(t, "apply", dir)
	require.Contains(t, d.must(t, "automation", "list", "shop"), "more", "without --prune it stays")
	require.Contains(t, d.must(t, "apply", dir, "--prune"), "- automations/more")
	require.NotContains(t, d.must(t, "automation", "list", "shop"), "more")

	// Another workspace, by name; one that is not there is not made by mistake.
	d.must(t, "workspace", "create", "Copy", "--slug", "copy")
	d.must(t, "apply", dir, "--workspace", "copy")
	require.Equal(t, "goodbye\n", d.must(t, "run", "copy", "greet"))
	require.Contains(t, d.requireFailure(t, 1, "apply", dir, "--workspace", "cpoy"), "workspace")
	require.True(t, strings.HasPrefix(d.must(t, "apply", dir, "--json"), "{"))
}
