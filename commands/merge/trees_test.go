package merge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/merge"
	"svc/domain"
	"svc/domain/document"
)

const charge = "automations/charge.yml"

// tree is a tree of paths and texts, in turn.
func tree(files ...string) archive.Tree {
	t := archive.Tree{}
	for i := 0; i < len(files); i += 2 {
		t[files[i]] = []byte(files[i+1])
	}
	return t
}

func merged(t require.TestingT, base, ours, theirs archive.Tree, excludes ...string) *merge.Result {
	r, err := merge.Trees(context.Background(), base, ours, theirs, merge.Options{Limits: archive.Usual, Excludes: excludes})
	require.NoError(t, err)
	return r
}

// doc is an automation with more lines.
func doc(lines ...string) string { return "slug: charge\n" + strings.Join(lines, "") }

// The rows of the first table of contract/versioning.md 10.
func TestEveryRowOfTheTable(t *testing.T) {
	t.Parallel()
	a, b, c := doc("name: A\n"), doc("name: B\n"), doc("name: C\n")
	for name, row := range map[string]struct {
		base, ours, theirs, merged archive.Tree
		kind                       merge.Kind
	}{
		"unchanged, any":               {tree(charge, a), tree(charge, a), tree(charge, b), tree(charge, b), ""},
		"unchanged, deleted":           {tree(charge, a), tree(charge, a), tree(), tree(), ""},
		"any, unchanged":               {tree(charge, a), tree(charge, b), tree(charge, a), tree(charge, b), ""},
		"deleted, unchanged":           {tree(charge, a), tree(), tree(charge, a), tree(), ""},
		"changed the same way":         {tree(charge, a), tree(charge, b), tree(charge, b), tree(charge, b), ""},
		"changed, changed":             {tree(charge, a), tree(charge, b), tree(charge, c), tree(), merge.ModifyModify},
		"deleted, deleted":             {tree(charge, a), tree(), tree(), tree(), ""},
		"deleted, changed":             {tree(charge, a), tree(), tree(charge, b), tree(), merge.DeleteModify},
		"changed, deleted":             {tree(charge, a), tree(charge, b), tree(), tree(), merge.ModifyDelete},
		"added, added the same":        {tree(), tree(charge, a), tree(charge, a), tree(charge, a), ""},
		"added, added, different":      {tree(), tree(charge, a), tree(charge, b), tree(), merge.AddAdd},
		"added, nothing":               {tree(), tree(charge, a), tree(), tree(charge, a), ""},
		"nothing, added":               {tree(), tree(), tree(charge, a), tree(charge, a), ""},
		"renamed by one side":          {tree(charge, a), tree("automations/pay.yml", a), tree(charge, a), tree("automations/pay.yml", a), ""},
		"the import file of theirs":    {tree(".import.yml", "a: 1\n"), tree(".import.yml", "a: 2\n"), tree(".import.yml", "a: 3\n"), tree(".import.yml", "a: 3\n"), ""},
		"the import file went":         {tree(".import.yml", "a: 1\n"), tree(".import.yml", "a: 2\n"), tree(), tree(), ""},
		"unmanaged files of theirs":    {tree("README.md", "a"), tree("README.md", "b", "x", "1"), tree("README.md", "c", "y", "2"), tree("README.md", "c", "y", "2"), ""},
		"broken, and only theirs":      {tree(charge, a), tree(charge, a), tree(charge, "a: ["), tree(charge, "a: ["), ""},
		"broken, and both changed":     {tree(charge, a), tree(charge, b), tree(charge, "a: ["), tree(), merge.ModifyModify},
		"broken before, both repaired": {tree(charge, "a: ["), tree(charge, a), tree(charge, b), tree(), merge.ModifyModify},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := merged(t, row.base, row.ours, row.theirs)
			require.Equal(t, row.merged, r.Files)
			if row.kind == "" {
				require.Empty(t, r.Conflicts)
				return
			}
			require.Len(t, r.Conflicts, 1)
			got := r.Conflicts[0]
			require.Equal(t, charge, got.Path)
			require.Equal(t, row.kind, got.Kind)
			require.Equal(t, [][]byte{row.base[charge], row.ours[charge], row.theirs[charge]}, [][]byte{got.Base, got.Ours, got.Theirs})
			require.Contains(t, got.Merged, "<<<<<<< ours\n")
			require.Contains(t, got.Merged, ">>>>>>> theirs\n")
		})
	}
}

