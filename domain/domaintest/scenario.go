// Package domaintest states rules as given, when, then.
package domaintest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

// Scenario is one rule: given these facts, when this command arrives, then
// these facts follow, or this refusal.
type Scenario[S, C any] struct {
	Given  []domain.Event
	When   C
	Then   []domain.Event
	Refuse domain.Code
}

// Check runs the scenario against d.
func (sc Scenario[S, C]) Check(t *testing.T, d domain.Decider[S, C]) {
	t.Helper()
	var zero S
	got, err := d.Decide(d.Fold(zero, sc.Given...), sc.When)
	require.Equal(t, sc.Refuse, domain.CodeOf(err), "%v", err)
	require.Equal(t, sc.Then, got)
}
