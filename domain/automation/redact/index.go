package redact

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// index finds secrets. It looks at each place of a text at four bytes only, and
// asks further where a form of a secret begins with the same four: texts that
// hold no secret are gone through at the speed of reading.
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

// with returns an index that finds these secrets too.
func (in *index) with(secrets []string) *index {
	more := &index{forms: map[uint32][]form{}, begins: make([]uint64, 1<<scatterBits/64), whole: map[string]bool{}}
	if in != nil {
		more = &index{forms: maps.Clone(in.forms), begins: slices.Clone(in.begins), whole: maps.Clone(in.whole)}
	}
	found := map[uint32][]string{}
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if isShort(secret) {
				more.whole[form] = true
				continue
			}
			begin := fourAt(form, 0)
			found[begin] = append(found[begin], form)
		}
	}
	for begin, all := range found {
		place := scatter(begin)
		more.begins[place/64] |= 1 << (place % 64)
		for _, f := range more.forms[begin] {
			all = append(all, f.text)
		}
		more.forms[begin] = ordered(all)
	}
	return more
}

// ordered puts forms in order, each once.
func ordered(texts []string) []form {
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
	place := scatter(four)
	return in.begins[place/64]&(1<<(place%64)) != 0
}

// fourAt returns four bytes of a text as one number.
func fourAt(text string, at int) uint32 {
	return uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16 | uint32(text[at+3])<<24
}

func scatter(begin uint32) uint32 { return begin * 2654435761 >> (32 - scatterBits) }

// forms returns a secret as it may be written: as it is, inside of a text that is
// JSON, percent-encoded in the ways that are about, and as base64.
func forms(secret string) []string {
	all := []string{secret, inJSON(secret)}
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

// inJSON is a secret between the quotes of JSON.
func inJSON(secret string) string {
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
	begin, end := s.next(0)
	if begin < 0 {
		return text
	}
	var out strings.Builder
	kept := 0
	for begin >= 0 {
		out.WriteString(text[kept:begin])
		out.WriteString(Redacted)
		kept = end
		begin, end = s.next(end)
	}
	out.WriteString(text[kept:])
	return out.String()
}
