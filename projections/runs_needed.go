package projections

import (
	"encoding/binary"
	"math"
)

// Needed is an event without which something could not go on that is not over.
type Needed struct {
	Seq   uint64
	Trees []UnfinishedTree // that need it, or one of them
}

// Needed lists the events of a workspace, from one sequence up to and with another, that
// trees need which began and did not end: how each was begun last, and in which waits those
// of its run stand.
func (p Runs) Needed(r Reader, workspaceID string, from, to uint64) (all []Needed, err error) {
	open := map[string][]UnfinishedTree{} // by run
	prefix := scoped('s', workspaceID, nil)
	err = r.Iterate(p, Span{Prefix: prefix, From: scoped('s', workspaceID, seqKey(from))}, func(key, value []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq > to || len(value) == 0 {
			return seq <= to, nil
		}
		trees, err := p.needing(r, workspaceID, seq, value[0], string(value[1:]), open)
		if len(trees) > 0 {
			all = append(all, Needed{seq, trees})
		}
		return true, err
	})
	return all, err
}

// needing returns the trees that may need the event at a sequence, which is of something of
// a kind. What was said again since then nobody needs.
func (p Runs) needing(r Reader, workspaceID string, seq uint64, kind byte, of string, open map[string][]UnfinishedTree) ([]UnfinishedTree, error) {
	switch kind {
	case ofTree:
		t, ok, err := p.openTree(r, workspaceID, of)
		if err != nil || !ok || t.first.Seq != seq {
			return nil, err
		}
		return []UnfinishedTree{t}, nil
	case ofWait:
		var row waitRow
		ok, err := p.read(r, waitKey(workspaceID, of), &row)
		if err != nil || !ok || row.EndSeq > 0 || row.Seq != seq {
			return nil, err
		}
		if _, known := open[row.Run]; !known {
			open[row.Run], err = p.Open(r, workspaceID, row.Run, math.MaxInt)
		}
		return open[row.Run], err
	}
	return nil, nil
}
