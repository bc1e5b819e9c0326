package collections_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/collections"
	"svc/domain"
	"svc/domain/collection"
	"svc/projections/rows"
)

// left are rows that the caller gives up waiting for at the first of them.
type left struct {
	*rows.Model
	giveUp func()
}

func (l *left) View(ctx context.Context, id domain.StreamID, fn func(collection.Source, collection.Mark) error) error {
	return l.Model.View(ctx, id, func(v collection.Source, at collection.Mark) error { return fn(leaving{v, l.giveUp}, at) })
}

type leaving struct {
	collection.Source
	giveUp func()
}

func (l leaving) Rows(of uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	return l.Source.Rows(of, ranges, x, func(id string, row collection.Row) (bool, error) {
		l.giveUp()
		return visit(id, row)
	})
}

// What is done to the one row would take days.
func TestACallThatIsGivenUpEnds(t *testing.T) {
	t.Parallel()
	h, n := alone(t)
	n.call(t, "create", `{"collection":"c","data":{"id":"a","l":[`+times(100_000, "1")+`]}}`)
	gone, leaver := errors.New("nobody waits"), &left{Model: n.model}
	c, err := collections.New(collections.Options{Log: h.store.Collections, Rows: leaver, Vault: h.vault, Logger: quiet,
		Limits: func() collection.Limits { return collection.Limits{MaxSteps: 1 << 60} }})
	require.NoError(t, err)
	for function, params := range map[string]string{
		"aggregate": `{"collection":"c","steps":[{"$limit":1},` + times(49, `{"$project":{"l":[1,1]}},{"$unwind":"$l"}`) + `,{"$count":"n"}]}`,
		"updateOne": `{"collection":"c","query":{"l":1},"update":{"$pull":{"l":{"$in":[` + times(1_000_000, "2") + `]}}}}`,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		leaver.giveUp = func() { cancel(gone) }
		_, err := c.Call(ctx, somebody, function, object(params))
		require.ErrorIs(t, err, gone, function)
	}
	leaver.giveUp = func() {}
	_, err = c.Call(t.Context(), somebody, "create", object(`{"collection":"c","data":{}}`))
	require.NoError(t, err, "the turn was passed on")
}

// times returns something so many times, with commas between.
func times(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
