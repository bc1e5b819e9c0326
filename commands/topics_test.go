package commands_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/topic"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
)

// factsOf are the events of a topic.
func factsOf(t *testing.T, store *jetstream.Store, workspaceID, name string) (facts []domain.Event) {
	t.Helper()
	events, err := store.Log.Load(t.Context(), topic.Stream(workspaceID, name), 0)
	require.NoError(t, err)
	for _, ev := range events {
		facts = append(facts, ev.Data)
	}
	return facts
}

func TestTopicsAreMadeAndJoined(t *testing.T) {
	store, models := livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log})
	require.NoError(t, err)
	topics, ctx := commands.Topics{Engine: engine}, t.Context()
	joined := func(id string) domain.Event { return topic.Joined{Topic: "sales", User: topic.User{ID: id}} }

	require.Equal(t, domain.CodeNotFound, domain.CodeOf(topics.Join(ctx, "w1", "sales", []string{"ann"}, false)))
	require.NoError(t, topics.Create(ctx, "w1", "sales", []string{"ann"}))
	require.NoError(t, topics.Create(ctx, "w1", "sales", []string{"bob"}), "what exists is left as it is")
	require.NoError(t, topics.Join(ctx, "w1", "sales", []string{"ann", "eve"}, false))
	require.NoError(t, topics.Join(ctx, "w1", "sales", []string{"eve"}, true))
	require.Equal(t, []domain.Event{topic.Created{Topic: "sales", UserIDs: []string{"ann"}}, joined("eve")}, factsOf(t, store, "w1", "sales"))

	require.NoError(t, topics.Join(ctx, "w2", "sales", []string{"eve"}, true))
	require.Equal(t, []domain.Event{topic.Created{Topic: "sales", UserIDs: []string{}}, joined("eve")}, factsOf(t, store, "w2", "sales"))

	for _, bad := range []string{"", "\n", strings.Repeat("x", topic.MaxName+1)} {
		require.Equal(t, domain.CodeValidation, domain.CodeOf(topics.Create(ctx, "w1", bad, nil)), "%q", bad)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(topics.Join(ctx, "w1", bad, []string{"ann"}, true)), "%q", bad)
	}
	require.Equal(t, domain.CodeValidation, domain.CodeOf(topics.Join(ctx, "w1", "sales", nil, true)))

	livetest.Fresh(t, models)
	require.NoError(t, models.View(func(r projections.Reader) error {
		names, err := projections.Topics{}.Of(r, "w1", "eve")
		require.Equal(t, []string{"sales"}, names)
		return err
	}))
}

func TestManyJoinATopicAtOnce(t *testing.T) {
	store, _ := livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log})
	require.NoError(t, err)
	topics := commands.Topics{Engine: engine}
	var joining sync.WaitGroup
	for i := range 20 {
		joining.Go(func() {
			if err := topics.Join(t.Context(), "w1", "crowd", []string{string(rune('a' + i)), "everybody"}, true); err != nil {
				t.Error(err)
			}
		})
	}
	joining.Wait()
	facts := factsOf(t, store, "w1", "crowd")
	require.Len(t, facts, 1+20+1, "the topic, each of them, and everybody once")
	require.Len(t, topic.Decider.Fold(topic.State{}, facts...).Members, 21)
}

func TestAsManyAsMayJoinTogether(t *testing.T) {
	store, _ := livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log})
	require.NoError(t, err)
	ids := make([]string, topic.MostAtOnce)
	for i := range ids {
		ids[i] = strings.Repeat("u", i%topic.MaxUser) + string(rune(0x1000+i))
	}
	require.NoError(t, commands.Topics{Engine: engine}.Join(t.Context(), "w1", "crowd", ids, true))
	require.Len(t, factsOf(t, store, "w1", "crowd"), 1+topic.MostAtOnce, "what is one decision is recorded together")
}
