package collections_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands/collections"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/collection"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/projections/rows"
)

// panickingRows are rows of which one cannot be looked at without falling over.
type panickingRows struct{ *rows.Model }

func (c panickingRows) View(ctx context.Context, id domain.StreamID, fn func(collection.Source, collection.Mark) error) error {
	return c.Model.View(ctx, id, func(v collection.Source, at collection.Mark) error { return fn(panickingSource{v}, at) })
}

type panickingSource struct{ collection.Source }

func (c panickingSource) Rows(of uint32, ranges []collection.Range, x *collection.Index, visit func(string, collection.Row) (bool, error)) error {
	return c.Source.Rows(of, ranges, x, func(id string, row collection.Row) (bool, error) {
		if id == "broken" {
			panic("this row cannot be evaluated")
		}
		return visit(id, row)
	})
}

// panickingLog is a log that falls over when it is told to.
type panickingLog struct {
	*jetstream.Collections
	falls atomic.Bool
}

func (s *panickingLog) Append(ctx context.Context, id domain.StreamID, name string, expected uint64, snapshot bool, body []byte) (uint64, error) {
	if s.falls.CompareAndSwap(true, false) {
		panic("nothing can be appended")
	}
	return s.Collections.Append(ctx, id, name, expected, snapshot, body)
}

func TestAFaultOfOursEndsNothingButItsCall(t *testing.T) {
	t.Parallel()
	h := open(t)
	log, told := &panickingLog{Collections: h.store.Collections}, &livetest.Lines{}
	db, err := badger.Open(badger.DefaultOptions(filepath.Join(h.dir, "rows")).WithLogger(nil).WithDetectConflicts(false).WithMemTableSize(8 << 20).WithValueThreshold(1 << 20))
	require.NoError(t, err)
	model, err := rows.New(rows.Options{DB: db, Log: h.store.Collections, Opener: &collections.Envelope{Parts: h.store.Collections, Vault: h.vault}, Logger: quiet})
	require.NoError(t, err)
	c, err := collections.New(collections.Options{Log: log, Rows: panickingRows{model}, Vault: h.vault, Logger: slog.New(slog.NewTextHandler(told, nil))})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = model.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait(); require.NoError(t, db.Close()) })
	n := &node{Collections: c, store: h.store, model: model}
	n.call(t, "create", `{"collection":"c","data":{"id":"broken","n":1}}`)

	fell := func(err error) {
		t.Helper()
		assert.Equal(t, automation.InternalFault, automation.ErrorOf(err).Name, "%v", err)
		assert.NotContains(t, automation.ErrorOf(err).Message, "evaluated")
	}
	_, err = n.try(t.Context(), "findMany", `{"collection":"c","query":{"n":{"$gt":0}}}`)
	fell(err)
	require.Contains(t, told.String(), "this row cannot be evaluated")
	require.Contains(t, told.String(), "write_queue_test.go", "the stack is in the log")
	require.Contains(t, told.String(), "workspace=w1 function=findMany")

	var calls sync.WaitGroup
	for i := range 40 { // they take turns, and wait for each other
		calls.Go(func() {
			if i%4 == 0 {
				_, err := n.try(t.Context(), "updateMany", `{"collection":"c","query":{"n":{"$gt":0}},"update":{"n":2}}`)
				fell(err)
				return
			}
			_, err := n.try(t.Context(), "create", fmt.Sprintf(`{"collection":"c","data":{"id":"r%02d","n":0}}`, i))
			assert.NoError(t, err)
		})
	}
	calls.Wait()
	require.Equal(t, "31", n.call(t, "count", `{"collection":"c"}`))

	log.falls.Store(true)
	_, err = n.try(t.Context(), "create", `{"collection":"c","data":{"id":"again"}}`)
	fell(err)
	require.Contains(t, told.String(), "nothing can be appended")
	n.call(t, "create", `{"collection":"c","data":{"id":"again"}}`)
}

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
	h, n := openSingleNode(t)
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
