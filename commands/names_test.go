package commands_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/name"
	"svc/domain/workspace"
)

// title takes the name of a workspace for a word that only one may have.
func title(s workspace.State) []commands.Name {
	if s.Settings.Name == "" {
		return nil
	}
	return []commands.Name{{Kind: "title", Value: s.Settings.Name}}
}

func TestANameIsGivenToOneOfThoseWhoAskAtOnce(t *testing.T) {
	store := openStore(t)
	nodes := []*commands.Engine{newWorkspaces(t, store.Log, nil).Engine, newWorkspaces(t, store.Log, nil).Engine}
	var won, refused atomic.Int32
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			id := fmt.Sprintf("w%d", i)
			_, err := commands.ExecuteNaming(t.Context(), nodes[i%2], workspace.Decider, workspace.Stream(id),
				workspace.Command(workspace.Create{ID: id, Settings: workspace.Settings{Name: "Shop"}}), title)
			switch domain.CodeOf(err) {
			case domain.CodeNone:
				won.Add(1)
			case domain.CodeAlreadyExists:
				refused.Add(1)
			default:
				t.Errorf("unexpected: %v", err)
			}
		})
	}
	asking.Wait()
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, 19, refused.Load())
}

func TestANameThatWasGivenUpIsFree(t *testing.T) {
	store := openStore(t)
	engine := newWorkspaces(t, store.Log, nil).Engine
	run := func(id string, cmd workspace.Command) error {
		_, err := commands.ExecuteNaming(t.Context(), engine, workspace.Decider, workspace.Stream(id), cmd, title)
		return err
	}
	create := func(id, name string) error {
		return run(id, workspace.Create{ID: id, Settings: workspace.Settings{Name: name}})
	}
	require.NoError(t, create("w1", "Shop"))
	err := create("w2", "Shop")
	require.Equal(t, domain.CodeAlreadyExists, domain.CodeOf(err))
	require.ErrorContains(t, err, "title")

	require.NoError(t, run("w1", workspace.Update{Patch: rename("Market")}))
	require.NoError(t, create("w2", "Shop"))
	require.Error(t, run("w2", workspace.Update{Patch: rename("Market")}), "and nothing of it is recorded")
	left, err := store.Log.Load(t.Context(), workspace.Stream("w2"), 0)
	require.NoError(t, err)
	require.Len(t, left, 1)

	taken, err := store.Log.Load(t.Context(), name.Stream("title", "Shop"), 0)
	require.NoError(t, err)
	require.Len(t, taken, 3, "taken, released, taken")
}

func TestARepeatedRequestMeetsTheNamesItTook(t *testing.T) {
	store := openStore(t)
	for range 2 {
		engine := newWorkspaces(t, store.Log, nil).Engine
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "caller/key"})
		_, err := commands.ExecuteNaming(ctx, engine, workspace.Decider, workspace.Stream("w1"),
			workspace.Command(workspace.Create{ID: "w1", Settings: workspace.Settings{Name: "Shop"}}), title)
		require.NoError(t, err)
	}
}
