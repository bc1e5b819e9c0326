package bulk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkspacesFollowThoseWhoseAppsTheyUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members []member
		want    []string
		cycles  [][]string
		missing map[string][]string
	}{
		"by slug":        {members: []member{{slug: "c"}, {slug: "a"}, {slug: "b"}}, want: []string{"a", "b", "c"}},
		"an app first":   {members: []member{{slug: "a", needs: []string{"mail"}}, {slug: "z", app: "mail"}, {slug: "b"}}, want: []string{"b", "z", "a"}},
		"a chain":        {members: []member{{slug: "a", needs: []string{"b"}}, {slug: "b", app: "b", needs: []string{"c"}}, {slug: "c", app: "c"}}, want: []string{"c", "b", "a"}},
		"its own app":    {members: []member{{slug: "a", app: "a", needs: []string{"a"}}}, want: []string{"a"}},
		"a missing app":  {members: []member{{slug: "a", needs: []string{"x"}}}, want: []string{"a"}, missing: map[string][]string{"a": {"x"}}},
		"a cycle":        {members: []member{{slug: "b", app: "b", needs: []string{"a"}}, {slug: "a", app: "a", needs: []string{"b"}}}, want: []string{"a", "b"}, cycles: [][]string{{"a", "b"}}},
		"after a cycle":  {members: []member{{slug: "a", needs: []string{"y"}}, {slug: "y", app: "y", needs: []string{"z"}}, {slug: "z", app: "z", needs: []string{"y"}}}, want: []string{"y", "a", "z"}, cycles: [][]string{{"y", "z"}}},
		"before a cycle": {members: []member{{slug: "a", app: "a", needs: []string{"b", "z"}}, {slug: "b", app: "b", needs: []string{"a"}}, {slug: "z", app: "z"}}, want: []string{"z", "a", "b"}, cycles: [][]string{{"a", "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := arrange(c.members)
			require.Equal(t, c.want, got.slugs)
			require.Equal(t, c.cycles, got.cycles)
			if c.missing == nil {
				c.missing = map[string][]string{}
			}
			require.Equal(t, c.missing, got.missing)
		})
	}
}

func TestNobodyWaitsForThoseWhoComeLater(t *testing.T) {
	t.Parallel()
	got := arrange([]member{{slug: "a", app: "a", needs: []string{"b"}}, {slug: "b", app: "b", needs: []string{"a"}}})
	require.Equal(t, map[string][]string{"b": {"a"}}, got.after)
}
