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

// countedModels are the read models of one workspace over counted keys.
type countedModels struct {
	countedKeys

	t   *testing.T
	seq uint64
}

func newCountedModels(t *testing.T) *countedModels {
	t.Helper()
	m := &countedModels{countedKeys: countedKeys{values: map[string][]byte{}}, t: t}
	m.apply(workspace.Created{Workspace: workspace.Snapshot{ID: "w", Settings: workspace.Settings{Name: "W", Slug: "w"}}})
	return m
}

func (m *countedModels) apply(ev domain.Event) {
	m.t.Helper()
	m.seq++
	at := time.Unix(1_800_000_000+int64(m.seq), 0)
	for i, p := range Table() {
		if p.Log() == domain.State {
			rec := domain.Recorded{ID: fmt.Sprint(m.seq), Stream: workspace.Stream("w"), Seq: m.seq, At: at, Data: ev}
			require.NoError(m.t, p.Apply(m.tx(i), rec), p.Name())
		}
	}
}

// tx is a transaction of the projection at a place of the table.
func (m *countedModels) tx(i int) Tx { return Tx{keys: &m.countedKeys, area: []byte{byte(i)}} }

// history reads what History stored.
func (m *countedModels) history() manifestSource {
	return txSource{m.tx(slices.IndexFunc(Table(), func(p Projection) bool { return p.Name() == History{}.Name() }))}
}

// savedAutomation is an automation after a change. It listens to an event.
func savedAutomation(i, change int, event string) workspace.Entry {
	body := fmt.Appendf(nil, `{"slug":"a%04d","name":"Change %06d","when":{"events":[%q]},"do":[{"emit":{"event":"charged"}},{"fetch":{"url":"{{secret.URL}}"}}]}`, i, change, event)
	return workspace.Entry{Path: fmt.Sprintf("automations/a%04d", i), Hash: workspace.HashOf(body), Checksum: workspace.HashOf(body), Body: body}
}

// A save reads and writes as much in a large workspace as in a small one, also when all documents
// use the same names.
func TestWhatASaveTouchesDoesNotGrowWithTheWorkspace(t *testing.T) {
	t.Parallel()
	cost := func(documents int) int {
		m := newCountedModels(t)
		for i := range documents {
			m.apply(workspace.AutomationCreated{Entry: savedAutomation(i, 0, "paid")})
		}
		m.bytes = 0
		for i := range documents { // as many as it takes to write whatever is written seldom
			m.apply(workspace.AutomationUpdated{Entry: savedAutomation(i, i+1, "paid")})
			m.apply(workspace.AutomationDeleted{Slug: fmt.Sprintf("a%04d", i)})
			m.apply(workspace.AutomationCreated{Entry: savedAutomation(i, i+1, "paid")})
		}
		return m.bytes / documents
	}
	small, large := cost(64), cost(1500)
	require.Less(t, large, 2*small, "bytes read and written for each document: %d with 64, %d with 1500", small, large)
}

// What a change replaced is found without reading the documents that it did not touch.
func TestWhatAnUndoReadsDoesNotGrowWithTheWorkspace(t *testing.T) {
	t.Parallel()
	cost := func(documents int) int {
		m := newCountedModels(t)
		for i := range documents {
			m.apply(workspace.AutomationCreated{Entry: savedAutomation(i, 0, "paid")})
		}
		m.seq = 10_000 // a longer number is more bytes
		m.apply(workspace.AutomationUpdated{Entry: savedAutomation(7, 1, "paid")})
		updated := m.seq
		m.apply(workspace.AutomationDeleted{Slug: "a0009"})
		m.bytes = 0
		was, is, err := changedBy(m.history(), "w", updated)
		require.NoError(t, err)
		require.Equal(t, Manifest{"automations/a0007": {Hash: savedAutomation(7, 0, "paid").Hash}}, was)
		require.Equal(t, Manifest{"automations/a0007": {Hash: savedAutomation(7, 1, "paid").Hash}}, is)
		was, known, err := changedAfter(m.history(), "w", updated-1, m.seq)
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, Manifest{"automations/a0007": {Hash: savedAutomation(7, 0, "paid").Hash}, "automations/a0009": {Hash: savedAutomation(9, 0, "paid").Hash}}, was)
		return m.bytes
	}
	require.Equal(t, cost(64), cost(1500))
}

// An app that is installed or removed concerns the documents that use its instance, and no other that listens to events.
func TestWhatAnInstallationTouchesDoesNotGrowWithTheWorkspace(t *testing.T) {
	t.Parallel()
	cost := func(documents int) int {
		m := newCountedModels(t)
		for i := range documents {
			m.apply(workspace.AutomationCreated{Entry: savedAutomation(i, 0, fmt.Sprintf("paid%d", i))})
		}
		m.apply(workspace.AutomationCreated{Entry: savedAutomation(9998, 0, "shop.paid")})
		m.bytes = 0
		body := []byte(`{"slug":"shop","appSlug":"shop"}`)
		m.apply(workspace.Installed{Entry: workspace.Entry{Path: "imports/shop", Hash: workspace.HashOf(body), Body: body, App: "shop"}})
		m.apply(workspace.Uninstalled{Slug: "shop"})
		return m.bytes
	}
	small, large := cost(64), cost(1500)
	require.Less(t, large, 2*small, "bytes read and written: %d with 64, %d with 1500", small, large)
}

// What a change of many documents put there is found by its sequence.
func TestWhatALargeChangeReplacedIsFound(t *testing.T) {
	t.Parallel()
	m := newCountedModels(t)
	many := func(change int) workspace.Imported {
		var in workspace.Imported
		for i := range maxParts + 1 {
			in.Switch.Entries = append(in.Switch.Entries, savedAutomation(i, change, "paid"))
		}
		return in
	}
	m.apply(many(1))
	m.apply(many(2))
	m.apply(workspace.AutomationUpdated{Entry: savedAutomation(7, 3, "paid")})
	for change := range 3 {
		was, is, err := changedBy(m.history(), "w", m.seq-2+uint64(change))
		require.NoError(t, err)
		want := Ref{}
		if change > 0 {
			want.Hash = savedAutomation(7, change, "paid").Hash
		}
		require.Equal(t, want, was["automations/a0007"])
		require.Equal(t, savedAutomation(7, change+1, "paid").Hash, is["automations/a0007"].Hash)
	}
	was, known, err := changedAfter(m.history(), "w", m.seq-1, m.seq)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, savedAutomation(7, 2, "paid").Hash, was["automations/a0007"].Hash)
	_, known, err = changedAfter(m.history(), "w", 1, m.seq)
	require.NoError(t, err)
	require.False(t, known, "the whole manifest is cheaper to read")
}
