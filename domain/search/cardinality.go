package search

import "svc/domain/distinct"

// cardinality is how many different values there are: exactly up to maxExact, about
// (within 3 % nearly always) beyond.
type cardinality struct{ field field }

const maxExact = 4096

func (a cardinality) has(property string) bool { return property == "" || property == "value" }

func (a cardinality) begin(b *budget) state {
	return &cardinalityState{cardinality: a, budget: b, exact: map[uint64]struct{}{}}
}

// cardinalityState keeps the hashes of the values, and when they are too many a sketch
// of them.
type cardinalityState struct {
	cardinality
	budget *budget
	exact  map[uint64]struct{} // nil: there were too many
	sketch *distinct.Sketch
}

func (s *cardinalityState) add(d Doc) error {
	for _, v := range s.field.of(d) {
		if err := s.addHash(hashOf(v)); err != nil {
			return err
		}
	}
	return nil
}

func (s *cardinalityState) addHash(h uint64) error {
	if s.exact == nil {
		s.sketch.Note(h)
		return nil
	}
	if _, known := s.exact[h]; known {
		return nil
	}
	if len(s.exact) < maxExact {
		s.exact[h] = struct{}{}
		return s.budget.spend(2 * valueCost)
	}
	s.sketch = &distinct.Sketch{}
	for known := range s.exact {
		s.sketch.Note(known)
	}
	s.sketch.Note(h)
	s.exact = nil
	return s.budget.spend(distinct.Size - 2*valueCost*maxExact)
}

func (s *cardinalityState) number(string) *float64 {
	if s.exact != nil {
		return told(float64(len(s.exact)), true)
	}
	return told(float64(s.sketch.Count()), true)
}

func (s *cardinalityState) result() (map[string]any, error) {
	return map[string]any{"value": s.number("")}, nil
}

// hashOf is FNV-1a, mixed so that each bit depends on all of them.
func hashOf(v any) uint64 {
	h := uint64(14695981039346656037) ^ uint64(rank(v))
	for _, c := range []byte(textOf(v)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for range 2 {
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
	}
	return h ^ h>>33
}
