package name_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/name"
)

func TestRules(t *testing.T) {
	taken, released := name.Claimed{Kind: "email", Owner: "a"}, name.Released{Kind: "email", Owner: "a"}
	for title, sc := range map[string]domaintest.Scenario[name.State, name.Command]{
		"a free name is taken": {
			When: name.Claim{Kind: "email", Owner: "a"}, Then: []domain.Event{taken},
		},
		"a taken name is refused to others": {
			Given: []domain.Event{taken}, When: name.Claim{Kind: "email", Owner: "b"}, Refuse: domain.CodeAlreadyExists,
		},
		"its owner takes it again without a word": {
			Given: []domain.Event{taken}, When: name.Claim{Kind: "email", Owner: "a"},
		},
		"its owner gives it up": {
			Given: []domain.Event{taken}, When: name.Release{Kind: "email", Owner: "a"}, Then: []domain.Event{released},
		},
		"nobody else can give it up": {
			Given: []domain.Event{taken}, When: name.Release{Kind: "email", Owner: "b"},
		},
		"a released name is free": {
			Given: []domain.Event{taken, released}, When: name.Claim{Kind: "email", Owner: "b"},
			Then: []domain.Event{name.Claimed{Kind: "email", Owner: "b"}},
		},
	} {
		t.Run(title, func(t *testing.T) { sc.Check(t, name.Decider) })
	}
}

func TestAStreamDoesNotShowTheName(t *testing.T) {
	require.NotContains(t, name.Stream("email", "ada@example.org").ID, "ada")
	require.NotEqual(t, name.Stream("email", "x"), name.Stream("slug", "x"))
}
