package recording_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/domaintest"
)

func playOf(t testing.TB, c domaintest.Case) *play {
	t.Helper()
	documents, p := c.Automations(t), &play{programs: map[string]*machine.Program{}, input: &value.Object{}, chances: true}
	for _, slug := range documents.Keys() {
		p.programs[slug] = program(t, slug, documents.At(slug))
	}
	if in, ok := c.At("input").(*value.Object); ok {
		p.input = in.Copy()
		for _, key := range in.Keys() {
			if in.At(key) == "handle" {
				p.input.Set(key, machine.HTTP{})
			}
		}
	}
	p.answers, _ = c.At("answers").(*value.Object)
	return p
}

// identical requires that a report tells of nothing.
func identical(t testing.TB, r recording.Report) {
	t.Helper()
	told, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	require.NoError(t, r.Reason)
	require.Equal(t, recording.Identical, r.Status, string(told))
	require.Empty(t, r.Differences)
	require.NotEmpty(t, r.Executions)
	for _, x := range r.Executions {
		require.Equal(t, "same", x.Output)
		require.Equal(t, recording.Identical, x.Status)
	}
}

func TestWhatWasRecordedIsReplayedAsItWas(t *testing.T) {
	t.Parallel()
	const orders = 20
	cases := domaintest.ReadCases(t, "../../domain/automation/machine/testdata/*.yaml")
	for _, c := range append(domaintest.ReadCases(t, "testdata/*.yaml"), cases...) {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			p := playOf(t, c)
			for seed := range uint64(orders) {
				_, body := p.perform(t, seed)
				identical(t, p.replay(t, body, nil))
				identical(t, p.replay(t, body, p))
			}
		})
	}
}
