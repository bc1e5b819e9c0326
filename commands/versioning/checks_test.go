package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPushWaitsForTests(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.configure(`,"checks":"required"`)
	p.automation("charge", "charged")
	p.push("v1") // there are no tests yet

	p.ok(201, "POST", "/tests", `{"slug":"charge","automation":"charge","cases":[{"name":"it is said","expect":{"events":[{"type":"refunded"}]}},{"name":"it ends"}]}`)
	details := p.requireRefusal(422, "checks_failed", "POST", "/push", toOrigin)
	require.Equal(t, []any{"charge: it is said"}, details["cases"])
	require.True(t, p.isDirty())
	require.Nil(t, p.workspace()["writeLock"])

	p.ok(200, "PATCH", "/tests/charge", `{"cases":[{"name":"it is said","expect":{"events":[{"type":"charged"}]}}]}`)
	p.push("v2")
	require.Contains(t, p.repo.Clone().Git("show", "HEAD:tests/charge.yml"), "it is said")
}
