package crashfs

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sort"
)

const pageSize = 4096

// content is what a file holds after some of its operations. Images of growing
// cuts extend it; an earlier cut starts again from the base.
type content struct {
	data    []byte
	applied int // how many of the object's operations are in data
}

// contentAt returns what the file o holds after cut. The result is valid, and
// must not be changed, until the next call. The caller holds f.images.
func (f *FS) contentAt(o *object, cut Cut) []byte {
	log, ops := f.opsBefore(o, cut.At)
	durable := len(ops)
	for cut.Data != Kept && durable > 0 && log[ops[durable-1]].Kind != Sync {
		durable--
	}
	if o.cache.data == nil || o.cache.applied > durable {
		o.cache = content{data: append(make([]byte, 0, len(o.base)+1), o.base...)}
	}
	for ; o.cache.applied < durable; o.cache.applied++ {
		o.cache.data = apply(o.cache.data, log[ops[o.cache.applied]])
	}
	rest := ops[durable:]
	switch {
	case len(rest) == 0:
		return o.cache.data
	case cut.Data == Torn:
		return torn(o.cache.data, pick(log, rest), cut.random(o.id))
	case cut.Data == Shuffled:
		return shuffled(o.cache.data, pick(log, rest), cut.random(o.id))
	default:
		return o.cache.data
	}
}

// pick returns the operations of the log at the indices.
func pick(log []Op, indices []int) []Op {
	ops := make([]Op, len(indices))
	for i, at := range indices {
		ops[i] = log[at]
	}
	return ops
}

// opsBefore returns the log and the operations of o before at.
func (f *FS) opsBefore(o *object, at int) (log []Op, ops []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log, o.ops[:sort.SearchInts(o.ops, at)]
}

// apply returns data after a write or truncation, reusing its memory.
func apply(data []byte, op Op) []byte {
	switch op.Kind {
	case Write:
		data = resize(data, max(len(data), int(op.Off+op.Len)))
		copy(data[op.Off:], op.data)
	case Truncate:
		data = resize(data, int(op.Len))
	}
	return data
}

// resize returns data with size bytes; those beyond its old length are zero.
func resize(data []byte, size int) []byte {
	old := len(data)
	if size > cap(data) {
		data = slices.Grow(data, size-old)
	}
	data = data[:size]
	if size > old {
		clear(data[old:])
	}
	return data
}

// torn keeps some of the first operations, and perhaps half of the last one.
func torn(durable []byte, rest []Op, random *rand.Rand) []byte {
	keep := rest[:random.IntN(len(rest)+1)]
	data := bytes.Clone(durable)
	for i, op := range keep {
		if i == len(keep)-1 && op.Kind == Write && random.IntN(2) == 0 {
			op.Len = random.Int64N(op.Len + 1)
			op.data = op.data[:op.Len]
			if op.Len == 0 {
				break // not even a size
			}
		}
		data = apply(data, op)
	}
	return data
}

// shuffled takes each page, and the size, at a random moment of its own.
func shuffled(durable []byte, rest []Op, random *rand.Rand) []byte {
	moment := func() int { return random.IntN(len(rest) + 1) }
	longest, size, sizeMoment := len(durable), len(durable), moment()
	kept := size
	for i, op := range rest {
		switch op.Kind {
		case Write:
			size = max(size, int(op.Off+op.Len))
		case Truncate:
			size = int(op.Len)
		}
		longest = max(longest, size)
		if i < sizeMoment {
			kept = size
		}
	}
	moments := make([]int, (longest+pageSize-1)/pageSize)
	for page := range moments {
		moments[page] = moment()
	}
	data := resize(bytes.Clone(durable), longest)
	for i, op := range rest {
		applyPages(data, op, func(page int) bool { return i < moments[page] })
	}
	return data[:kept]
}

// applyPages applies op to those pages of data that are kept. It never changes
// the length: what a truncation cut off becomes zero.
func applyPages(data []byte, op Op, kept func(page int) bool) {
	from, to := int(op.Off), int(op.Off+op.Len)
	if op.Kind == Truncate {
		from, to = int(op.Len), len(data)
	}
	for from < to {
		page := from / pageSize
		end := min(to, (page+1)*pageSize)
		switch {
		case !kept(page):
		case op.Kind == Truncate:
			clear(data[from:end])
		default:
			copy(data[from:end], op.data[from-int(op.Off):])
		}
		from = end
	}
}
