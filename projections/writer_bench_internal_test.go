package projections

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
)

// BenchmarkWriterOfRuns applies runs of an endpoint as they are recorded under load: five in a message, and five messages
// in a transaction. What it reports is of one run, with what Badger does to write it.
func BenchmarkWriterOfRuns(b *testing.B) {
	const perMessage, messages = 5, 5
	db, err := OpenDB(DBOptions{Dir: b.TempDir(), BlockCacheMB: 8, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	var projections []Projection
	for _, p := range Table() {
		if p.Log() == domain.Activity {
			projections = append(projections, p)
		}
	}
	m := &Models{db: db.store(), opts: Options{Projections: projections, Now: time.Now}, moves: map[string]*atomic.Uint64{}}
	for _, p := range projections {
		m.moves[p.Name()] = &atomic.Uint64{}
	}
	m.metrics, err = newMetrics(nil, m)
	require.NoError(b, err)
	w := m.newWriter(newGeneration(1, projections), domain.Activity, checkpoint{})

	id, message := uint64(0), uint64(0)
	runs := func(n int) (events []domain.Recorded) {
		message++
		group := message * domain.MaxGroup
		for range n {
			meta := domain.Meta{UserID: uuid.NewString(), CorrelationID: uuid.NewString(), AutomationSlug: "order", AutomationDepth: 1}
			meta.SessionID = meta.UserID
			id += 7
			at := begins.Add(time.Duration(message) * time.Millisecond)
			trigger, execution, started := activity.Trigger{Type: activity.ByEndpoint, Value: "order"}, ulidOf(id), at.Format(domain.Timestamp)
			text, _ := json.Marshal(trigger)
			for n, data := range []domain.Event{
				activity.EndpointCalled{AutomationSlug: "order", Method: "POST", Endpoint: "order"}, activity.Interaction{Automation: "order", Trigger: trigger, StartedAt: started},
				activity.Executed{Slug: "order", ExecutionID: execution, Trigger: text, StartedAt: started, Apart: true},
			} {
				body, _ := json.Marshal(data)
				events = append(events, domain.Recorded{
					Log: domain.Activity, Group: group, Stream: domain.StreamID{Scope: "9GD1mvm"}, ID: ulidOf(id + uint64(n)), At: at, Meta: meta, Data: data, Body: body, Size: 600,
				})
			}
		}
		for i := range events {
			events[i].Seq = group - uint64(len(events)-1-i)
		}
		return events
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var events []domain.Recorded
		for range messages {
			events = append(events, runs(perMessage)...)
		}
		b.StartTimer()
		require.NoError(b, w.apply(events))
		w.end()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*perMessage*messages), "us/run")
}

func ulidOf(n uint64) string { return fmt.Sprintf("01M7T0RDWS2SK8%012d", n) }
