package content_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/domain/automation"
)

// A file of each kind is checked without a workspace, and every fault has a place.
func TestInspectFindsWhatIsWrongWithFiles(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"index.yml":              "name: W\ndesciption: x\nevents:\n  types:\n    declared: {}\nblocks:\n  B:\n    automation: nothing\n",
		"security.yml":           "authorizations:\n  rules:\n    - subject: pages\n",
		"automations/a.yml":      "slug: a\nname: A\ndo:\n  - b: {}\n  - c: {}\n  - c: {}\n  - app.thing: {}\n  - gone.thing: {}\n  - emit: {event: made}\n",
		"automations/b.yml":      "slug: other\nname: B\nwhen:\n  events: [made, declared, app.x, never]\ndo: []\n",
		"automations/b.yaml":     "slug: b\nname: B\ndo: []\n",
		"automations/broken.yml": "do: [\n",
		"pages/p.yml":            "name: P\nautomation: a\nblocks:\n  - slug: RichText\n    automation: c\n  - slug: x.Y\n    automation: c\n",
		"imports/app.yml":        "appSlug: X\n",
		"knowledge/k.yml":        "name: K\nlanguage: klingon\n",
		"agents/x.yml":           "anything: 1\n",
	}
	inspect := func() (all []string) {
		files := map[string]*content.File{}
		for path, text := range texts {
			files[path] = content.Inspect(path, []byte(text), automation.Rules{})
		}
		names := content.CheckNames(files, false)
		for path, f := range files {
			for _, p := range slices.Concat(f.Problems, names[path]) {
				all = append(all, fmt.Sprintf("%s:%d:%d %t %s", path, p.Position.Line, p.Position.Column, p.Warning, p.Message))
			}
		}
		slices.Sort(all)
		return all
	}
	found := inspect()
	for i, want := range []string{
		`agents/x.yml:1:1 false instructions: is required`,
		`agents/x.yml:1:1 false name: is required`,
		`agents/x.yml:1:1 true anything: unknown field`,
		`automations/a.yml:5:5 true do[1].c: there is no instruction and no automation "c"`,
		`automations/a.yml:6:5 true do[2].c: there is no instruction and no automation "c"`,
		`automations/a.yml:8:5 true do[4]["gone.thing"]: there is no instruction and no automation "gone.thing"`,
		`automations/b.yml:0:0 false automations/b.yaml describes the same: delete one of them`,
		`automations/b.yml:1:1 false slug: the file is called b: rename the file or change the slug`,
		`automations/broken.yml:1:5 false `,
		`index.yml:2:1 true desciption: unknown field`,
		`index.yml:8:5 true blocks.B.automation: there is no instruction and no automation "nothing"`,
		`knowledge/k.yml:2:1 false language: must be one of`,
		`pages/p.yml:5:5 true blocks[0].automation: there is no instruction and no automation "c"`,
		`security.yml:3:7 false authorizations.rules[0].action: is required`,
	} {
		require.Greater(t, len(found), i, "%q", found)
		require.Contains(t, found[i], want)
	}
	require.Len(t, found, 14)

	delete(texts, "automations/b.yaml")
	delete(texts, "automations/broken.yml") // who knows what it emits
	require.Contains(t, inspect(), `automations/b.yml:4:35 true when.events[3]: no automation, page or app of this workspace emits "never"; if it is sent from outside, declare it in events.types`)
}
