package extract

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
)

// maxPages bounds how many pages of a PDF are read.
const maxPages = 20_000

// readPDF reads the text of a PDF page by page. A page that cannot be read is left out.
func readPDF(f File, t *text) error {
	content := soundPDF(f.Content)
	r, err := pdf.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		if bytes.Contains(content, []byte("/Encrypt")) {
			return refuse(Encrypted, "the PDF is encrypted")
		}
		return refuse(Corrupt, "the PDF cannot be read: %s", err)
	}
	if title := r.Trailer().Key("Info").Key("Title"); title.Kind() == pdf.String {
		t.document.Title = title.Text()
	}
	damaged := 0
	for i := 1; i <= min(r.NumPage(), maxPages) && !t.isFull(); i++ {
		page, ok := pageText(r, i)
		if !ok {
			damaged++
		}
		t.addPage(page)
	}
	if t.length == 0 && damaged > 0 {
		return refuse(Corrupt, "no page of the PDF can be read")
	}
	if damaged > 0 {
		t.document.Warnings = append(t.document.Warnings, "pages_damaged")
	}
	return nil
}

// soundPDF returns a PDF that begins and ends as the library wants it: without other bytes before and after, and of a
// version that it knows. Later versions do not differ in what is read here.
func soundPDF(b []byte) []byte {
	start := max(bytes.Index(b, []byte("%PDF-")), 0)
	if end := bytes.LastIndex(b, []byte("%%EOF")); end > start {
		b = b[:end+len("%%EOF")]
	}
	b = bytes.Clone(b[start:])
	if len(b) > 10 {
		copy(b, "%PDF-1.7\n")
	}
	return b
}

// pageText returns the text of a page. ok is false when none of it can be read; of a page that is damaged further on,
// the beginning counts.
func pageText(r *pdf.Reader, number int) (s string, ok bool) {
	p := &pdfPage{}
	defer func() {
		if recover() != nil {
			s, ok = ligatures.Replace(p.text.String()), p.text.Len() > 0
		}
	}()
	page := r.Page(number)
	if page.V.IsNull() {
		return "", true
	}
	p.draw(page.V.Key("Contents"), page.Resources(), pdfState{scale: 1, ctm: identity}, 0)
	return ligatures.Replace(p.text.String()), true
}

// ligatures are letters that are printed as one.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "ft", "ﬆ", "st")

// transform is a matrix that maps points of the page: its first two columns, row by row.
type transform [6]float64

var identity = transform{1, 0, 0, 1, 0, 0}