// The rows of the second table.
func TestTheExamplesOfTheContract(t *testing.T) {
	t.Parallel()
	config := func(lines string) string { return "name: Billing\nconfig:\n  value:\n    timeout: " + lines }
	for name, c := range map[string]struct {
		path, base, ours, theirs, merged string
		keys                             []string
	}{
		"clean by text": {
			charge, doc("do:\n  - a\n  - b\n  - c\n"), doc("do:\n  - x\n  - a\n  - b\n  - c\n"), doc("do:\n  - a\n  - b\n  - c\n  - z\n"),
			doc("do:\n  - x\n  - a\n  - b\n  - c\n  - z\n"), nil,
		},
		"clean by keys": {"index.yml", config("5\n"), config("5\n    retries: 3\n"), config("5\n    region: eu\n"), config("5\n    retries: 3\n    region: eu\n"), nil},
		"one key twice": {"index.yml", config("5\n"), config("8\n"), config("9\n"), "", []string{"config.value.timeout"}},
		"lists":         {charge, doc("do:\n  - a\n"), doc("do:\n  - b\n"), doc("do:\n  - c\n"), "", []string{"do"}},
		"labels of the index": {
			"index.yml", "name: B\nlabels:\n  - b\n", "name: B\nlabels:\n  - a\n", "name: B\nlabels:\n  - b\n  - c\n", "name: B\nlabels:\n  - a\n  - c\n", nil,
		},
		"labels of others": {charge, doc("labels:\n  - b\n"), doc("labels:\n  - a\n"), doc("labels:\n  - b\n  - c\n"), "", []string{"labels"}},
		"both added a file": {
			charge, "", doc("name: A\n"), doc("do:\n  - a\n"), doc("name: A\ndo:\n  - a\n"), nil,
		},
		"a key that is no name": {charge, doc("when:\n  a b: 1\n"), doc("when:\n  a b: 2\n"), doc("when:\n  a b: 3\n"), "", []string{`when["a b"]`}},
		"the text is not a document": { // the same key at two places
			charge, doc("when:\n  a: 1\n  b: 1\n  c: 1\n"), doc("when:\n  x: 1\n  a: 1\n  b: 1\n  c: 1\n"), doc("when:\n  a: 1\n  b: 1\n  c: 1\n  x: 1\n"),
			doc("when:\n  x: 1\n  a: 1\n  b: 1\n  c: 1\n"), nil,
		},
		"nor by keys": {
			charge, doc("when:\n  a: 1\n  b: 1\n  c: 1\n"), doc("when:\n  x: 1\n  a: 1\n  b: 1\n  c: 1\n"), doc("when:\n  a: 1\n  b: 1\n  c: 1\n  x: 2\n"),
			"", []string{"when.x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := tree(c.path, c.base)
			if c.base == "" {
				base = tree()
			}
			r := merged(t, base, tree(c.path, c.ours), tree(c.path, c.theirs))
			if c.keys == nil {
				require.Empty(t, r.Conflicts)
				require.Equal(t, c.merged, string(r.Files[c.path]))
				return
			}
			require.Empty(t, r.Files)
			require.Len(t, r.Conflicts, 1)
			require.Equal(t, c.keys, r.Conflicts[0].Keys)
			require.Contains(t, r.Conflicts[0].Merged, "<<<<<<< ours\n")
		})
	}
}

func TestAnExcludedPlaceIsOurs(t *testing.T) {
	t.Parallel()
	home := "pages/home.yml"
	r := merged(t, tree(home, "a: 1\n", charge, doc()), tree(home, "a: 2\n"), tree(home, "a: 3\n", charge, doc("name: B\n"), "automations/x.yml", "a: 1\n"), "pages/home", "automations/*")
	require.Empty(t, r.Conflicts)
	require.Equal(t, tree(home, "a: 2\n"), r.Files)
	require.Empty(t, r.Ours)
	require.Empty(t, r.Theirs)
}

func TestBytesOfTheirsAreKeptWhileTheyMeanTheSame(t *testing.T) {
	t.Parallel()
	plain, commented := doc("name: A\n"), "# how to charge\r\nname: 'A'\r\nslug: charge\r\n"
	changed := doc("name: B\n")
	require.Equal(t, tree(charge, commented), merged(t, tree(charge, plain), tree(charge, plain), tree(charge, commented)).Files)
	require.Equal(t, tree(charge, commented), merged(t, tree(), tree(charge, plain), tree(charge, commented)).Files)
	r := merged(t, tree(charge, plain), tree(charge, changed), tree(charge, commented))
	require.Equal(t, tree(charge, changed), r.Files, "a comment is no change")
	require.Equal(t, []string{"automations/charge"}, r.Ours)
	require.Empty(t, r.Theirs)

	// Theirs has all that ours changed, and more.
	base, ours, theirs := doc("when:\n  a: 1\n"), doc("when:\n  a: 1\n  b: 1\n"), "# more\n"+doc("when:\n  a: 1\n  b: 1\n  c: 1\n")
	require.Equal(t, tree(charge, theirs), merged(t, tree(charge, base), tree(charge, ours), tree(charge, theirs)).Files)
}

