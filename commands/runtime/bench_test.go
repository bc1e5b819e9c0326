package runtime_test

import (
	"context"
	"testing"

	"svc/commands/runtime"
	"svc/domain"
	"svc/eventstore"
)

// discardedEvents stores nothing, so that a benchmark measures the runtime alone.
type discardedEvents struct{}

func (discardedEvents) Append(context.Context, ...eventstore.Commit) (eventstore.Receipt, error) {
	return eventstore.Receipt{Position: domain.Position{Activity: 1}}, nil
}

func benchmarkRun(b *testing.B, docs documents) {
	b.Helper()
	h := open(b, docs, func(_ *testRuntime, o *runtime.Options) { o.Store = discardedEvents{} })
	b.ReportAllocs()
	for b.Loop() {
		run := h.Launch(h.eventStart())
		<-run.Done()
		if out, err := run.Outcome(); err != nil || out.Err != nil {
			b.Fatal(err, out.Err)
		}
	}
}

// BenchmarkRun measures a whole run, without the log.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, documents{"a": `[{"set":{"name":"x","value":1}}]`}) }

// BenchmarkRunEmit measures a run with an effect that is recorded.
func BenchmarkRunEmit(b *testing.B) {
	benchmarkRun(b, documents{"a": `[{"emit":{"event":"e","payload":{"n":1},"output":"x"}}]`})
}

// BenchmarkRunCall measures a run with calls of another automation.
func BenchmarkRunCall(b *testing.B) {
	benchmarkRun(b, documents{"a": `[{"repeat":{"on":10,"do":[{"c":{"n":"{{item}}","output":"x"}}]}}]`, "c": `[{"set":{"name":"y","value":"{{n}}"}}]`})
}
