package projections

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// askSweep asks Run to drop generations that nobody uses. Without Run they stay
// until the next start.
func (m *Models) askSweep() {
	select {
	case m.sweep <- struct{}{}:
	default: // asked already
	}
}

func (m *Models) sweepLoop(ctx context.Context) {
	m.askSweep() // for what an earlier process left behind
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.sweep:
		}
		if err := m.sweepOnce(ctx); err != nil {
			m.opts.Log.Warn("old read models were not dropped", "err", err)
		}
	}
}

// sweepOnce drops every generation that neither serves nor is being built.
func (m *Models) sweepOnce(ctx context.Context) error {
	var nums []uint32
	err := m.db.View(func(txn *badger.Txn) (err error) {
		nums, err = generations(txn)
		return err
	})
	if err != nil {
		return err
	}
	for _, num := range nums {
		if m.inUse(num) {
			continue
		}
		if err := m.drop(num, func() bool { return ctx.Err() != nil }); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes a generation, and its number once all of it is gone.
func (m *Models) drop(num uint32, stop func() bool) error {
	if err := dropPrefix(m.db, generationPrefix(num), stop); err != nil || stop() {
		return err
	}
	if err := m.db.Update(func(txn *badger.Txn) error { return txn.Delete(numberKey(num)) }); err != nil {
		return err
	}
	m.opts.Log.Info("read models dropped", "generation", num)
	return nil
}

func (m *Models) inUse(num uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, claimed := m.claimed[num]
	return claimed || m.live.Load().num == num
}

// claim returns a new generation that is not swept until it is disclaimed. Its
// number is stored before its first key.
func (m *Models) claim() (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	num := m.next
	if err := m.db.Update(func(txn *badger.Txn) error { return txn.Set(numberKey(num), nil) }); err != nil {
		return nil, fmt.Errorf("begin generation %d: %w", num, err)
	}
	m.next++
	m.claimed[num] = struct{}{}
	return newGeneration(num, m.opts.Projections), nil
}

// disclaim leaves gen to be swept, unless it became the live one.
func (m *Models) disclaim(gen *generation) {
	m.mu.Lock()
	delete(m.claimed, gen.num)
	m.mu.Unlock()
	m.askSweep()
}
