package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/projections/fulltext"
)

// SearchReport is the outcome of a rebuild of the index.
type SearchReport struct {
	Bases     int      `json:"bases"`
	Documents int      `json:"documents"`
	Chunks    int      `json:"chunks"`
	Duration  Duration `json:"duration"`
}

// Rebuild builds the index of all bases again, or of those with an id or a slug, beside the live one, and replaces it.
// It reads stored passages only: nothing is loaded, extracted or embedded.
func (x *SearchIndex) Rebuild(ctx context.Context, idOrSlug string) (report SearchReport, err error) {
	started := x.o.Models.opts.Now()
	all, err := x.bases(0)
	if err != nil {
		return report, err
	}
	for _, b := range all {
		if wanted, err := x.isCalled(b, idOrSlug); err != nil || !wanted {
			if err != nil {
				return report, err
			}
			continue
		}
		documents, chunks, err := x.rebuildBase(ctx, b)
		if err != nil {
			return report, fmt.Errorf("rebuild the index of base %s: %w", b.baseID, err)
		}
		report.Bases++
		report.Documents += documents
		report.Chunks += chunks
	}
	report.Duration = Duration(x.o.Models.opts.Now().Sub(started))
	return report, nil
}

// isCalled reports whether a base has an id or a slug; "" is all of them.
func (x *SearchIndex) isCalled(b knownBase, idOrSlug string) (bool, error) {
	if idOrSlug == "" || idOrSlug == b.baseID {
		return true, nil
	}
	r := x.o.Models.Reader()
	defer r.Close()
	item, ok, err := Content{}.Get(r, b.workspaceID, "knowledge/"+idOrSlug)
	return ok && item.ID == b.baseID, err
}

