package value

import (
	"unsafe"
)

// What values take in memory besides what they consist of, about.
const (
	weightOfOne    = 8  // a number
	weightOfHead   = 24 // of a text or a list
	weightOfPlace  = 16 // of an item
	weightOfObject = 64
	weightOfMember = 48 // of an object, without its key
	weightOfIndex  = 64 // of a member, where objects have one
)

// Identity distinguishes a value from one that is only equal.
type Identity struct {
	at  unsafe.Pointer
	len int
}

// LargeIdentity returns the identity of a large text, list or object, so that it is
// processed only once. ok is false for all other values.
func LargeIdentity(v any) (Identity, bool) {
	switch v := v.(type) {
	case string:
		return Identity{unsafe.Pointer(unsafe.StringData(v)), len(v)}, len(v) >= 1024
	case Bytes:
		return Identity{unsafe.Pointer(unsafe.SliceData(v)), len(v)}, len(v) >= 1024
	case []any:
		return Identity{unsafe.Pointer(unsafe.SliceData(v)), len(v)}, len(v) >= 64
	case *Object:
		return Identity{unsafe.Pointer(v), v.Len()}, v.Len() >= 32
	}
	return Identity{}, false
}

// MemoryMeter weighs values: how many bytes of memory they take, about, which is far more than
// their JSON has when they are many small ones.
type MemoryMeter struct {
	Limit  int // what is beyond it is not looked at
	Weight int
	Values int // that were looked at

	seen map[Identity]struct{}
}

// NewSharedMeter returns a scale on which large values that are there several times count once.
func NewSharedMeter(limit int) *MemoryMeter {
	return &MemoryMeter{Limit: limit, seen: map[Identity]struct{}{}}
}

// Copy puts a copy of a list or an object on the scale, without what is in it.
func (s *MemoryMeter) Copy(v any) {
	switch v := v.(type) {
	case []any:
		s.Weight += weightOfHead + weightOfPlace*len(v)
	case *Object:
		s.Weight += weightOfObject + v.weightOfMember()*v.Len()
	}
}

// Add puts v on the scale.
func (s *MemoryMeter) Add(v any) {
	s.Values++
	if s.knows(v) {
		return
	}
	switch v := v.(type) {
	case float64:
		s.Weight += weightOfOne
	case string:
		s.Weight += weightOfHead + len(v)
	case Bytes:
		s.Weight += weightOfHead + len(v)
	case []any:
		s.Weight += weightOfHead
		for i := 0; i < len(v) && s.Weight <= s.Limit; i++ {
			s.Weight += weightOfPlace
			s.Add(v[i])
		}
	case *Object:
		s.Weight += weightOfObject
		member := v.weightOfMember()
		for i, key := range v.Keys() {
			if s.Weight > s.Limit {
				return
			}
			s.Weight += member + len(key)
			s.Add(v.values[i])
		}
	}
}

func (o *Object) weightOfMember() int {
	if o.Len() > indexThreshold {
		return weightOfMember + weightOfIndex
	}
	return weightOfMember
}

// knows reports whether a large value is on the scale already, and notes it.
func (s *MemoryMeter) knows(v any) bool {
	if s.seen == nil {
		return false
	}
	id, large := LargeIdentity(v)
	if !large {
		return false
	}
	_, known := s.seen[id]
	s.seen[id] = struct{}{}
	return known
}

// FitsWithin reports whether v has at most limit bytes, roughly: no less than its JSON
// needs without escapes. It reads no more of v than that. A value can be far larger than
// its memory, since it may contain the same list many times: check it before you traverse
// it.
func FitsWithin(v any, limit int) bool { return spend(v, limit) >= 0 }

// SizeWithin is FitsWithin that also returns about how much of the limit v takes.
func SizeWithin(v any, limit int) (spent int, ok bool) {
	left := spend(v, limit)
	return limit - left, left >= 0
}

// CountParts returns the number of values in a list or an object, itself included; 0 for
// other values. It counts little more than limit.
func CountParts(v any, limit int) (parts int) {
	switch v := v.(type) {
	case []any:
		parts = 1 + len(v)
		for i := 0; i < len(v) && parts <= limit; i++ {
			parts += CountParts(v[i], limit-parts)
		}
	case *Object:
		parts = 1 + v.Len()
		for i := 0; i < v.Len() && parts <= limit; i++ {
			parts += CountParts(v.values[i], limit-parts)
		}
	}
	return parts
}

// spend returns what is left of limit after v, less than 0 when it is not enough.
func spend(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return limit - len(v) - 2
	case Bytes:
		return limit - len(v) - 2
	case []any:
		limit -= 1 + len(v)
		for i := 0; i < len(v) && limit >= 0; i++ {
			limit = spend(v[i], limit)
		}
		return limit
	case *Object:
		limit--
		for i, key := range v.Keys() {
			if limit -= len(key) + 4; limit < 0 {
				break
			}
			limit = spend(v.values[i], limit)
		}
		return limit
	}
	return limit - 1
}
