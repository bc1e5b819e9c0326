package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/access"
)

func TestWhatEventsMustSayForAVisitorToReadThem(t *testing.T) {
	needs, bounded := ruled(t, `[]`).For(visitor).Needs("read", "events")
	require.True(t, bounded)
	var paths []string
	for _, alternative := range needs {
		for _, n := range alternative {
			if n.Path != "source.workspaceId" && n.Path != "source.serviceTopic" {
				paths = append(paths, n.Path)
			}
		}
	}
	require.ElementsMatch(t, []string{"source.sessionId", "target.sessionId"}, paths, "nobody else's, and they have no account")
}

func TestEventsThatAreReadWhateverTheySayHaveNoNeeds(t *testing.T) {
	for name, rules := range map[string]string{
		"a type by its beginning": `[{"action":"read","subject":"events","conditions":{"type":{"$regex":"^a"}}}]`,
		"all but one":             `[{"action":"read","subject":"events","conditions":{"type":{"$ne":"a"}}}]`,
		"one of some conditions":  `[{"action":"read","subject":"events","conditions":{"$or":[{"type":"a"},{"type":"b"}]}}]`,
		"a number":                `[{"action":"read","subject":"events","conditions":{"payload.n":1}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			needs, bounded := ruled(t, rules).For(visitor).Needs("read", "events")
			require.True(t, !bounded || slices.ContainsFunc(needs, func(n []access.Need) bool {
				return len(n) == 1 && n[0].Path == "source.workspaceId"
			}), "%v", needs)
		})
	}
}

// What somebody may read says all that one of the alternatives needs.
func TestWhatIsAllowedSaysWhatIsNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares, who := someDocument(t), someShares(t), somebody(t)
		rights := workspace(t, doc, shares...).For(who)
		for range 10 {
			q := someQuestion(t)
			needs, bounded := rights.Needs(q.action, q.subject)
			if q.fields != nil || !bounded || !q.of(rights) {
				continue
			}
			require.True(t, slices.ContainsFunc(needs, func(all []access.Need) bool {
				return !slices.ContainsFunc(all, func(n access.Need) bool { return !says(q.object, strings.Split(n.Path, "."), n.Any) })
			}), "%v is allowed, and has none of %v", q, needs)
		}
	})
}

// says reports whether a value has one of some texts at a path, or in a list there.
func says(v any, path, texts []string) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return says(item, path, texts) })
	}
	if len(path) == 0 {
		text, ok := v.(string)
		return ok && slices.Contains(texts, text)
	}
	switch v := v.(type) {
	case access.Object:
		inner, ok := v.Field(path[0])
		return ok && says(inner, path[1:], texts)
	case map[string]any:
		inner, ok := v[path[0]]
		return ok && says(inner, path[1:], texts)
	}
	return false
}
