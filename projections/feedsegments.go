package projections

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"
)

// A segment is a stretch of the events of a workspace, and what they are of: a fingerprint of each correlation id, type,
// user and automation. Whoever looks for those of one user passes all segments without the fingerprint of that user.
//
// An event ends a segment, together with the other events of its message, when rankOf says so of its sequence. So the ends depend
// on the events alone, and not on what was erased before them: the index is the same when it is built again.
//
//	s{workspace}\0{group}  a segment that ends with a group
//	t{workspace}\0{group}  a large segment that ends there: of all events of several small ones
//	o{workspace}           the open segment: of the events since the last end
//
// The value is the rank of the last event, the group that ends the segment before (0: there is none), and the fingerprints in
// order.
type segment struct {
	rank         rank
	before       uint64
	fingerprints []uint32
}

// rank says which segments an event ends.
type rank byte

const (
	endsNothing rank = iota
	endsSmall
	endsLarge // and a small one
)

// How many events a segment has in the mean.
const (
	smallSegment = 64
	largeSegment = 2048
)

// segmentSpaces are the spaces of the keys of segments, by rank.
var segmentSpaces = [...]byte{endsNothing: 'o', endsSmall: 's', endsLarge: 't'}

// rankOf returns which segments the event with a sequence ends.
func rankOf(seq uint64) rank {
	seq = (seq ^ seq>>30) * 0xbf58476d1ce4e5b9
	seq = (seq ^ seq>>27) * 0x94d049bb133111eb
	seq ^= seq >> 31
	switch {
	case seq%largeSegment == 0:
		return endsLarge
	case seq%smallSegment == 0:
		return endsSmall
	}
	return endsNothing
}

func rankOfAll(entries []FeedEntry) (highest rank) {
	for i := range entries {
		highest = max(highest, rankOf(entries[i].Seq))
	}
	return highest
}

// fingerprint returns the fingerprint of what is selected.
func (a FeedSelection) fingerprint() uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{byte(a.List)})
	_, _ = h.Write([]byte(a.Text))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}

func (s segment) encode() []byte {
	b := make([]byte, 0, segmentHead+4*len(s.fingerprints))
	b = binary.BigEndian.AppendUint64(append(b, byte(s.rank)), s.before)
	for _, p := range s.fingerprints {
		b = binary.BigEndian.AppendUint32(b, p)
	}
	return b
}

// segmentHead is how long a value is without fingerprints.
const segmentHead = 9

func decodeSegment(value []byte) (s segment, err error) {
	if len(value) == 0 {
		return s, nil
	}
	if len(value) < segmentHead || len(value)%4 != segmentHead%4 {
		return s, errFeedEntry
	}
	s.rank, s.before = rank(value[0]), binary.BigEndian.Uint64(value[1:])
	s.fingerprints = make([]uint32, 0, len(value)/4+4) // most are read to add some
	for rest := value[segmentHead:]; len(rest) > 0; rest = rest[4:] {
		s.fingerprints = append(s.fingerprints, binary.BigEndian.Uint32(rest))
	}
	return s, nil
}

// hasFingerprint reports whether a segment, as it is stored, has a fingerprint, and returns where the one before it ends.
func hasFingerprint(value []byte, p uint32) (has bool, before uint64, err error) {
	if len(value) < segmentHead {
		return false, 0, errFeedEntry
	}
	rest := value[segmentHead:]
	n := len(rest) / 4
	at := sort.Search(n, func(i int) bool { return binary.BigEndian.Uint32(rest[4*i:]) >= p })
	return at < n && binary.BigEndian.Uint32(rest[4*at:]) == p, binary.BigEndian.Uint64(value[1:]), nil
}

// segments writes the segments of one workspace.
type segments struct {
	tx          Tx
	workspaceID string
}

func (s segments) key(of rank, group uint64) []byte {
	if of == endsNothing {
		return s.prefix(of)
	}
	return scopedKey(segmentSpaces[of], s.workspaceID, seqKey(group))
}

func (s segments) get(of rank, group uint64) (segment, error) {
	value, _, err := s.tx.getShared(s.key(of, group))
	if err != nil {
		return segment{}, err
	}
	return decodeSegment(value)
}

