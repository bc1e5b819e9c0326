package recording_test

import (
	"testing"
	"time"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// An effect that is recorded: asked and answered with a response of some kilobytes.
func BenchmarkEffect(b *testing.B) {
	rows := make([]any, 50)
	for i := range rows {
		rows[i] = value.NewObject("id", float64(i), "name", "somebody", "tags", []any{"a", "b", "c"})
	}
	request := machine.Request{
		Kind: machine.Fetch, Execution: &machine.Execution{ID: "x0"}, Place: machine.Place{Path: "do[0].fetch"},
		Params: value.NewObject("url", "https://example.com/some/path", "method", "post", "body", value.NewObject("a", 1.0)),
	}
	answer := machine.Answer{Value: value.NewObject("status", 200.0, "body", rows)}
	now := time.Now()
	for name, recorder := range map[string]func() *recording.Recorder{
		"recorded": func() *recording.Recorder { return recording.NewRecorder(1 << 40) },
		"off":      func() *recording.Recorder { return nil },
	} {
		b.Run(name, func(b *testing.B) {
			r := recorder()
			b.ReportAllocs()
			for i := range b.N {
				request.ID = uint64(i + 1) //nolint:gosec // a count
				r.Ask(request, now)
				r.Answer(request.ID, answer, now)
			}
		})
	}
}
