package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// benchmarkDo runs a loop of these instructions and tells the time of one
// iteration.
func benchmarkDo(b *testing.B, do string) {
	b.Helper()
	p := program(b, "t", value.NewObject(
		"do", []any{value.NewObject("repeat", value.NewObject("until", float64(b.N), "do", parseYAML(b, do)))}, "output", "{{r}}",
	))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, value.NewObject("n", 5.0, "o", value.NewObject("a", value.NewObject("b", "text"))))
	b.ReportAllocs()
	b.ResetTimer()
	for !m.Done() {
		for _, r := range m.Go(100_000).Requests {
			m.Answer(r.ID, machine.Answer{})
		}
	}
	require.Nil(b, m.Root().Err)
}

func BenchmarkIteration(b *testing.B) { benchmarkDo(b, `[]`) }
func BenchmarkSet(b *testing.B)       { benchmarkDo(b, `[{set r: '{{o.a.b}}'}]`) }
func BenchmarkSetText(b *testing.B)   { benchmarkDo(b, `[{set r: 'number {{item}} of {{o.a.b}}'}]`) }
func BenchmarkSetExpression(b *testing.B) {
	benchmarkDo(b, `[{set r: '{% {{n}} * 2 + {{$index}} %}'}]`)
}
func BenchmarkSetObject(b *testing.B) {
	benchmarkDo(b, `[{set r: {a: '{{n}}', b: [1, '{{item}}'], c: {d: x}}}]`)
}
func BenchmarkSetPath(b *testing.B) { benchmarkDo(b, `[{set r.x.y: '{{$index}}'}]`) }
func BenchmarkPush(b *testing.B)    { benchmarkDo(b, `[{'set r[]': '{{item}}'}]`) }
func BenchmarkKeys(b *testing.B)    { benchmarkDo(b, `[{'set r[{{item}}]': 1}]`) }
func BenchmarkMerge(b *testing.B) {
	benchmarkDo(b, `[{set: {name: r, type: merge, value: {a: '{{n}}'}}}]`)
}

func BenchmarkConditions(b *testing.B) {
	benchmarkDo(b, `[{conditions: {'{{n}} > 80': [{set r: 1}], '{{o.a.b}} == "text"': [{set r: 2}]}}]`)
}

func BenchmarkTry(b *testing.B) { benchmarkDo(b, `[{try: {do: [{set r: 1}], catch: []}}]`) }

func BenchmarkCall(b *testing.B) {
	child := program(b, "child", value.NewObject("do", parseYAML(b, `[{set r: '{{a}}'}]`), "output", "{{r}}"))
	p := program(b, "t", []any{value.NewObject("repeat", value.NewObject("until", float64(b.N), "do", parseYAML(b, `[{child: {a: '{{item}}', output: r}}]`)))})
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, nil)
	b.ReportAllocs()
	b.ResetTimer()
	for !m.Done() {
		for _, r := range m.Go(100_000).Requests {
			m.Answer(r.ID, machine.Answer{Program: child, ExecutionID: "y"})
		}
	}
	require.Nil(b, m.Root().Err)
}

// BenchmarkSave is of a tree with 1000 rows of ten kilobytes in all.
func BenchmarkSave(b *testing.B) {
	p := program(b, "t", parseYAML(b, `[{repeat: {until: 1000, do: [{'set r[]': {a: '{{item}}', b: text}}]}}, {wait: {}}]`))
	options := machine.Options{World: newScript(nil, nil)}
	m := machine.New(options)
	m.Start(p, "x", 1, nil)
	for {
		turn := m.Go(100_000)
		if len(turn.Requests) == 1 && turn.Requests[0].Kind == machine.Wait {
			break
		}
		for _, r := range turn.Requests {
			m.Answer(r.ID, machine.Answer{})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		state, err := m.Save()
		require.NoError(b, err)
		_, _, err = machine.Restore(state, options, func(string) (*machine.Program, error) { return p, nil })
		require.NoError(b, err)
	}
}
