package projections

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// countedKeys are keys in memory. They count what is read and written.
type countedKeys struct {
	values map[string][]byte
	bytes  int
}

func (k *countedKeys) get(key []byte) ([]byte, bool, error) {
	value, ok := k.values[string(key)]
	k.bytes += len(key) + len(value)
	return value, ok, nil
}

func (k *countedKeys) set(key, value []byte) error {
	k.values[string(key)] = value
	k.bytes += len(key) + len(value)
	return nil
}

func (k *countedKeys) delete(key []byte) error {
	delete(k.values, string(key))
	k.bytes += len(key)
	return nil
}

func (k *countedKeys) iterate(area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	keys := slices.Sorted(maps.Keys(k.values))
	if s.Reverse {
		slices.Reverse(keys)
	}
	prefix, from := string(join(area, s.Prefix)), string(join(area, s.From))
	for _, key := range keys {
		if !strings.HasPrefix(key, prefix) || s.From != nil && (!s.Reverse && key < from || s.Reverse && key > from) {
			continue
		}
		k.bytes += len(key) + len(k.values[key])
		if more, err := visit([]byte(key)[len(area):], k.values[key]); err != nil || !more {
			return err
		}
	}
	return nil
}

// A save reads and writes as much in a large workspace as in a small one, also when all documents
// use the same names.
func TestWhatASaveTouchesDoesNotGrowWithTheWorkspace(t *testing.T) {
	t.Parallel()
	cost := func(documents int) int {
		k, seq := &countedKeys{values: map[string][]byte{}}, uint64(0)
		apply := func(ev domain.Event) {
			seq++
			at := time.Unix(1_800_000_000+int64(seq), 0)
			for i, p := range Table() {
				if p.Log() == domain.State {
					rec := domain.Recorded{ID: fmt.Sprint(seq), Stream: workspace.Stream("w"), Seq: seq, At: at, Data: ev}
					require.NoError(t, p.Apply(Tx{k, []byte{byte(i)}}, rec), p.Name())
				}
			}
		}
		saved := func(i, change int) workspace.Entry {
			body := fmt.Appendf(nil, `{"slug":"a%04d","name":"Change %06d","when":{"events":["paid"]},"do":[{"emit":{"event":"charged"}},{"fetch":{"url":"{{secret.URL}}"}}]}`, i, change)
			return workspace.Entry{Path: fmt.Sprintf("automations/a%04d", i), Hash: workspace.HashOf(body), Checksum: workspace.HashOf(body), Body: body}
		}
		apply(workspace.Created{Workspace: workspace.Snapshot{ID: "w", Settings: workspace.Settings{Name: "W", Slug: "w"}}})
		for i := range documents {
			apply(workspace.AutomationCreated{Entry: saved(i, 0)})
		}
		k.bytes = 0
		for i := range documents { // as many as it takes to write whatever is written seldom
			apply(workspace.AutomationUpdated{Entry: saved(i, i+1)})
			apply(workspace.AutomationDeleted{Slug: fmt.Sprintf("a%04d", i)})
			apply(workspace.AutomationCreated{Entry: saved(i, i+1)})
		}
		return k.bytes / documents
	}
	small, large := cost(64), cost(1500)
	require.Less(t, large, 2*small, "bytes read and written for each document: %d with 64, %d with 1500", small, large)
}
