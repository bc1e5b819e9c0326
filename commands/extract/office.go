package extract

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// Bounds of office files.
const (
	maxEntries  = 10_000
	maxUnzipped = 200 << 20 // bytes of all parts that are read
	maxRatio    = 100       // of a part to its compressed form
	freeRatio   = 1 << 20   // bytes of a part to which maxRatio does not apply
	maxDepth    = 256       // of elements
	maxCells    = 200_000
)

// officeFile reads parts of a DOCX or XLSX file.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be read
}

func openOffice(content []byte) (*officeFile, error) {
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, refuse(Corrupt, "the file cannot be read: %s", err)
	}
	if len(r.File) > maxEntries {
		return nil, refuse(TooLarge, "the file has more than %d parts", maxEntries)
	}
	o := &officeFile{parts: make(map[string]*zip.File, len(r.File)), left: maxUnzipped}
	for _, f := range r.File {
		o.parts[strings.TrimPrefix(f.Name, "/")] = f
	}
	return o, nil
}

// officeType returns the type of a zip file.
func officeType(content []byte) (string, error) {
	o, err := openOffice(content)
	if err != nil {
		return "", err
	}
	switch {
	case o.parts["word/document.xml"] != nil:
		return typeDOCX, nil
	case o.parts["xl/workbook.xml"] != nil:
		return typeXLSX, nil
	}
	return "", refuse(Unsupported, "zip files are not read, but for DOCX and XLSX")
}

// part is a part of an office file that is read as XML.
type part struct {
	*xml.Decoder
	closer io.Closer
	depth  int
}

// open opens a part; nil when there is none.
func (o *officeFile) open(name string) (*part, error) {
	f := o.parts[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, refuse(Corrupt, "the part %s cannot be read: %s", name, err)
	}
	limit := max(freeRatio, maxRatio*int64(min(f.CompressedSize64, maxUnzipped)))
	return &part{Decoder: xml.NewDecoder(&boundedReader{r: r, left: limit, all: &o.left}), closer: r}, nil
}

// boundedReader refuses to read more than a part, and than all parts together, may have.
type boundedReader struct {
	r    io.Reader
	left int64
	all  *int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if *b.all -= int64(n); b.left < 0 || *b.all < 0 {
		return n, refuse(TooLarge, "the file is too large when it is unpacked")
	}
	return n, err
}

// visit calls handle with each token of a part up to its end. A part that is not there has none.
func (o *officeFile) visit(name string, handle func(p *part, token xml.Token) error) error {
	p, err := o.open(name)
	if err != nil || p == nil {
		return err
	}
	defer p.closer.Close()
	for {
		token, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = handle(p, token)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next token. Declarations of entities and elements in too many others are refused.
func (p *part) next() (xml.Token, error) {
	token, err := p.Token()
	switch token.(type) {
	case xml.StartElement:
		p.depth++
	case xml.EndElement:
		p.depth--
	case xml.Directive:
		return nil, refuse(Corrupt, "the file has a document type definition")
	}
	if p.depth > maxDepth {
		return nil, refuse(Corrupt, "the file has more than %d elements in each other", maxDepth)
	}
	if _, refused := errors.AsType[*Error](err); err != nil && !refused && !errors.Is(err, io.EOF) {
		err = refuse(Corrupt, "the file cannot be read: %s", err)
	}
	return token, err
}

func attr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// coreTitle returns the title in the properties of a file.
func (o *officeFile) coreTitle() (title string, err error) {
	inside := false
	err = o.visit("docProps/core.xml", func(_ *part, token xml.Token) error {
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "title"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				title += string(e)
			}
		}
		return nil
	})
	return title, err
}

// readDOCX reads the text of a DOCX file: headings by style, lists, tables, then notes.
func readDOCX(f File, t *text) error {
	o, err := openOffice(f.Content)
	if err != nil {
		return err
	}
	if t.document.Title, err = o.coreTitle(); err != nil {
		return err
	}
	levels, err := o.headingStyles()
	if err != nil {
		return err
	}
	for _, name := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"} {
		w := docxReader{text: t, levels: levels}
		if err := o.visit(name, w.handle); err != nil {
			return err
		}
	}
	return nil
}

