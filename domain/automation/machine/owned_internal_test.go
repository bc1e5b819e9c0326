package machine

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// TestChangesInPlaceShowNowhereElse makes random changes, reads at random, and
// compares with changes that always make a new value.
func TestChangesInPlaceShowNowhereElse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		drawn := rand.New(rand.NewPCG(seed, 1))
		l := newLocals(value.NewObject("a", value.NewObject("l", []any{1.0}), "b", []any{}))
		model := map[string]any{"a": l.vars["a"], "b": l.vars["b"]}
		var given []any
		var texts []string
		for range 60 {
			root := []string{"a", "b", "c"}[drawn.IntN(3)]
			if drawn.IntN(4) == 0 {
				keys := []string{root}
				for _, step := range randomPath(drawn) {
					keys = append(keys, step.Key)
				}
				v, _ := l.read(keys)
				given, texts = append(given, v), append(texts, value.JSON(v, ""))
				continue
			}
			op := variable.Op{Kind: variable.Kind(drawn.IntN(4)), Path: randomPath(drawn), Value: randomValue(drawn, given)}
			old, ok := model[root]
			if !ok {
				old = value.Undefined
			}
			want, wantErr := variable.Apply(old, op)
			_, err := l.applyOp(root, op, 1<<30)
			require.Equal(t, wantErr == nil, err == nil, "%v %v", wantErr, err)
			if wantErr == nil {
				model[root] = want
			}
			require.Equal(t, value.JSON(want, ""), value.JSON(l.at(root), ""), "seed %d", seed)
		}
		for i, v := range given {
			require.Equal(t, texts[i], value.JSON(v, ""), "seed %d: what was read has changed", seed)
		}
		size := len("{")
		for name, v := range l.vars {
			size += sizeOf(name, v)
		}
		require.Equal(t, size, l.size, "seed %d", seed)
	}
}

func randomPath(drawn *rand.Rand) (path []expr.Step) {
	for range drawn.IntN(4) {
		switch drawn.IntN(3) {
		case 0:
			path = append(path, expr.Step{Key: []string{"0", "1", "2"}[drawn.IntN(3)], Index: true})
		default:
			path = append(path, expr.Step{Key: []string{"l", "x", "y"}[drawn.IntN(3)]})
		}
	}
	return path
}

func randomValue(drawn *rand.Rand, given []any) any {
	switch n := drawn.IntN(6); {
	case n == 0 && len(given) > 0:
		return given[drawn.IntN(len(given))]
	case n == 1:
		return []any{1.0, "x"}
	case n == 2:
		return value.NewObject("x", []any{"y"}, "l", 2.0)
	case n == 3:
		return value.Undefined
	}
	return float64(drawn.IntN(1000))
}