// add adds the events of a group, which follows all others, to the open segment, and ends it when it is to end there.
func (s segments) add(group uint64, entries []FeedEntry) error {
	open, err := s.get(endsNothing, 0)
	if err != nil {
		return err
	}
	if open, err = s.extend(open, group, entries); err != nil {
		return err
	}
	return s.tx.Set(s.key(endsNothing, 0), open.encode())
}

// extend returns the open segment with the events of a group. A segment that ends with it is stored.
func (s segments) extend(open segment, group uint64, entries []FeedEntry) (segment, error) {
	var last [4]FeedSelection // events of one source follow each other
	for i := range entries {
		for n, selection := range entries[i].selections() {
			if selection == last[n] || selection.Text == "" {
				continue
			}
			last[n] = selection
			p := selection.fingerprint()
			if at, has := slices.BinarySearch(open.fingerprints, p); !has {
				open.fingerprints = slices.Insert(open.fingerprints, at, p)
			}
		}
	}
	open.rank = rankOfAll(entries)
	if open.rank == endsNothing {
		return open, nil
	}
	err := s.tx.Set(s.key(endsSmall, group), open.encode())
	if err == nil && open.rank == endsLarge {
		err = s.putLarge(group, open)
	}
	return segment{before: group}, err
}

// putLarge stores the large segment that ends with the last one of its small ones.
func (s segments) putLarge(group uint64, last segment) error {
	large := segment{rank: endsLarge, fingerprints: slices.Clone(last.fingerprints)}
	for large.before = last.before; large.before > 0; {
		small, err := s.get(endsSmall, large.before)
		if err != nil {
			return err
		}
		if small.rank == endsLarge {
			break
		}
		large.fingerprints, large.before = append(large.fingerprints, small.fingerprints...), small.before
	}
	slices.Sort(large.fingerprints)
	large.fingerprints = slices.Compact(large.fingerprints)
	return s.tx.Set(s.key(endsLarge, group), large.encode())
}

// restore makes the segments again of which events changed between two sequences.
func (s segments) restore(from, to uint64) error {
	first, err := s.lastEnd(from)
	if err != nil {
		return err
	}
	last, ended, err := s.firstEnd(to)
	if err != nil {
		return err
	}
	for _, of := range []rank{endsSmall, endsLarge} {
		if err := s.deleteBetween(of, first, last); err != nil {
			return err
		}
	}
	groups, err := s.groupsBetween(first, last)
	if err != nil {
		return err
	}
	open := segment{before: first}
	for _, g := range groups {
		if open, err = s.extend(open, g.number, g.entries); err != nil {
			return err
		}
	}
	switch {
	case ended:
		return nil
	case first == 0 && len(groups) == 0:
		return s.tx.Delete(s.key(endsNothing, 0))
	}
	return s.tx.Set(s.key(endsNothing, 0), open.encode())
}

// lastEnd returns the group before a sequence with which a large segment ends, 0 when there is none.
func (s segments) lastEnd(before uint64) (group uint64, err error) {
	if before == 0 {
		return 0, nil
	}
	span := Span{Prefix: s.prefix(endsLarge), From: s.key(endsLarge, before-1), Reverse: true, KeysOnly: true}
	err = s.tx.Iterate(span, func(key, _ []byte) (bool, error) {
		group = lastSeq(key)
		return false, nil
	})
	return group, err
}

// firstEnd returns the group after a sequence with which a large segment ends; ok is false when there is none.
func (s segments) firstEnd(after uint64) (group uint64, ok bool, err error) {
	group = ^uint64(0)
	if after == group {
		return group, false, nil
	}
	span := Span{Prefix: s.prefix(endsLarge), From: s.key(endsLarge, after+1), KeysOnly: true}
	err = s.tx.Iterate(span, func(key, _ []byte) (bool, error) {
		group, ok = lastSeq(key), true
		return false, nil
	})
	return group, ok, err
}

func (s segments) prefix(of rank) []byte { return scopedKey(segmentSpaces[of], s.workspaceID, nil) }