func TestAnObjectIsTheSameWhateverItsExtension(t *testing.T) {
	t.Parallel()
	json := "automations/charge.json"
	base := tree(json, `{"when":{"a":1},"do":[],"name":"A"}`)
	ours := tree(charge, doc("name: B\nwhen:\n  a: 1\ndo: []\n"))
	require.Equal(t, ours, merged(t, base, ours, base).Files)
	r := merged(t, base, ours, tree(json, `{"when":{"a":2},"do":[],"name":"A"}`))
	require.Equal(t, tree(charge, doc("name: B\nwhen:\n  a: 2\ndo: []\n")), r.Files)
	r = merged(t, base, ours, tree(json, `{"when":{"a":1},"do":[],"name":"C"}`))
	require.Equal(t, charge, r.Conflicts[0].Path)
	require.Equal(t, []string{"name"}, r.Conflicts[0].Keys)
	r = merged(t, base, tree(json, `{"name":"B"}`), tree(json, `{"name":"C"}`))
	require.Equal(t, json, r.Conflicts[0].Path, "where all have it")

	// Two files for one object are for the import to refuse.
	twice := tree(json, `{"name":"A"}`, charge, doc("name: B\n"))
	require.Equal(t, twice, merged(t, base, base, twice).Files)
}

func TestWhatIsPutTogetherIsValidated(t *testing.T) {
	t.Parallel()
	base, ours, theirs := tree(charge, doc("name: A\n", "when:\n  a: 1\n", "do: []\n")),
		tree(charge, doc("name: B\n", "when:\n  a: 1\n", "do: []\n")), tree(charge, doc("name: A\n", "when:\n  a: 1\n", "do: []\n", "output: x\n"))
	asked := 0
	answer := func(err error) (*merge.Result, error) {
		return merge.Trees(t.Context(), base, ours, theirs, merge.Options{Limits: archive.Usual, Validate: func(p archive.Location, doc *document.Map) error {
			asked++
			require.Equal(t, "automations/charge", p.String())
			require.Equal(t, "B", doc.Text("name"))
			require.Equal(t, "x", doc.Text("output"))
			return err
		}})
	}
	r, err := answer(nil)
	require.NoError(t, err)
	require.Empty(t, r.Conflicts)
	require.Equal(t, 1, asked)
	for _, refusal := range []error{domain.Refuse(domain.CodeValidation, "no"), &document.Fault{Message: "no"}} {
		r, err = answer(refusal)
		require.NoError(t, err)
		require.Empty(t, r.Files)
		require.Empty(t, r.Conflicts[0].Keys)
		require.Contains(t, r.Conflicts[0].Merged, "<<<<<<< ours\n")
	}
	_, err = answer(errors.New("EIO"))
	require.EqualError(t, err, "EIO")
}

func TestAMergeBeyondTheLimitsConflicts(t *testing.T) {
	t.Parallel()
	limits := archive.Usual
	limits.FileBytes = 60
	long := strings.Repeat("x", 20)
	base := tree(charge, doc("name: A\nwhen:\n  a: 1\n"))
	ours, theirs := tree(charge, doc("name: "+long+"\nwhen:\n  a: 1\n")), tree(charge, doc("name: A\nwhen:\n  a: 1\noutput: "+long+"\n"))
	r, err := merge.Trees(t.Context(), base, ours, theirs, merge.Options{Limits: limits})
	require.NoError(t, err)
	require.Len(t, r.Conflicts, 1)
}

func TestAMergeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := merge.Trees(ctx, nil, nil, tree(charge, doc()), merge.Options{Limits: archive.Usual})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheResultIsInOrder(t *testing.T) {
	t.Parallel()
	side := func(name string) archive.Tree {
		all := archive.Tree{}
		for _, path := range []string{"pages/b.yml", "index.yml", "automations/a/b.yml", "automations/a.yml", "automations/a-b.yml"} {
			all[path] = []byte("name: " + name + "\n")
		}
		return all
	}
	r := merged(t, side("A"), side("B"), side("C"))
	var paths []string
	for _, c := range r.Conflicts {
		paths = append(paths, c.Path)
	}
	require.Equal(t, []string{"automations/a-b.yml", "automations/a.yml", "automations/a/b.yml", "index.yml", "pages/b.yml"}, paths)
	require.Equal(t, []string{"automations/a", "automations/a-b", "automations/a/b", "index", "pages/b"}, r.Ours)
	require.Equal(t, r.Ours, r.Theirs)
}

func TestTheTextOfAConflictCanBeShown(t *testing.T) {
	t.Parallel()
	r := merged(t, tree(charge, doc("name: A\n")), tree(charge, doc("name: B\n")), tree(charge, "name: \xff\n"))
	require.Equal(t, "<<<<<<< ours\nslug: charge\nname: B\n=======\nname: \ufffd\n>>>>>>> theirs\n", r.Conflicts[0].Merged)
}

func TestOddFilesConflictToo(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 300)
	with := func(v string) archive.Tree { return tree(charge, doc("when:\n  "+key+": "+v+"\n")) }
	r := merged(t, with("a"), with("b"), with("c"))
	require.Equal(t, []string{`when["` + strings.Repeat("k", 100) + `…"]`}, r.Conflicts[0].Keys, "a long key is cut")

	r = merged(t, with("a"), with("b"), archive.Tree{charge: nil})
	require.NotNil(t, r.Conflicts[0].Theirs, "an empty file is there")
	require.Equal(t, merge.ModifyModify, r.Conflicts[0].Kind)
}
