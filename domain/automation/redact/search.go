package redact

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"

	"svc/domain/value"
)

// search scans one text from start to end. It remembers how much of a long form it has
// matched: a user who chooses both a secret and a text could repeat the start of one in
// the other, and each position would be compared with all of it.
type search struct {
	in       *index
	text     string
	met      map[*form]*partialMatch
	compared int // bytes, which tests hold against the length of the text
}

// partialMatch is the last part of a text that is known to be like the beginning of a form.
type partialMatch struct {
	begin, end int
	own        []int32 // see repeats; nil: nobody asked yet
}

// longForm is from which length on it is remembered what was met: less is compared again.
const longForm = 64

// nextSecret returns where the next secret from a place on begins and ends, with all
// that overlap it; -1 when there is none.
func (s *search) nextSecret(from int) (begin, end int) {
	begin = -1
	if len(s.in.forms) == 0 {
		return begin, 0
	}
	for i := from; i+4 <= len(s.text); i++ {
		if begin >= 0 && i >= end {
			break
		}
		four := fourBytesAt(s.text, i)
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

// longest returns the length of the longest form at a position, 0 for none.
func (s *search) longest(forms []form, at int) int {
	i := s.firstAfter(forms, at) - 1
	if i < 0 {
		return 0
	}
	n := s.commonLength(&forms[i], at)
	for i >= 0 && len(forms[i].text) > n { // what is in front of it begins it
		i = forms[i].begins
	}
	if i < 0 {
		return 0
	}
	return len(forms[i].text)
}

// unfinishedLength returns the length of the longest beginning of a secret that the text ends with.
// A whole one is none: that is found like any other.
func (s *search) unfinishedLength() int {
	for at := range len(s.text) {
		if s.isCutOff(at) {
			return len(s.text) - at
		}
	}
	return 0
}

// isCutOff reports whether a form begins at a place and the text ends before it does.
func (s *search) isCutOff(at int) bool {
	rest := s.text[at:]
	if len(rest) < 4 {
		for _, forms := range s.in.forms {
			if strings.HasPrefix(forms[0].text, rest) {
				return true
			}
		}
		return false
	}
	forms := s.in.forms[fourBytesAt(s.text, at)]
	i := s.firstAfter(forms, at)
	return i < len(forms) && s.commonLength(&forms[i], at) == len(rest)
}

// firstAfter returns the first form that sorts after the rest of the text. If any form is
// at this position, the one before is, or begins with it.
func (s *search) firstAfter(forms []form, at int) int {
	return sort.Search(len(forms), func(i int) bool {
		f := &forms[i]
		n := s.commonLength(f, at)
		return n < len(f.text) && (at+n == len(s.text) || s.text[at+n] < f.text[n])
	})
}

// commonLength returns how many bytes of a form match at a position, which is not before
// the last one that was asked for.
func (s *search) commonLength(f *form, at int) int {
	m, known := s.met[f], 0
	if m != nil && at < m.end {
		if at == m.begin {
			return m.end - m.begin
		}
		if m.own == nil { // as much of it as fits into the text
			m.own = prefixLengths(f.text[:min(len(f.text), len(s.text)-m.begin)])
		}
		if known = int(m.own[at-m.begin]); known < m.end-at {
			return known
		}
		known = m.end - at
	}
	n := known + commonPrefix(s.text[at+known:], f.text[known:])
	s.compared += n - known + 1
	if n >= longForm {
		s.remember(f, at, at+n)
	}
	return n
}

// remember remembers what was met of a form.
func (s *search) remember(f *form, begin, end int) {
	if m := s.met[f]; m != nil {
		m.begin, m.end = begin, end
		return
	}
	if s.met == nil {
		s.met = map[*form]*partialMatch{}
	}
	s.met[f] = &partialMatch{begin: begin, end: end}
}

// commonPrefix returns how many bytes two texts begin with both.
func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// prefixLengths returns for each place of a text how many bytes from there on are as at its
// beginning.
func prefixLengths(text string) []int32 {
	all := make([]int32, len(text))
	begin, end := 0, 0 // the last part that is as the beginning
	for i := 1; i < len(text); i++ {
		n := 0
		if i < end {
			n = min(int(all[i-begin]), end-i)
		}
		n += commonPrefix(text[i+n:], text[n:])
		if all[i] = int32(n); i+n > end { //nolint:gosec // no text is that long
			begin, end = i, i+n
		}
	}
	return all
}

// index finds secrets. It reads four bytes at each position of a text, and compares
// further where a form of a secret begins with the same four: texts without secrets are
// scanned at the speed of reading.
type index struct {
	forms  map[uint32][]form // forms by their first four bytes, in order
	begins []uint64          // a bit for each scattering of four bytes that a form begins with
	whole  map[string]bool   // forms that count as a whole string only
}

// form is a secret as it may be written.
type form struct {
	text   string
	begins int // which of those in front of it is the longest that it begins with; -1: none
}

// scatterBits is how many places there are for beginnings: few enough to stay
// near the processor, many enough to be mostly empty.
const scatterBits = 15

// withSecrets returns an index that finds these secrets too.
func (in *index) withSecrets(secrets []string) *index {
	more := &index{forms: map[uint32][]form{}, begins: make([]uint64, 1<<scatterBits/64), whole: map[string]bool{}}
	if in != nil {
		more = &index{forms: maps.Clone(in.forms), begins: slices.Clone(in.begins), whole: maps.Clone(in.whole)}
	}
	found := map[uint32][]string{}
	for _, secret := range secrets {
		for _, form := range encodedForms(secret) {
			if isShort(secret) {
				more.whole[form] = true
				continue
			}
			begin := fourBytesAt(form, 0)
			found[begin] = append(found[begin], form)
		}
	}
	for begin, all := range found {
		slot := hashPrefix(begin)
		more.begins[slot/64] |= 1 << (slot % 64)
		for _, f := range more.forms[begin] {
			all = append(all, f.text)
		}
		more.forms[begin] = sortForms(all)
	}
	return more
}

// sortForms puts forms in order, each once.
func sortForms(texts []string) []form {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	all := make([]form, len(texts))
	for i, text := range texts {
		before := i - 1
		for before >= 0 && !strings.HasPrefix(text, all[before].text) {
			before = all[before].begins
		}
		all[i] = form{text, before}
	}
	return all
}

// mayBegin reports whether a form may begin with four bytes.
func (in *index) mayBegin(four uint32) bool {
	slot := hashPrefix(four)
	return in.begins[slot/64]&(1<<(slot%64)) != 0
}

// fourBytesAt returns four bytes of a text as one number.
func fourBytesAt(text string, at int) uint32 {
	return uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16 | uint32(text[at+3])<<24
}

func hashPrefix(begin uint32) uint32 { return begin * 2654435761 >> (32 - scatterBits) }

// encodedForms returns a secret as it may be written: as it is, inside of a text that is
// JSON, percent-encoded in the ways that are about, and as base64.
func encodedForms(secret string) []string {
	all := []string{secret, jsonForm(secret)}
	if form := url.QueryEscape(secret); form != secret || strings.Contains(secret, "~") { // all but letters, digits and -_.~; a space is +
		strict := strings.ReplaceAll(form, "+", "%20")
		component := leftByComponents.Replace(strict)
		for _, encoded := range []string{
			form, strict, component, formsDiffer.Replace(form), url.PathEscape(secret), leftByAddresses.Replace(component),
		} {
			all = append(all, encoded, lowerHex(encoded))
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// jsonForm is a secret between the quotes of JSON.
func jsonForm(secret string) string {
	quoted := value.JSON(secret, "")
	return quoted[1 : len(quoted)-1]
}

// What others leave as it is, or do not: encodeURIComponent, HTML forms, and
// encodeURI, which leaves what separates the parts of an address.
var (
	leftByComponents = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	formsDiffer      = strings.NewReplacer("%2A", "*", "~", "%7E")
	leftByAddresses  = strings.NewReplacer("%3B", ";", "%2C", ",", "%2F", "/", "%3F", "?", "%3A", ":", "%40", "@", "%26", "&",
		"%3D", "=", "%2B", "+", "%24", "$", "%23", "#")
)

// lowerHex writes the digits behind each % in lower case.
func lowerHex(encoded string) string {
	if !strings.Contains(encoded, "%") {
		return encoded
	}
	text := []byte(encoded)
	for i := 0; i+2 < len(text); i++ {
		if text[i] == '%' {
			copy(text[i+1:], strings.ToLower(string(text[i+1:i+3])))
			i += 2
		}
	}
	return string(text)
}

// text returns text without secrets. Secrets that overlap go as one, so that no
// end of one is left.
func (in *index) text(text string) string {
	if in == nil || text == "" {
		return text
	}
	if in.whole[text] {
		return Redacted
	}
	s := search{in: in, text: text}
	begin, end := s.nextSecret(0)
	if begin < 0 {
		return text
	}
	var out strings.Builder
	copied := 0
	for begin >= 0 {
		out.WriteString(text[copied:begin])
		out.WriteString(Redacted)
		copied = end
		begin, end = s.nextSecret(end)
	}
	out.WriteString(text[copied:])
	return out.String()
}