// deleteBetween deletes the segments that end after a group, up to and including another.
func (s segments) deleteBetween(of rank, first, last uint64) error {
	var found [][]byte
	span := Span{Prefix: s.prefix(of), From: s.key(of, first), KeysOnly: true}
	err := s.tx.Iterate(span, func(key, _ []byte) (bool, error) {
		switch group := lastSeq(key); {
		case group > last:
			return false, nil
		case group > first:
			found = append(found, bytes.Clone(key))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return deleteKeys(s.tx, found...)
}

// numberedGroup is the events of one message.
type numberedGroup struct {
	number  uint64
	entries []FeedEntry
}

// groupsBetween returns the groups after one, up to and including another.
func (s segments) groupsBetween(first, last uint64) (groups []numberedGroup, err error) {
	span := Span{Prefix: groupPrefix(s.workspaceID), From: scopedKey('e', s.workspaceID, seqKey(first))}
	err = s.tx.Iterate(span, func(key, value []byte) (bool, error) {
		g := numberedGroup{number: lastSeq(key)}
		if g.number <= first || g.number > last {
			return g.number <= first, nil
		}
		if g.entries, err = decodeEntries(g.number, value); err != nil {
			return false, err
		}
		for i := range g.entries {
			g.entries[i].Signature = nil // it is a part of value, which is valid now only
		}
		groups = append(groups, g)
		return true, nil
	})
	return groups, err
}

// visitor visits the events of groups that may be selected.
type visitor struct {
	feed        Feed
	reader      Reader
	workspaceID string
	wanted      uint32 // the fingerprint of the selection
	down        bool
	visit       func(group uint64, e *storedEntry) (more bool)
}

// visitGroups visits the groups after one, up to and including another, but for segments without the fingerprint. It
// looks at segments of a rank and those that are smaller; at none of them when the rank is zero.
func (v visitor) visitGroups(of rank, after, until uint64) (more bool, err error) {
	switch {
	case of == endsNothing:
		return v.visitEntries(after, until)
	case v.down:
		return v.visitDown(of, after, until)
	}
	return v.visitUp(of, after, until)
}

func (v visitor) visitEntries(after, until uint64) (more bool, err error) {
	from := after + 1
	if v.down {
		from = until
	}
	var entries []storedEntry
	more = true
	err = v.each('e', from, func(group uint64, value []byte) (bool, error) {
		if group <= after || group > until {
			return false, nil
		}
		entries = entries[:0]
		for len(value) > 0 {
			var e storedEntry
			if e, value, err = cutEntry(value); err != nil {
				return false, err
			}
			entries = append(entries, e)
		}
		if v.down {
			slices.Reverse(entries)
		}
		for i := range entries {
			if more = v.visit(group, &entries[i]); !more {
				return false, nil
			}
		}
		return true, nil
	})
	return more, err
}

func (v visitor) visitUp(of rank, after, until uint64) (more bool, err error) {
	more = true
	err = v.each(segmentSpaces[of], after+1, func(group uint64, value []byte) (bool, error) {
		has, before, err := hasFingerprint(value, v.wanted)
		if err != nil || before >= until {
			return false, err
		}
		if has {
			more, err = v.visitGroups(of-1, max(before, after), min(group, until))
		}
		after = group
		return more && group < until, err
	})
	if err != nil || !more || after >= until {
		return more, err
	}
	return v.visitGroups(of-1, after, until)
}

func (v visitor) visitDown(of rank, after, until uint64) (more bool, err error) {
	more = true
	err = v.each(segmentSpaces[of], until, func(group uint64, value []byte) (bool, error) {
		if group <= after {
			return false, nil
		}
		if group < until { // what comes after it is in a segment that ends later, or is open
			if more, err = v.visitGroups(of-1, group, until); err != nil || !more {
				return false, err
			}
		}
		has, before, err := hasFingerprint(value, v.wanted)
		if err != nil {
			return false, err
		}
		if has {
			more, err = v.visitGroups(of-1, max(before, after), group)
		}
		until = max(before, after)
		return more && until > after, err
	})
	if err != nil || !more || after >= until {
		return more, err
	}
	return v.visitGroups(of-1, after, until)
}

// each visits the keys of a space that end with a group, from one on.
func (v visitor) each(space byte, from uint64, visit func(group uint64, value []byte) (more bool, err error)) error {
	span := Span{Prefix: scopedKey(space, v.workspaceID, nil), From: scopedKey(space, v.workspaceID, seqKey(from)), Reverse: v.down}
	return v.reader.Iterate(v.feed, span, func(key, value []byte) (bool, error) { return visit(lastSeq(key), value) })
}
