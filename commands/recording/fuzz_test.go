package recording_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// FuzzReplay records whatever documents the seed makes, with answers in whatever order,
// and replays them.
func FuzzReplay(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, seed*seed)
	}
	f.Fuzz(func(t *testing.T, document, order uint64) {
		d := author{rand.New(rand.NewPCG(document, 3))} //nolint:gosec // a test repeats itself
		p := &scriptedTree{
			programs: map[string]*machine.Program{"t": program(t, "t", d.list(0)), "child": program(t, "child", d.list(1))},
			input:    value.NewObject("l", []any{1.0, "a"}, "o", value.NewObject("k", 2.0), "n", 3.0, "$http", machine.HTTP{}),
			answers:  value.NewObject("fetch", []any{value.NewObject("body", value.NewObject("$stream", []any{"a", "b"})), "text"}), chances: true, most: 60,
		}
		_, body := p.perform(t, order)
		identical(t, p.replay(t, body, nil))
		identical(t, p.replay(t, body, p))
	})
}

// FuzzParse reads records that are none.
func FuzzParse(f *testing.F) {
	p := &scriptedTree{programs: map[string]*machine.Program{"t": program(f, "t", []any{value.NewObject("wait", value.NewObject("timeout", 1.0))})}, input: &value.Object{}}
	_, body := p.perform(f, 1)
	f.Add(body)
	f.Add([]byte{})
	f.Add([]byte{200, 200, 200, 200, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := recording.Parse(data)
		if err != nil {
			return
		}
		require.NotNil(t, r.Effects(nil))
		_ = recording.NewRecorder(1000).Load(data) // whatever it is, it is read or refused
	})
}

// author writes documents by chance.
type author struct{ *rand.Rand }

func (a author) of(choices ...any) any { return choices[a.IntN(len(choices))] }

func (a author) list(depth int) []any {
	all := []any{}
	for range 1 + a.IntN(4) {
		all = append(all, a.instruction(depth+1))
	}
	return all
}

func (a author) value() any {
	return a.of(1.0, "a", nil, "{{l}}", "{{o}}", "{{r}}", "{% {{n}} + 1 %}", []any{"{{item}}", 2.0}, "{{session}}", "{{run.date}}", "{% rand() %}",
		"{{user.id}}", "{{config}}", "{{global}}", "{{run}}", "{{secret.k}}", "{{session.others}}", "{{s}}", "{{f}}", "{{$http}}")
}

func (a author) name() any {
	return a.of("r", "n", "r[]", "r.k", "item", "l[]", "session.a", "session.l[]", "config.b", "run.x", "user.id", "session.id", "user.y", "$http.chunk", "f", "s")
}

func (a author) instruction(depth int) any {
	if depth > 4 {
		return value.NewObject("set", value.NewObject("name", a.name(), "value", a.value()))
	}
	switch a.IntN(14) {
	case 0:
		return value.NewObject("conditions", value.NewObject("{{n}} > 2", a.list(depth), "{{session.others}} > 50", a.list(depth), "default", a.list(depth)))
	case 1:
		return value.NewObject("repeat", value.NewObject("until", a.of(2.0, 3.0), "do", a.list(depth)))
	case 2:
		return value.NewObject("repeat", value.NewObject("on", a.of("{{l}}", "{{o}}", "{{r}}", "{{f.body}}"), "do", a.list(depth), "until", 4.0,
			"batch", value.NewObject("size", a.of(1.0, 2.0, 3.0), "interval", a.of(0.0, 5.0))))
	case 3:
		return value.NewObject("break", value.NewObject("scope", a.of("automation", "repeat", "all"), "payload", a.value()))
	case 4, 5:
		return value.NewObject("all", a.list(depth))
	case 6:
		return value.NewObject("try", value.NewObject("do", a.list(depth), "catch", a.list(depth), "finally", a.list(depth)))
	case 7, 8:
		return value.NewObject("wait", value.NewObject("timeout", a.of(1.0, 2.0), "output", a.name()))
	case 9:
		return value.NewObject("child", value.NewObject("l", a.value(), "output", a.name()))
	case 10:
		return value.NewObject("emit", value.NewObject("event", "e", "payload", value.NewObject("v", a.value()), "output", a.name()))
	case 11:
		return value.NewObject("fetch", value.NewObject("url", "http://h/{{n}}", "output", a.name()))
	}
	return value.NewObject("set", value.NewObject("name", a.name(), "value", a.value(), "type", a.of("replace", "merge", "push")))
}