// headingStyles returns the level of each style of headings.
func (o *officeFile) headingStyles() (map[string]int, error) {
	levels := map[string]int{}
	style := ""
	err := o.visit("word/styles.xml", func(_ *part, token xml.Token) error {
		e, ok := token.(xml.StartElement)
		if !ok {
			return nil
		}
		switch e.Name.Local {
		case "style":
			style = attr(e, "styleId")
		case "name":
			name := strings.ToLower(attr(e, "val"))
			if name == "title" {
				levels[style] = 1
			} else if level, ok := strings.CutPrefix(name, "heading "); ok {
				levels[style], _ = strconv.Atoi(level)
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(attr(e, "val")); err == nil && levels[style] == 0 && n < 6 {
				levels[style] = n + 1
			}
		}
		return nil
	})
	return levels, err
}

// docxReader reads paragraphs and tables.
type docxReader struct {
	text   *text
	levels map[string]int

	open    []*docxParagraph // a paragraph, and those of a text box in it
	list    []string
	dropped int // elements of deleted or moved text that are open
	inText  bool
	choices []bool // that are open: whether the form that is read was found
	skipped int    // elements of another form that are open

	tables int // that are open: a table in a cell is text of the cell
	rows   [][]string
	row    []string
	cell   []string
}

// docxParagraph is a paragraph that is being read.
type docxParagraph struct {
	strings.Builder
	level int  // of a heading
	item  bool // of a list
}

func (d *docxReader) handle(_ *part, token xml.Token) error {
	if d.skips(token) {
		return nil
	}
	switch e := token.(type) {
	case xml.StartElement:
		d.start(e)
	case xml.EndElement:
		d.end(e.Name.Local)
	case xml.CharData:
		if d.inText && d.dropped == 0 {
			d.paragraph().Write(e)
		}
	}
	return nil
}

// skips reports whether a token belongs to another form of something that was read already: a text box is often there
// twice, for new and for old programs.
func (d *docxReader) skips(token xml.Token) bool {
	switch e := token.(type) {
	case xml.StartElement:
		last := len(d.choices) - 1
		switch name := e.Name.Local; {
		case d.skipped > 0:
			d.skipped++
		case name == "AlternateContent":
			d.choices = append(d.choices, false)
		case (name == "Choice" || name == "Fallback") && last >= 0:
			if d.choices[last] {
				d.skipped = 1
			}
			d.choices[last] = true
		}
	case xml.EndElement:
		if d.skipped > 0 {
			d.skipped--
			return true
		}
		if e.Name.Local == "AlternateContent" {
			d.choices = d.choices[:len(d.choices)-1]
		}
	}
	return d.skipped > 0
}

// paragraph returns the paragraph that is being read. Text outside of all is not shown.
func (d *docxReader) paragraph() *docxParagraph {
	if len(d.open) == 0 {
		return &docxParagraph{}
	}
	return d.open[len(d.open)-1]
}

func (d *docxReader) start(e xml.StartElement) {
	p := d.paragraph()
	switch e.Name.Local {
	case "del", "moveFrom":
		d.dropped++
	case "t":
		d.inText = true
	case "tab":
		p.WriteByte(' ')
	case "br", "cr":
		p.WriteByte('\n')
	case "symEx": // a character that old programs do not have
		if c, err := strconv.ParseUint(attr(e, "char"), 16, 21); err == nil && d.dropped == 0 {
			p.WriteRune(rune(c))
		}
	case "p":
		d.open = append(d.open, &docxParagraph{})
	case "pStyle":
		p.level = max(p.level, d.levels[attr(e, "val")])
	case "outlineLvl":
		if n, err := strconv.Atoi(attr(e, "val")); err == nil && n < 6 {
			p.level = n + 1
		}
	case "numPr":
		p.item = true
	case "tbl":
		d.flushList()
		d.tables++
	}
}

func (d *docxReader) end(name string) {
	switch name {
	case "del", "moveFrom":
		d.dropped--
	case "t":
		d.inText = false
	case "p":
		d.endParagraph()
	case "tc":
		if d.tables == 1 {
			d.row = append(d.row, plainCell(strings.Join(d.cell, " ")))
			d.cell = nil
		}
	case "tr":
		if d.tables == 1 {
			d.rows = append(d.rows, d.row)
			d.row = nil
		}
	case "tbl":
		if d.tables--; d.tables == 0 {
			d.text.add(markdownTable(d.rows))
			d.rows = nil
		}
	case "body", "footnotes", "endnotes":
		d.flushList()
	}
}

// endParagraph ends the innermost paragraph. So a text box comes before the paragraph that it belongs to.
func (d *docxReader) endParagraph() {
	p := d.paragraph()
	d.open = d.open[:max(0, len(d.open)-1)]
	s := strings.TrimSpace(p.String())
	switch {
	case s == "":
	case d.tables > 0:
		d.cell = append(d.cell, s)
	case p.item && p.level == 0:
		d.list = append(d.list, "- "+strings.ReplaceAll(s, "\n", " "))
	case p.level > 0:
		d.flushList()
		s = strings.Join(strings.Fields(s), " ")
		d.text.document.Title = cmp.Or(d.text.document.Title, s)
		d.text.add(strings.Repeat("#", min(p.level, 6)) + " " + s)
	default:
		d.flushList()
		d.text.add(s)
	}
}

func (d *docxReader) flushList() {
	d.text.add(strings.Join(d.list, "\n"))
	d.list = nil
}

// readXLSX reads a workbook: a heading for each sheet, and each row as a block of `name: value` lines.
func readXLSX(f File, t *text) error {
	o, err := openOffice(f.Content)
	if err != nil {
		return err
	}
	x := xlsxReader{officeFile: o, text: t}
	if t.document.Title, err = o.coreTitle(); err != nil {
		return err
	}
	if err := errors.Join(x.readStrings(), x.readDateStyles()); err != nil {
		return err
	}
	sheets, err := x.sheets()
	if err != nil {
		return err
	}
	for _, s := range sheets {
		if err := x.readSheet(s); err != nil {
			return err
		}
	}
	return nil
}

type sheet struct{ name, part string }

type xlsxReader struct {
	*officeFile
	text    *text
	strings []string
	dates   []bool // styles of cells that show dates
	cells   int
}

// sheets returns the sheets of the workbook, in its order.
func (x *xlsxReader) sheets() (all []sheet, err error) {
	targets := map[string]string{}
	err = x.visit("xl/_rels/workbook.xml.rels", func(_ *part, token xml.Token) error {
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "Relationship" && attr(e, "TargetMode") != "External" {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join("xl", target)
			}
			targets[attr(e, "Id")] = strings.TrimPrefix(target, "/")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = x.visit("xl/workbook.xml", func(_ *part, token xml.Token) error {
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "sheet" {
			all = append(all, sheet{attr(e, "name"), targets[attr(e, "id")]})
		}
		return nil
	})
	return all, err
}

// readStrings reads the texts that cells refer to.
func (x *xlsxReader) readStrings() error {
	var b strings.Builder
	inText, phonetic := false, false
	return x.visit("xl/sharedStrings.xml", func(_ *part, token xml.Token) error {
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "t"
			phonetic = phonetic || e.Name.Local == "rPh"
		case xml.EndElement:
			inText = false
			switch e.Name.Local {
			case "rPh":
				phonetic = false
			case "si":
				x.strings = append(x.strings, b.String())
				b.Reset()
			}
		case xml.CharData:
			if inText && !phonetic {
				b.Write(e)
			}
		}
		return nil
	})
}

// readDateStyles reads which styles of cells show dates.
func (x *xlsxReader) readDateStyles() error {
	custom := map[string]bool{}
	inCells := false
	return x.visit("xl/styles.xml", func(_ *part, token xml.Token) error {
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "numFmt":
				format, _, _ := strings.Cut(attr(e, "formatCode"), ";")
				custom[attr(e, "numFmtId")] = strings.ContainsAny(strings.ToLower(format), "yd") && !strings.ContainsAny(format, "\"#0")
			case "cellXfs":
				inCells = true
			case "xf":
				if inCells {
					id := attr(e, "numFmtId")
					n, _ := strconv.Atoi(id)
					x.dates = append(x.dates, custom[id] || n >= 14 && n <= 17 || n == 22)
				}
			}
		case xml.EndElement:
			if e.Name.Local == "cellXfs" {
				inCells = false
			}
		}
		return nil
	})
}

