package versioning_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pushes that come to one branch at once go together: all of them are there, each
// once, one on top of the other; what is refused is refused alone.
func TestPushesToOneBranchGoTogether(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t, "BULK_CONCURRENCY=6")
	const count = 24
	for i := range count {
		p := e.workspace(fmt.Sprintf("w-%02d", i), "core")
		p.automation("charge", "charged by "+p.slug)
	}
	taken := e.workspace("taken", "core")
	taken.pushTo("main", "v0")
	clone := e.main.Clone()
	clone.Git("tag", "envs/taken/v1")
	clone.Git("push", "-q", "origin", "envs/taken/v1")
	taken.automation("charge", "charged")
	got := e.pushAll(200, `{"groups":["base"],"name":"v1","repository":"main"}`)
	require.Equal(t, []any{float64(count), 1.0}, []any{got["pushed"], got["errorsCount"]}, "%v", got["errors"])
	require.Equal(t, []string{"resource_already_exists"}, codes(got["errors"]))
	require.True(t, taken.isDirty())
	for i := range count {
		slug := fmt.Sprintf("w-%02d", i)
		require.Contains(t, e.readFileOnMain("envs/"+slug+"/automations/charge.yml"), "charged by "+slug)
		require.NotEmpty(t, e.main.ID("refs/tags/envs/"+slug+"/v1"))
		require.Equal(t, "1", e.main.Git("rev-list", "--count", "main", "--", "envs/"+slug))
		p := e.found(slug)
		require.False(t, p.isDirty())
		require.Equal(t, wholePush, p.progress(p.lastOperation()["id"].(string)))
	}
	require.Equal(t, fmt.Sprint(count+1), e.main.Git("rev-list", "--count", "--first-parent", "main"))
}

// A hook that does not let one of them in keeps the others out no longer than it
// takes to try one by one.
func TestARefusedBatchIsSentOneByOne(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	var all []*gitWorkspace
	for i := range 6 {
		p := e.workspace(fmt.Sprintf("w-%d", i), "core")
		p.automation("charge", "charged")
		all = append(all, p)
	}
	e.main.Hook("update", `case "$1" in refs/tags/envs/w-3/*) exit 1;; esac`)
	var pushing sync.WaitGroup
	answers := make([]answer, len(all))
	for i, p := range all {
		pushing.Go(func() {
			got, err := p.ask("POST", p.path+"/versions?timeout=50s", versionTo("v1", "main"))
			if err != nil {
				got.Response = &http.Response{Status: err.Error()}
			}
			answers[i] = got
		})
	}
	pushing.Wait()
	for i, got := range answers {
		require.Equal(t, http.StatusCreated, got.StatusCode, "%s %s", got.Status, got.body)
		require.Equal(t, i == 3, strings.Contains(string(got.body), "tag_not_written"), "%s", got.body)
		require.Contains(t, e.readFileOnMain("envs/"+all[i].slug+"/automations/charge.yml"), "charged")
		require.False(t, all[i].isDirty())
	}
	require.Equal(t, "6", e.main.Git("rev-list", "--count", "main"))
}
