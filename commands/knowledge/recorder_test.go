package knowledge_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/activity"
)

func TestRecorderLosesNothing(t *testing.T) {
	t.Parallel()
	var logQueries atomic.Bool
	logQueries.Store(true)
	recorded := make(chan domain.Event, 10_000)
	r, err := knowledge.NewRecorder(knowledge.RecorderOptions{
		Append: func(ctx context.Context, workspaceID string, ev domain.Event) error {
			if workspaceID != "w" || ctx.Err() != nil {
				return errors.New("not what was asked for")
			}
			recorded <- ev
			return nil
		},
		LogQueries: logQueries.Load, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	search := knowledge.SearchRequest{WorkspaceID: "w", Bases: []string{"faq"}, SearchQuery: knowledge.SearchQuery{Query: strings.Repeat("é", 600)}}
	for range 1100 { // more than the queue takes
		r.Searched(gone, search, knowledge.SearchAnswer{})
	}
	require.Len(t, recorded, 100, "who finds the queue full waits")
	logQueries.Store(false)

	running, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(running) }()
	require.Eventually(t, func() bool { return len(recorded) == 1100 }, time.Minute, time.Millisecond)
	search.Bases = nil
	r.Searched(t.Context(), search, knowledge.SearchAnswer{Total: 2, Results: []knowledge.SearchResult{
		{Document: knowledge.SearchDocument{ID: "a", KnowledgeBase: "x"}}, {Document: knowledge.SearchDocument{ID: "a", KnowledgeBase: "y"}},
	}})
	stop()
	require.NoError(t, <-done)
	r.Used(t.Context(), "w", activity.Usage{})
	require.Len(t, recorded, 1103)
	first := (<-recorded).(activity.KnowledgeQueried)
	require.Equal(t, strings.Repeat("é", 500), first.Query)
	for range 1099 {
		<-recorded
	}
	require.Equal(t, activity.KnowledgeQueried{KnowledgeBases: []string{"x", "y"}, Kind: "search", Total: 2, DocumentIDs: []string{"a"}}, <-recorded)
	require.ElementsMatch(t, []domain.Event{
		activity.Usage{KnowledgeBase: "faq", Metrics: activity.Increments(map[string]int{"knowledge.queries": 1100})},
		activity.Usage{Metrics: activity.Increments(map[string]int{"knowledge.queries": 1})},
	}, []domain.Event{<-recorded, <-recorded})
}