// readSheet reads the rows of a sheet.
func (x *xlsxReader) readSheet(s sheet) error {
	x.text.add("## " + strings.Join(strings.Fields(s.name), " "))
	var rows rowWriter
	var row []string
	var cell xlsxCell
	err := x.visit(s.part, func(_ *part, token xml.Token) error {
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "row":
				row = row[:0]
			case "c":
				style, _ := strconv.Atoi(attr(e, "s"))
				cell = xlsxCell{column: columnOf(attr(e, "r")), kind: attr(e, "t"), date: style >= 0 && style < len(x.dates) && x.dates[style]}
			case "v", "t":
				cell.inText = true
			}
		case xml.CharData:
			if cell.inText {
				cell.value += string(e)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "v", "t":
				cell.inText = false
			case "c":
				if x.cells++; x.cells > maxCells {
					x.text.document.Truncated = true
					return errStop
				}
				for cell.column >= len(row) && cell.column < maxColumns {
					row = append(row, "")
				}
				if cell.column < len(row) && cell.column >= 0 {
					row[cell.column] = x.shown(cell)
				}
			case "row":
				rows.write(row, x.text)
				if x.text.isFull() {
					return errStop
				}
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return err
	}
	rows.finish(x.text)
	return nil
}

var errStop = errors.New("enough is read")

// maxColumns is how many columns a sheet has at most.
const maxColumns = 16_384

type xlsxCell struct {
	column      int
	kind, value string
	date        bool
	inText      bool
}

// columnOf returns the number of a column from the name of a cell, as in BC12; -1 when it has none.
func columnOf(name string) int {
	n := 0
	for _, c := range name {
		if c < 'A' || c > 'Z' || n > maxColumns {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}

// shown returns the value of a cell as text.
func (x *xlsxReader) shown(c xlsxCell) string {
	switch c.kind {
	case "s":
		if n, err := strconv.Atoi(c.value); err == nil && n >= 0 && n < len(x.strings) {
			return x.strings[n]
		}
		return ""
	case "b":
		return strconv.FormatBool(c.value == "1")
	case "", "n":
		days, err := strconv.ParseFloat(c.value, 64)
		if err != nil {
			return c.value
		}
		if c.date && days >= 1 && days < 3_000_000 {
			whole := math.Floor(days)
			at := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(whole)).Add(time.Duration((days-whole)*86400+0.5) * time.Second)
			return strings.TrimSuffix(at.Format("2006-01-02 15:04"), " 00:00")
		}
		return strconv.FormatFloat(days, 'f', -1, 64)
	}
	return c.value
}
