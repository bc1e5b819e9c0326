package rows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"svc/domain/collection"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// tidyEvery is how often namespaces are looked for that the log has no more.
	tidyEvery = 10 * time.Minute
)

// Run follows the log until ctx ends, which is no error.
func (m *Model) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { m.tidyLoop(ctx) })
	defer running.Wait()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		before, _ := m.Health()
		err := m.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errStale) {
			m.opts.Logger.Warn("the rows of collections are built again", "err", err)
			err = m.Empty()
		}
		if err == nil {
			pause = firstPause / 2
			continue
		}
		if now, _ := m.Health(); now != before {
			pause = firstPause
		}
		m.opts.Logger.Error("the rows of collections are not followed, trying again", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// follow reads the log from the checkpoint on, after comparing the two.
func (m *Model) follow(ctx context.Context) error {
	identity, reach, last, err := m.opts.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at the log of collections: %w", err)
	}
	m.mu.Lock()
	at, none := m.at, checkpoint{}
	if at == none {
		m.at, m.fresh = checkpoint{Version: version, Identity: identity}, true
	}
	m.mu.Unlock()
	if at != none && (at.Version != version || at.Identity != identity || at.Seq > reach) {
		return fmt.Errorf("%w: the model is of %+v, the log is %s and ends at %d", errStale, at, identity, reach)
	}
	return m.opts.Log.Follow(ctx, at.Seq+1, func(entries []collection.Logged, pending uint64) error {
		if err := m.apply(ctx, entries); err != nil {
			return err
		}
		return m.settle(ctx, pending, &last)
	})
}

// settle notes how far the model is. It has caught up when nothing follows, and the
// log has nothing that a replica did not know of.
func (m *Model) settle(ctx context.Context, pending uint64, last *uint64) (err error) {
	m.mu.Lock()
	at := m.at.Seq
	m.mu.Unlock()
	_, caught := m.Health()
	if !caught && pending == 0 {
		if at < *last { // it may have been erased since
			if _, _, *last, err = m.opts.Log.Info(ctx); err != nil {
				return err
			}
		}
		caught = at >= *last
	}
	if caught {
		m.mu.Lock()
		m.fresh = false
		m.mu.Unlock()
	}
	m.advance(at, caught)
	return nil
}

// Empty forgets everything, so that Run fills the model again from the beginning of
// the log. One that a crash cut short is known by its checkpoint, which goes last.
func (m *Model) Empty() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(0, false)
	m.progress.Lock()
	clear(m.infos)
	m.progress.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	m.at = checkpoint{Version: emptying}
	if err := errors.Join(b.setJSON([]byte{ofCheckpoint}, m.at), b.flush()); err != nil {
		return err
	}
	for _, kind := range []byte{ofSpace, ofInfo, ofStats, ofRow, ofUnique, ofIndex} {
		if err := b.drop([]byte{kind}); err != nil {
			return err
		}
	}
	if err := errors.Join(b.delete([]byte{ofCheckpoint}), b.flush()); err != nil {
		return err
	}
	m.at = checkpoint{}
	return nil
}

// tidyLoop looks for namespaces that were erased, once the model has caught up and
// then from time to time.
func (m *Model) tidyLoop(ctx context.Context) {
	if m.Reach(ctx, 0) != nil {
		return
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		if err := m.Tidy(ctx); err != nil && ctx.Err() == nil {
			m.opts.Logger.Warn("namespaces of collections that were erased were not looked for", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Tidy forgets the namespaces of which the log has nothing any more.
func (m *Model) Tidy(ctx context.Context) error {
	have, err := m.spaces("")
	if err != nil {
		return err
	}
	ids, err := m.opts.Log.IDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		delete(have, spaceOf(id))
	}
	return m.forget(have)
}

// Forget forgets the namespaces of a workspace that is deleted.
func (m *Model) Forget(workspaceID string) error {
	have, err := m.spaces(workspaceID + ".")
	if err != nil {
		return err
	}
	return m.forget(have)
}

// spaces returns the namespaces whose names begin so, and how far they are.
func (m *Model) spaces(prefix string) (map[string]uint64, error) {
	txn := m.opts.DB.NewTransaction(false)
	defer txn.Discard()
	have := map[string]uint64{}
	for _, key := range first(txn, spaceKey(prefix), math.MaxInt) {
		space := string(key[1:])
		at, err := readStanding(txn, space)
		if err != nil {
			return nil, err
		}
		have[space] = at.Seq
	}
	return have, nil
}

// forget drops namespaces that are still where they were.
func (m *Model) forget(spaces map[string]uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	for _, space := range slices.Sorted(maps.Keys(spaces)) {
		at, err := readStanding(b.txn, space)
		if err != nil {
			return err
		}
		if at.Seq != spaces[space] {
			continue
		}
		// What says how far it is goes last: until then this can be done again.
		if err := b.clear(space); err != nil {
			return err
		}
		if err := b.delete(spaceKey(space)); err != nil {
			return err
		}
	}
	defer m.forgetInfos(b)
	return b.flush()
}

// Dump visits everything that the model keeps, in order. It is for comparing models.
func (m *Model) Dump(visit func(key, value []byte) error) error {
	m.mu.RLock()
	txn := m.opts.DB.NewTransaction(false)
	m.mu.RUnlock()
	defer txn.Discard()
	return scan(txn, nil, nil, nil, true, func(key, b []byte) (bool, error) { return true, visit(key, b) })
}
