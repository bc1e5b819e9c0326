package recording_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/domaintest"
	"svc/domain/value"
)

func newScriptedTree(t testing.TB, c domaintest.Case) *scriptedTree {
	t.Helper()
	documents, p := c.Automations(t), &scriptedTree{programs: map[string]*machine.Program{}, input: &value.Object{}, chances: true}
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
			p := newScriptedTree(t, c)
			for seed := range uint64(orders) {
				_, body := p.perform(t, seed)
				identical(t, p.replay(t, body, nil))
				identical(t, p.replay(t, body, p))
			}
		})
	}
}

func written(t testing.TB, answers string, automations ...string) *scriptedTree {
	t.Helper()
	p := &scriptedTree{programs: map[string]*machine.Program{}, input: value.NewObject("n", 1.0)}
	for i, slug := range []string{"t", "child"}[:len(automations)] {
		p.programs[slug] = program(t, slug, domaintest.ParseYAML(t, automations[i]))
	}
	p.answers, _ = domaintest.ParseYAML(t, answers).(*value.Object)
	return p
}

func TestWhatAnotherDocumentDoesOtherwiseIsTold(t *testing.T) {
	t.Parallel()
	const fetched = `{fetch: [{e: 1}, {e: 2}, {e: 3}]}`
	tests := map[string]struct {
		was, now string
		want     []string
	}{
		"nothing":           {`[{fetch: {url: 'http://h/a', output: r}}]`, `[{fetch: {url: 'http://h/a', output: r}}]`, nil},
		"another request":   {`[{fetch: {url: 'http://h/a', output: r}}]`, `[{fetch: {url: 'http://h/b', output: r}}]`, []string{"x0 do[0].fetch [] effect_changed"}},
		"in an iteration":   {`[{repeat: {until: 2, do: [{fetch: {url: 'http://h/{{item}}'}}]}}]`, `[{repeat: {until: 2, do: [{fetch: {url: 'http://h/{% 0 %}'}}]}}]`, []string{"x0 do[0].repeat.do[0].fetch [1] effect_changed"}},
		"how it is treated": {`[{fetch: {url: 'http://h/a', output: r}}]`, `[{fetch: {url: 'http://h/a', output: r, emitErrors: false}}]`, nil},
		"one more":          {`[{T: 1}]`, `[{T: 1}, {fetch: {url: 'http://h'}}]`, []string{"x0 do[1].fetch [] effect_missing", "x0 do[1].fetch [] error"}},
		"one more, caught":  {`[{T: 1}]`, `[{T: 1}, {try: {do: [{fetch: {url: 'http://h'}}], catch: [{T: '{{$error.error}}'}]}}]`, []string{"x0 do[1].try.do[0].fetch [] effect_missing", "x0 output [] output"}},
		"one less":          {`[{T: 1}, {fetch: {url: 'http://h'}}]`, `[{T: 1}]`, []string{"x0 do[1].fetch [] effect_unused"}},
		"another branch":    {`[{conditions: {'{{n}} == 1': [{T: a}], default: [{T: b}]}}]`, `[{conditions: {'{{n}} == 2': [{T: a}], default: [{T: b}]}}]`, []string{"x0 do[0].conditions [] branch", "x0 output [] output"}},
		"another event":     {`[{emit: {event: e, payload: {n: 1}}}]`, `[{emit: {event: e, payload: {n: 2}}}]`, []string{"x0 do[0].emit [] emit"}},
		"another write":     {`[{set session.a: 1}]`, `[{set session.a: 2}]`, []string{"x0 do[0].set [] context"}},
		"a write more":      {`[{set session.a: 1}]`, `[{set session.a: 1}, {set session.b: 1}]`, []string{"x0 do[1].set [] context"}},
		"a write less":      {`[{set session.a: 1}, {set session.b: 1}]`, `[{set session.a: 1}]`, []string{"x0 do[1].set [] context"}},
		"another output":    {`[{T: 1}]`, `[{T: 2}]`, []string{"x0 output [] output"}},
		"an error":          {`[{T: 1}]`, `[{nope: {}}]`, []string{"x0 do[0].nope [] effect_missing", "x0 do[0].nope [] error"}},
		"a call":            {`[{child: {output: r}}]`, `[{child: {n: 5, output: r}}]`, []string{"x1 output [] output", "x0 output [] output"}},
		"a context unread":  {`[{T: 1}]`, `[{T: '{{user.x}}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"a secret unread":   {`[{T: 1}]`, `[{T: '{{secret.k}}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"config unread":     {`[{T: 1}]`, `[{T: '{{config.k}}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"a date unread":     {`[{T: 1}]`, `[{set x: '{{run.date}}'}, {T: 1}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"a clock unread":    {`[{T: 1}]`, `[{T: '{% elapsed("2024-01-01", "day", 1) %}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"no chance":         {`[{T: 1}]`, `[{T: '{% rand() %}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"a clock once more": {`[{T: '{% elapsed("2024-01-01", "day", 1) %}'}]`, `[{T: '{% elapsed("2024-01-01", "day", 1) %}{% elapsed("2024-01-01", "day", 1) %}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"chance once more":  {`[{T: '{% rand() %}'}]`, `[{T: '{% rand() + rand() %}'}]`, []string{"x0 do[0].set [] effect_missing", "x0 do[0].set [] error"}},
		"caught":            {`[{T: 1}]`, `[{try: {do: [{set x: '{% rand() %}'}], catch: [{T: '{{$error.error}}{{$error.details.kind}}'}]}}]`, []string{"x0 do[0].try.do[0].set [] effect_missing", "x0 output [] output"}},
		"another module":    {`[{run: {module: secrets, function: get, parameters: {name: a}}}]`, `[{run: {module: secrets, function: get, parameters: {name: b}}}]`, []string{"x0 do[0].run [] effect_changed"}},
		"waits longer":      {`[{wait: {timeout: 1}}]`, `[{wait: {timeout: 2}}]`, []string{"x0 do[0].wait [] effect_changed"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const child = `{do: [], output: '{{n}}'}`
			was, now := written(t, fetched, c.was, child), written(t, fetched, c.now, child)
			_, body := was.perform(t, 1)
			identical(t, was.replay(t, body, nil))
			report := was.replay(t, body, now)
			var got []string
			for _, d := range report.Differences {
				got = append(got, fmt.Sprintf("%s %s %v %s", d.ExecutionID, d.Instruction, d.Iteration, d.Kind))
			}
			require.Equal(t, c.want, got)
			require.Equal(t, len(c.want), report.Count)
			if len(c.want) > 0 {
				require.Equal(t, recording.Different, report.Status)
			}
		})
	}
}

func TestADifferenceTellsWhatWasAndWhatIs(t *testing.T) {
	t.Parallel()
	was := written(t, `{}`, `[{set a: '{{secret.k}}'}, {emit: {event: e, payload: {k: '{{a}}', n: 1}}}]`)
	now := written(t, `{}`, `[{set a: '{{secret.k}}'}, {emit: {event: e, payload: {k: '{{a}}', n: 2}}}]`)
	_, body := was.perform(t, 1)
	r, err := recording.Parse(body)
	require.NoError(t, err)
	report := recording.Replay(t.Context(), r, recording.Options{
		Document: recording.Current, Find: was.findProgram, Current: now.findProgram, Redact: redact.New("hidden"),
	})
	require.Len(t, report.Differences, 1)
	require.JSONEq(t, `{"kind":"emit","request":{"event":"e","payload":{"k":"REDACTED","n":1}}}`, string(report.Differences[0].Expected))
	require.JSONEq(t, `{"kind":"emit","request":{"event":"e","payload":{"k":"REDACTED","n":2}}}`, string(report.Differences[0].Actual))
	require.Equal(t, []recording.ExecutionReport{{ExecutionID: "x0", Slug: "t", Status: recording.Different, Output: "same"}}, report.Executions)
}

func TestOnlySoManyDifferencesAreTold(t *testing.T) {
	t.Parallel()
	was := written(t, `{}`, `[{repeat: {until: 1500, do: [{set session.a: 1}]}}]`)
	now := written(t, `{}`, `[{repeat: {until: 1500, do: [{set session.a: 2}]}}]`)
	_, body := was.perform(t, 1)
	report := was.replay(t, body, now)
	require.Equal(t, recording.MaxDifferences, len(report.Differences)) //nolint:testifylint // a thousand of them say nothing
	require.JSONEq(t, `{"path":"session.a","type":"set","value":1}`, string(report.Differences[0].Expected))
	require.Equal(t, 1500, report.Count)
	var joined recording.Report
	joined.Join(report)
	joined.Join(report)
	require.Equal(t, recording.MaxDifferences, len(joined.Differences)) //nolint:testifylint // as above
	require.Equal(t, 3000, joined.Count)
	require.Equal(t, recording.Different, joined.Status)
}

func TestAReplayThatCannotGoOnFails(t *testing.T) {
	t.Parallel()
	was := written(t, `{}`, `[{child: {output: r}}]`, `[{T: 1}]`)
	_, body := was.perform(t, 1)
	gone := written(t, `{}`, `[{child: {output: r}}]`)
	require.Equal(t, recording.Failed, (&scriptedTree{}).replay(t, body, nil).Status, "the document is gone")
	report := was.replay(t, body, &scriptedTree{})
	require.Equal(t, recording.Failed, report.Status, "there is no such automation any more")
	require.Error(t, report.Reason)
	require.Equal(t, recording.Different, was.replay(t, body, gone).Status, "a call that leads nowhere now raises")
}

// looped is a play of a loop that is given a text of 30 kB. A replay keeps a megabyte.
func looped(t *testing.T, turns int, do string) *scriptedTree {
	t.Helper()
	p := written(t, `{}`, fmt.Sprintf(`[{repeat: {until: %d, do: [%s]}}]`, turns, do))
	p.input, p.replayBytes = value.NewObject("a", strings.Repeat("x", 30_000)), 1_000_000
	return p
}

// TestAReplayOfLargeWritesComesToItsEnd writes more than a replay may keep.
func TestAReplayOfLargeWritesComesToItsEnd(t *testing.T) {
	t.Parallel()
	p := looped(t, 100, `{set session.x: '{{a}}{{item}}'}`) // 3 MB
	_, body := p.perform(t, 1)
	identical(t, p.replay(t, body, nil))
	identical(t, p.replay(t, body, p))
}

func TestLargeWritesThatDifferAreTold(t *testing.T) {
	t.Parallel()
	p := looped(t, 2, `{set session.x: '{{a}}{{item}}'}`)
	_, body := p.perform(t, 1)
	report := p.replay(t, body, looped(t, 2, `{set session.x: '{{a}}{% {{item}} * 2 %}'}`))
	require.Len(t, report.Differences, 1)
	d := report.Differences[0]
	require.Equal(t, []int{1}, d.Iteration)
	require.JSONEq(t, `{"path":"session.x","type":"set","value":"(too large to be shown)"}`, string(d.Expected))
	require.JSONEq(t, string(d.Expected), string(d.Actual))
}

func TestBadReplaysThatDoTooMuchFail(t *testing.T) {
	t.Parallel()
	p := looped(t, 1, `{set session.x: 1}`)
	_, body := p.perform(t, 1)
	for name, now := range map[string]*scriptedTree{
		"a context that grows": looped(t, 400, `{'set session.x[]': '{{a}}{{item}}'}`),
		"many writes":          looped(t, 400, strings.Repeat(`{set session.x: 1}, `, 10)),
		"many branches":        looped(t, 400, strings.Repeat(`{conditions: {'1': []}}, `, 10)),
		"other requests":       looped(t, 400, `{try: {do: [{fetch: {url: 'http://h', body: '{{a}}{{item}}'}}], catch: []}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := p.replay(t, body, now)
			require.Equal(t, recording.Failed, report.Status)
			require.EqualError(t, report.Reason, "the replay does more than can be compared")
		})
	}
}