// rebuildBase builds the index of a base again. Others may write between two batches.
func (x *SearchIndex) rebuildBase(ctx context.Context, b knownBase) (documents, chunks int, err error) {
	var s indexState
	err = x.write(ctx, b, func(w *indexWriter) (err error) {
		s, err = w.begin(ctx)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	area := s.area(indexName(b.workspaceID, b.baseID))
	defer x.endBuilding(area)
	for s.Building || s.Cursor != "" {
		err = x.write(ctx, b, func(w *indexWriter) error {
			s, err = w.advance(ctx, s)
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	if err := x.write(ctx, b, func(w *indexWriter) error { return w.replace(s) }); err != nil {
		return 0, 0, err
	}
	err = x.read(func(k indexKeys) error {
		if chunks, err = fulltext.CountChunks(k, area); err != nil {
			return err
		}
		return fulltext.Documents(k, area, "", func(string) bool { documents++; return true })
	})
	return documents, chunks, err
}

// begin announces an index that is built beside the live one. When it never replaces that, it is swept.
func (w *indexWriter) begin(ctx context.Context) (s indexState, err error) {
	w.persist = true
	live, err := w.load(ctx)
	if err != nil {
		return s, err
	}
	w.persist = false
	s = live.next()
	live.Newest = s.Generation
	area := s.area(w.name)
	w.x.mu.Lock()
	w.x.building[area] = true
	w.x.mu.Unlock()
	err = w.db.Update(func(txn *badger.Txn) error {
		if err := txn.Set(garbageKey(area), nil); err != nil {
			return err
		}
		return w.setState(txn, live)
	})
	if err == nil { // versions before did not sweep what a rebuild left that was interrupted
		err = dropPrefix(w.db, areaPrefix(area), func() bool { return false })
	}
	if err != nil {
		w.x.endBuilding(area)
	}
	return s, err
}

// endBuilding says that an area is live or to be swept.
func (x *SearchIndex) endBuilding(area string) {
	x.mu.Lock()
	delete(x.building, area)
	x.mu.Unlock()
	select {
	case x.garbage <- struct{}{}:
	default: // it is known already
	}
}

// replace makes an index the live one; what was live is to be swept.
func (w *indexWriter) replace(s indexState) error {
	err := w.db.Update(func(txn *badger.Txn) error {
		old, known, err := indexKeys{txn}.state(w.name)
		if err != nil {
			return err
		}
		s.Newest = max(s.Newest, s.Generation, old.Newest)
		if known {
			if err := txn.Set(garbageKey(old.area(w.name)), nil); err != nil {
				return err
			}
		}
		for _, key := range [][]byte{garbageKey(s.area(w.name)), append([]byte{indexBatchSpace}, w.name...)} {
			if err := txn.Delete(key); err != nil {
				return err
			}
		}
		return w.setState(txn, s)
	})
	if err == nil {
		w.x.endBuilding(s.area(w.name))
	}
	return err
}

func garbageKey(area string) []byte { return append([]byte{indexGarbageSpace}, area...) }

// areaPrefix is what all keys of the index in an area begin with.
func areaPrefix(area string) []byte { return join([]byte{indexDataSpace}, fulltext.Prefix(area)) }

// sweep deletes the indexes that no state names, some keys at a time. It stops while another one is built: the end of that
// calls for it again.
func (x *SearchIndex) sweep(ctx context.Context) error {
	var areas []string
	err := x.read(func(k indexKeys) error {
		return iterate(k.txn, []byte{indexGarbageSpace}, Span{KeysOnly: true}, func(key, _ []byte) (bool, error) {
			areas = append(areas, string(key))
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	for _, area := range areas {
		x.vectors.forget(area)
		for from := areaPrefix(area); from != nil; {
			x.giveWay(ctx)
			err := x.write(ctx, knownBase{}, func(w *indexWriter) (err error) {
				from, err = w.sweepSome(area, from)
				return err
			})
			if err != nil {
				return fmt.Errorf("delete a former search index: %w", err)
			}
		}
	}
	return nil
}

// sweepSome deletes some keys of an area from from on, and returns where to go on; nil: there is nothing to do now. An area that was made the
// live one since it was found stays.
func (w *indexWriter) sweepSome(area string, from []byte) (next []byte, err error) {
	w.x.mu.Lock()
	isBuilding := len(w.x.building) > 0
	w.x.mu.Unlock()
	if isBuilding {
		return nil, nil
	}
	err = w.db.Update(func(txn *badger.Txn) error {
		_, isGarbage, err := get(txn, garbageKey(area))
		if err != nil || !isGarbage {
			return err
		}
		if next, err = dropSome(txn, areaPrefix(area), from); err == nil && next == nil {
			err = txn.Delete(garbageKey(area))
		}
		return err
	})
	return next, err
}

// readersPatience is how long a build waits at a time for those who read.
const readersPatience = 50 * time.Millisecond

// giveWay lets those who search go first, while something large is written that nobody waits for.
func (x *SearchIndex) giveWay(ctx context.Context) {
	x.mu.Lock()
	if x.readers == 0 {
		x.mu.Unlock()
		return
	}
	if x.quiet == nil {
		x.quiet = make(chan struct{})
	}
	quiet := x.quiet
	x.mu.Unlock()
	patience := time.NewTimer(readersPatience)
	defer patience.Stop()
	select {
	case <-quiet:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// replaceFormer builds the indexes again that have the shape before.
func (x *SearchIndex) replaceFormer(ctx context.Context) error {
	if x.replaced {
		return nil
	}
	all, err := x.bases(0)
	if err != nil {
		return err
	}
	for _, b := range all {
		if err := x.replaceIfFormer(ctx, b); err != nil {
			return err
		}
	}
	x.replaced = true
	return nil
}

func (x *SearchIndex) replaceIfFormer(ctx context.Context, b knownBase) error {
	_, s, _, err := x.lag(b.workspaceID, b.baseID)
	if err != nil || s.Shape != formerShape {
		return err
	}
	_, _, err = x.rebuildBase(ctx, b)
	return err
}
