package redact

import (
	"sort"
	"strings"
)

// search goes through one text, from its beginning to its end. It remembers how much of
// a long form it has met: whoever chooses both a secret and a text may repeat the
// beginning of one in the other, and each place would be compared with all of it.
type search struct {
	in       *index
	text     string
	met      map[*form]*met
	compared int // bytes, which tests hold against the length of the text
}

// met is the last part of a text that is known to be like the beginning of a form.
type met struct {
	begin, end int
	own        []int32 // see repeats; nil: nobody asked yet
}

// longForm is from which length on it is remembered what was met: less is compared again.
const longForm = 64

// next returns where the next secret from a place on begins and ends, with all
// that overlap it; -1 when there is none.
func (s *search) next(from int) (begin, end int) {
	begin = -1
	if len(s.in.forms) == 0 {
		return begin, 0
	}
	for i := from; i+4 <= len(s.text); i++ {
		if begin >= 0 && i >= end {
			break
		}
		four := fourAt(s.text, i)
		if !s.in.mayBegin(four) {
			continue
		}
		if n := s.longest(s.in.forms[four], i); n > 0 {
			if begin < 0 {
				begin = i
			}
			end = max(end, i+n)
		}
	}
	return begin, end
}

// longest returns the length of the longest form that stands at a place, 0 when none does.
func (s *search) longest(forms []form, at int) int {
	i := s.after(forms, at) - 1
	if i < 0 {
		return 0
	}
	n := s.common(&forms[i], at)
	for i >= 0 && len(forms[i].text) > n { // what is in front of it begins it
		i = forms[i].begins
	}
	if i < 0 {
		return 0
	}
	return len(forms[i].text)
}

// begun returns the length of the longest beginning of a secret that the text ends with.
// A whole one is none: that is found like any other.
func (s *search) begun() int {
	for at := range len(s.text) {
		if s.breaksOff(at) {
			return len(s.text) - at
		}
	}
	return 0
}

// breaksOff reports whether a form begins at a place and the text ends before it does.
func (s *search) breaksOff(at int) bool {
	rest := s.text[at:]
	if len(rest) < 4 {
		for _, forms := range s.in.forms {
			if strings.HasPrefix(forms[0].text, rest) {
				return true
			}
		}
		return false
	}
	forms := s.in.forms[fourAt(s.text, at)]
	i := s.after(forms, at)
	return i < len(forms) && s.common(&forms[i], at) == len(rest)
}

// after returns the first form that comes after the rest of the text in order. If any
// stands at this place, the one before does, or begins with it.
func (s *search) after(forms []form, at int) int {
	return sort.Search(len(forms), func(i int) bool {
		f := &forms[i]
		n := s.common(f, at)
		return n < len(f.text) && (at+n == len(s.text) || s.text[at+n] < f.text[n])
	})
}

// common returns how many bytes of a form stand at a place, which is no earlier than the
// last one that was asked for.
func (s *search) common(f *form, at int) int {
	m, known := s.met[f], 0
	if m != nil && at < m.end {
		if at == m.begin {
			return m.end - m.begin
		}
		if m.own == nil { // as much of it as fits into the text
			m.own = repeats(f.text[:min(len(f.text), len(s.text)-m.begin)])
		}
		if known = int(m.own[at-m.begin]); known < m.end-at {
			return known
		}
		known = m.end - at
	}
	n := known + shared(s.text[at+known:], f.text[known:])
	s.compared += n - known + 1
	if n >= longForm {
		s.meet(f, at, at+n)
	}
	return n
}

// meet remembers what was met of a form.
func (s *search) meet(f *form, begin, end int) {
	if m := s.met[f]; m != nil {
		m.begin, m.end = begin, end
		return
	}
	if s.met == nil {
		s.met = map[*form]*met{}
	}
	s.met[f] = &met{begin: begin, end: end}
}

// shared returns how many bytes two texts begin with both.
func shared(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// repeats returns for each place of a text how many bytes from there on are as at its
// beginning.
func repeats(text string) []int32 {
	all := make([]int32, len(text))
	begin, end := 0, 0 // the last part that is as the beginning
	for i := 1; i < len(text); i++ {
		n := 0
		if i < end {
			n = min(int(all[i-begin]), end-i)
		}
		n += shared(text[i+n:], text[n:])
		if all[i] = int32(n); i+n > end { //nolint:gosec // no text is that long
			begin, end = i, i+n
		}
	}
	return all
}
