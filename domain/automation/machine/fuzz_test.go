package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// FuzzDocuments runs whatever documents the bytes make, at once, instruction by
// instruction, and from one saved state to the next: nothing panics, what is stopped
// ends, and all three come to the same.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte("conditions repeat set try all break child wait 0123456789"))
	f.Add([]byte{3, 9, 5, 2, 7, 1, 8, 8, 2, 4, 6, 3, 3, 3, 3, 1, 0, 250, 17, 4, 9, 12, 40, 33, 21, 8, 7, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data}
		programs := map[string]*machine.Program{"t": program(t, "t", d.list(0)), "child": program(t, "child", d.list(0))}
		input := value.NewObject("l", []any{1.0, "a"}, "o", value.NewObject("k", 2.0), "$http", machine.HTTP{})
		const most, limit = 25, 2_000
		whole := run(t, programs, input, nil, manner{budget: 1 << 20, most: most, limit: limit})
		slowly := run(t, programs, input, nil, manner{budget: 7, most: most, limit: limit})
		require.Equal(t, same(whole), same(slowly))
		saved := run(t, programs, input, nil, manner{budget: 1 << 20, most: most, limit: limit, saves: true})
		require.Equal(t, same(whole), same(saved))
	})
}

// FuzzRestore reads states that are none.
func FuzzRestore(f *testing.F) {
	p := program(f, "t", parseYAML(f, `[{repeat: {until: 2, batch: {size: 2}, do: [{try: {do: [{all: [{wait: {}}, {t: {}}]}]}}]}}]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, nil)
	m.Go(100)
	state, err := m.Save()
	require.NoError(f, err)
	f.Add(state)
	f.Fuzz(func(t *testing.T, data []byte) {
		restored, asked, err := machine.Restore(data, machine.Options{World: newScript(nil, nil)}, func(string) (*machine.Program, error) { return p, nil })
		if err != nil {
			return
		}
		require.NotNil(t, restored.Root())
		require.LessOrEqual(t, len(asked), len(data))
	})
}

// dice takes decisions from bytes; when these are used up it repeats the last
// ones no more and always says 0.
type dice struct {
	data []byte
}

func (d *dice) next() byte {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *dice) of(choices ...any) any { return choices[int(d.next())%len(choices)] }

func (d *dice) list(depth int) []any {
	var all []any
	for range int(d.next()) % 4 {
		all = append(all, d.instruction(depth+1))
	}
	return all
}

func (d *dice) value() any {
	return d.of(1.0, "a", nil, "{{l}}", "{{o}}", "{{r}}", "{% {{n}} + 1 %}", []any{"{{item}}", 2.0}, value.NewObject("k", "{{x}}"), "{{$http}}", "{% uuid() %}")
}

func (d *dice) name() any {
	return d.of("r", "n", "r[]", "r.k", "r[0]", "item", "$index", "l[]", "session.a", "config.b", "r[{{n}}]", "$http", "run.depth", "user.id")
}

func (d *dice) instruction(depth int) any {
	if depth > 5 {
		return value.NewObject("set", value.NewObject("name", d.name(), "value", d.value()))
	}
	switch d.next() % 12 {
	case 0:
		return value.NewObject("conditions", value.NewObject("{{n}} > 2", d.list(depth), "default", d.list(depth)))
	case 1:
		return value.NewObject("repeat", value.NewObject("until", d.of(2.0, "{{n}}", "{% {{r}} > 3 %}"), "do", d.list(depth)))
	case 2:
		return value.NewObject("repeat", value.NewObject("on", d.of("{{l}}", "{{o}}", "{{r}}"), "do", d.list(depth),
			"batch", value.NewObject("size", d.of(1.0, 2.0, 3.0), "interval", d.of(0.0, 5.0))))
	case 3:
		return value.NewObject("break", value.NewObject("scope", d.of("automation", "repeat", "all", "{{r}}"), "payload", d.value()))
	case 4:
		return value.NewObject("all", d.list(depth))
	case 5:
		return value.NewObject("try", value.NewObject("do", d.list(depth), "catch", d.list(depth), "finally", d.list(depth)))
	case 6:
		return value.NewObject("wait", value.NewObject("timeout", d.of(1.0, 2.0, "{{n}}"), "output", d.name()))
	case 7:
		return value.NewObject(d.of("child", "t", "nope").(string), value.NewObject("l", d.value(), "output", d.name()))
	case 8:
		return value.NewObject("delete", value.NewObject("name", d.name()))
	case 9:
		return value.NewObject("emit", value.NewObject("event", d.of("e", "{{n}}"), "payload", d.value(), "output", d.name()))
	}
	return value.NewObject("set", value.NewObject("name", d.name(), "value", d.value(), "type", d.of("replace", "merge", "push", nil)))
}
