package projections

import (
	"context"
	"maps"
	"strings"
	"sync"

	"svc/projections/vectors"
)

// Nearest is the passages of a base that are nearest to a vector.
type Nearest struct {
	Hits   []vectors.Hit
	Total  int  // documents
	OnDisk bool // the vectors do not fit into the memory that they may have
	Unlike bool // there are vectors of another length, which were not compared
}

// Nearest finds the passages of a base whose vectors of a set are nearest, as the index has them now: see Sync.
func (x *SearchIndex) Nearest(ctx context.Context, workspaceID, baseID, set string, q vectors.Query) (found Nearest, err error) {
	name := indexName(workspaceID, baseID)
	err = x.readBase(workspaceID, baseID, func(k indexKeys, area string) error {
		s, _, err := k.state(name)
		if err != nil {
			return err
		}
		ranking := &vectors.Ranking{Query: q}
		add := func(b vectors.Block) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return true, ranking.Add(b)
		}
		loaded, ok, err := x.vectors.load(ctx, k, area, set, s.Batch)
		switch {
		case err != nil:
			return err
		case ok:
			for _, d := range loaded {
				for _, b := range d.blocks {
					if _, err := add(b); err != nil {
						return err
					}
				}
			}
		default:
			found.OnDisk = true
			if err := vectors.Scan(k, area, set, add); err != nil {
				return err
			}
		}
		found.Hits, found.Total, found.Unlike = ranking.Hits(), ranking.Total, ranking.Unlike
		return nil
	})
	return found, err
}

// vectorCache has the vectors of the bases that were searched last, as far as there is room for them.
type vectorCache struct {
	limit int64 // bytes

	mu    sync.Mutex
	size  int64
	clock uint64
	sets  map[string]*cachedSet // by area and set
}

// cachedSet is the vectors of a set of a base in memory.
type cachedSet struct {
	loading sync.Mutex

	// What follows is guarded by the lock of the cache.
	batch     uint64 // of the index
	documents []cachedVectors
	size      int64
	tooLarge  bool
	used      uint64
}

// cachedVectors are the vectors of a document.
type cachedVectors struct {
	blob   string
	blocks []vectors.Block
}

// load returns the vectors of a set after a batch of the index. ok is false when they are too large.
func (c *vectorCache) load(ctx context.Context, k indexKeys, area, set string, batch uint64) (documents []cachedVectors, ok bool, err error) {
	key := area + "\x00" + set
	c.mu.Lock()
	if c.sets == nil {
		c.sets = map[string]*cachedSet{}
	}
	entry := c.sets[key]
	if entry == nil {
		entry = &cachedSet{}
		c.sets[key] = entry
	}
	c.clock++
	entry.used = c.clock
	c.mu.Unlock()

	entry.loading.Lock()
	defer entry.loading.Unlock()
	c.mu.Lock()
	known, at, tooLarge := entry.documents, entry.batch, entry.tooLarge
	c.mu.Unlock()
	if at == batch && (known != nil || tooLarge) {
		return known, !tooLarge, nil
	}
	documents, size, err := c.read(ctx, k, area, set, known)
	if err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets[key] != entry { // it was evicted or forgotten meanwhile: what was read is used once
		return documents, size <= c.limit, nil
	}
	c.size -= entry.size
	entry.batch, entry.tooLarge = batch, size > c.limit
	if entry.tooLarge {
		documents, size = nil, 0
	}
	entry.documents, entry.size = documents, size
	c.size += size
	c.evict(entry)
	return documents, !entry.tooLarge, nil
}

// forget frees the vectors of an area.
func (c *vectorCache) forget(area string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.sets, func(key string, entry *cachedSet) bool {
		isOf := strings.HasPrefix(key, area+"\x00")
		if isOf {
			c.size -= entry.size
		}
		return isOf
	})
}

// read reads the vectors of a set. Those of documents that have not changed are taken from what was known.
func (c *vectorCache) read(ctx context.Context, k indexKeys, area, set string, known []cachedVectors) (documents []cachedVectors, size int64, err error) {
	byBlob := map[string]cachedVectors{}
	for _, d := range known {
		if len(d.blocks) > 0 {
			byBlob[d.blocks[0].ID+"/"+d.blob] = d
		}
	}
	documents = []cachedVectors{}
	err = vectors.Documents(k, area, set, func(id string, stored vectors.Stored) (bool, error) {
		d, ok := byBlob[id+"/"+stored.Blob]
		if !ok {
			d.blob = stored.Blob
			if d.blocks, err = vectors.Blocks(k, area, set, id, stored); err != nil {
				return false, err
			}
		}
		for _, b := range d.blocks {
			size += int64(4*len(b.Values) + len(b.ID) + 64)
		}
		documents = append(documents, d)
		return size <= c.limit, ctx.Err()
	})
	return documents, size, err
}

// evict removes the sets that were not used for the longest time, but not the last one.
func (c *vectorCache) evict(last *cachedSet) {
	for c.size > c.limit {
		oldest := ""
		for key, s := range c.sets {
			if s != last && s.size > 0 && (oldest == "" || s.used < c.sets[oldest].used) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		c.size -= c.sets[oldest].size
		delete(c.sets, oldest)
	}
}