func (m transform) after(n transform) transform {
	return transform{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func moved(x, y float64) transform { return transform{1, 0, 0, 1, x, y} }

// pdfState is what operators of a page set for those after them.
type pdfState struct {
	font                   *pdfFont
	size, leading          float64
	charSpace, wordSpace   float64
	scale                  float64 // across, 1 for none
	ctm, textMatrix, start transform
}

// pdfPage collects the text of a page in the order in which it is drawn. Characters stand at places: there are spaces
// where there are gaps, and lines and paragraphs by height.
type pdfPage struct {
	text    strings.Builder
	endX, y float64 // where the last text ended
	space   bool    // there was white space after it
}

// maxForms is how many forms may be drawn within each other.
const maxForms = 8

// draw runs the operators of a content stream.
func (p *pdfPage) draw(content, resources pdf.Value, s pdfState, depth int) {
	if content.Kind() == pdf.Null || depth > maxForms {
		return
	}
	fonts := map[string]*pdfFont{}
	var saved []pdfState
	pdf.Interpret(content, func(stack *pdf.Stack, operator string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		number := func(i int) float64 {
			if i >= len(args) {
				return 0
			}
			return args[i].Float64()
		}
		nextLine := func(x, y float64) {
			s.start = moved(x, y).after(s.start)
			s.textMatrix = s.start
		}
		switch operator {
		case "q":
			saved = append(saved, s)
		case "Q":
			if n := len(saved); n > 0 {
				s, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			s.ctm = transform{number(0), number(1), number(2), number(3), number(4), number(5)}.after(s.ctm)
		case "BT":
			s.start, s.textMatrix = identity, identity
		case "Tm":
			s.start = transform{number(0), number(1), number(2), number(3), number(4), number(5)}
			s.textMatrix = s.start
		case "Td":
			nextLine(number(0), number(1))
		case "TD":
			s.leading = -number(1)
			nextLine(number(0), number(1))
		case "T*":
			nextLine(0, -s.leading)
		case "TL":
			s.leading = number(0)
		case "Tc":
			s.charSpace = number(0)
		case "Tw":
			s.wordSpace = number(0)
		case "Tz":
			s.scale = number(0) / 100
		case "Tf":
			if len(args) == 2 {
				name := args[0].Name()
				if fonts[name] == nil {
					fonts[name] = newPDFFont(resources.Key("Font").Key(name))
				}
				s.font, s.size = fonts[name], number(1)
			}
		case "\"":
			s.wordSpace, s.charSpace = number(0), number(1)
			nextLine(0, -s.leading)
			if len(args) == 3 {
				p.show(&s, args[2].RawString())
			}
		case "'":
			nextLine(0, -s.leading)
			fallthrough
		case "Tj":
			if len(args) == 1 {
				p.show(&s, args[0].RawString())
			}
		case "TJ":
			for i := 0; len(args) == 1 && i < args[0].Len(); i++ {
				if v := args[0].Index(i); v.Kind() == pdf.String {
					p.show(&s, v.RawString())
				} else {
					s.textMatrix = moved(-v.Float64()/1000*s.size*s.scale, 0).after(s.textMatrix)
				}
			}
		case "Do":
			if len(args) != 1 {
				return
			}
			form := resources.Key("XObject").Key(args[0].Name())
			if form.Key("Subtype").Name() != "Form" {
				return
			}
			inner := s
			if m := form.Key("Matrix"); m.Len() == 6 {
				inner.ctm = transform{m.Index(0).Float64(), m.Index(1).Float64(), m.Index(2).Float64(), m.Index(3).Float64(), m.Index(4).Float64(), m.Index(5).Float64()}.after(s.ctm)
			}
			own := form.Key("Resources")
			if own.IsNull() {
				own = resources
			}
			p.draw(form, own, inner, depth+1)
		}
	})
}

// show draws a string and moves on by its width.
func (p *pdfPage) show(s *pdfState, raw string) {
	if s.font == nil {
		return
	}
	text := s.font.decode(raw)
	at := s.textMatrix.after(s.ctm)
	width := s.font.width(raw)/1000*s.size + s.charSpace*float64(s.font.codes(raw)) + s.wordSpace*float64(strings.Count(text, " "))
	s.textMatrix = moved(width*s.scale, 0).after(s.textMatrix)
	end := s.textMatrix.after(s.ctm)
	if strings.TrimSpace(text) == "" {
		p.space = p.space || text != ""
		return
	}
	size := max(math.Abs(s.size*math.Hypot(at[2], at[3])), 1)
	down, gap := math.Abs(p.y-at[5]), at[4]-p.endX
	switch {
	case p.text.Len() == 0:
	case down > 1.8*size:
		p.text.WriteString("\n\n")
	case down > size/2:
		p.text.WriteByte('\n')
	case p.space || gap > size/5 || gap < -2*size:
		p.text.WriteByte(' ')
	}
	p.text.WriteString(text)
	p.endX, p.y, p.space = end[4], at[5], false
}

// pdfFont tells the text and the widths of strings.
type pdfFont struct {
	unicode  map[string]string // by code; what it lacks is in the encoding
	encoding pdf.TextEncoding  // nil: other codes are numbers of pictures
	isWide   bool              // a code has two bytes
	decoded  map[string]string
	widths   map[int]float64
	missing  float64 // the width of other codes
}

func newPDFFont(v pdf.Value) *pdfFont {
	font := pdf.Font{V: v}
	f := &pdfFont{decoded: map[string]string{}, widths: map[int]float64{}}
	kind := v.Key("Subtype").Name()
	if table := v.Key("ToUnicode"); table.Kind() == pdf.Stream {
		f.unicode = readToUnicode(table)
	}
	if !strings.HasPrefix(v.Key("Encoding").Name(), "Identity") && (kind != "Type3" || hasLetters(v.Key("Encoding").Key("Differences"))) {
		f.encoding = font.Encoder()
	}
	if kind != "Type0" {
		for i, w := range font.Widths() {
			f.widths[font.FirstChar()+i] = w
		}
		if len(f.widths) == 0 {
			f.missing = 500 // one of the standard fonts
		}
		return f
	}
	f.isWide = true
	descendant := v.Key("DescendantFonts").Index(0)
	if f.missing = descendant.Key("DW").Float64(); descendant.Key("DW").IsNull() {
		f.missing = 1000
	}
	w := descendant.Key("W") // first [width …], or first last width
	for i := 0; i+1 < w.Len(); {
		first := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for n := range list.Len() {
				f.widths[first+n] = list.Index(n).Float64()
			}
			i += 2
			continue
		}
		for code := first; code <= min(int(w.Index(i+1).Int64()), math.MaxUint16); code++ {
			f.widths[code] = w.Index(i + 2).Float64()
		}
		i += 3
	}
	return f
}

// hasLetters reports whether the names of characters in an encoding are those of letters, or tell their codes, as in a97.
func hasLetters(differences pdf.Value) bool {
	code := 0
	for i := range differences.Len() {
		v := differences.Index(i)
		if v.Kind() == pdf.Integer {
			code = int(v.Int64())
			continue
		}
		switch v.Name() {
		case "space", "a", "e", "one", "a" + strconv.Itoa(code):
			return true
		}
		code++
	}
	return false
}

// decode returns the text of a string. What a code stands for is looked up once.
func (f *pdfFont) decode(raw string) string {
	var b strings.Builder
	for i := range f.codes(raw) {
		code := raw[i : i+1]
		if f.isWide {
			code = raw[2*i : 2*i+2]
		}
		text, known := f.decoded[code]
		if !known {
			if text, known = f.unicode[code]; !known && f.encoding != nil {
				text = f.encoding.Decode(code)
			}
			f.decoded[code] = text
		}
		b.WriteString(text)
	}
	return b.String()
}

// maxCodes bounds how many codes a table of a font may have.
const maxCodes = 1 << 17

// readToUnicode reads the table that says what the codes of a font stand for.
func readToUnicode(table pdf.Value) map[string]string {
	r := table.Reader()
	defer r.Close()
	content, _ := io.ReadAll(io.LimitReader(r, 4<<20)) // what is there counts
	codes := map[string]string{}
	var operands []string
	inArray := false
	var array []string
	for _, token := range tokensOf(string(content)) {
		switch {
		case token[0] == '<':
			b, _ := hex.DecodeString(strings.Trim(token, "<>"))
			if inArray {
				array = append(array, string(b))
			} else {
				operands = append(operands, string(b))
			}
		case token == "[":
			inArray, array = true, nil
		case token == "]":
			if n := len(operands); n >= 2 {
				low := operands[n-2]
				for i, text := range array {
					codes[codeAfter(low, i)] = fromUTF16(text)
				}
				operands = operands[:n-2]
			}
			inArray = false
		case token == "endbfchar":
			for i := 0; i+1 < len(operands); i += 2 {
				codes[operands[i]] = fromUTF16(operands[i+1])
			}
			operands = nil
		case token == "endbfrange":
			for i := 0; i+2 < len(operands); i += 3 {
				low, high := operands[i], operands[i+1]
				for n := 0; len(codes) < maxCodes && len(low) == len(high) && codeAfter(low, n) <= high && n <= math.MaxUint16; n++ {
					codes[codeAfter(low, n)] = fromUTF16(codeAfter(operands[i+2], n))
				}
			}
			operands = nil
		case strings.HasPrefix(token, "begin"):
			operands = nil
		}
	}
	return codes
}

// tokensOf divides a table into words, <hex> and brackets.
func tokensOf(s string) []string {
	s = strings.NewReplacer("<", " <", ">", "> ", "[", " [ ", "]", " ] ").Replace(s)
	return strings.Fields(s)
}

// codeAfter returns the n-th code after a code.
func codeAfter(code string, n int) string {
	b := []byte(code)
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	return string(b)
}

func fromUTF16(s string) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16([]byte(s[2*i:]))
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "\x00", "")
}

func (f *pdfFont) codes(raw string) int {
	if f.isWide {
		return len(raw) / 2
	}
	return len(raw)
}

func (f *pdfFont) width(raw string) (total float64) {
	for i := range f.codes(raw) {
		code := 0
		if f.isWide {
			code = int(raw[2*i])<<8 | int(raw[2*i+1])
		} else {
			code = int(raw[i])
		}
		w, known := f.widths[code]
		if !known {
			w = f.missing
		}
		total += w
	}
	return total
}
