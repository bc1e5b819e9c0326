package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ChunkingVersion is the version of the rules in this file. The same text and the same settings give the same chunks
// for ever; other rules are another version, and a re-index.
const ChunkingVersion = 2

// MaxChunks is how many chunks a document has at most. What follows them is not searched.
const MaxChunks = 10_000

// Chunking is how a base divides texts.
type Chunking struct {
	Fixed   bool // windows of Size; otherwise by structure
	Size    int  // in code points
	Overlap int
}

// Chunk is a passage of a text, the unit of ranking. Offsets are in code points of the normalised text.
type Chunk struct {
	N        int      `json:"n"`
	Text     string   `json:"text"`
	From     int      `json:"from"`
	To       int      `json:"to"`
	Headings []string `json:"headings"`
	Page     int      `json:"page,omitempty"` // from 1; 0: the text has no pages
	Tokens   int      `json:"tokens"`
	Language string   `json:"language"`
	Hash     string   `json:"hash"`
}

// Divide returns the chunks of a normalised text. Pages are the offsets at which its pages begin, none when it has no
// pages. cut is true when there would be more than MaxChunks.
func (c Chunking) Divide(text, language string, pages []int) (chunks []Chunk, cut bool) {
	runes := []rune(text)
	d := &divider{Chunking: c, text: runes, language: language, pages: pages}
	if c.Fixed {
		d.windows()
	} else {
		for _, b := range blocksOf(runes) {
			d.add(b)
		}
		d.flush(false, true)
	}
	return d.chunks, d.cut
}

// kind is what a block of a text is.
type kind uint8

const (
	prose kind = iota
	heading
	code
	table
)

// block is a part of a text between blank lines.
type block struct {
	kind     kind
	from, to int
	level    int    // of a heading
	title    string // of a heading
	head     int    // of a table: the end of its two head lines; of code: of the line that opens it
}

// blocksOf divides a text at its blank lines. A heading line, a fenced code block and a table are blocks of their own.
func blocksOf(text []rune) (blocks []block) {
	open := block{from: -1}
	fence := ""
	end := func(at int) {
		if open.from >= 0 {
			open.to = at
			blocks = append(blocks, open)
		}
		open = block{from: -1}
	}
	last := 0 // the end of the last line that is not blank
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && text[to] != '\n' {
			to++
		}
		line := strings.TrimSpace(string(text[from:to]))
		switch level := headingLevel(line); {
		case fence != "":
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
				end(to)
			}
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			end(last)
			open, fence = block{kind: code, from: from, head: to}, line[:3]
		case line == "":
			end(last)
		case level > 0:
			end(last)
			blocks = append(blocks, block{kind: heading, from: from, to: to, level: level, title: strings.TrimSpace(strings.Trim(line, "#"))})
		case strings.HasPrefix(line, "|"):
			if open.kind != table || open.from < 0 {
				end(last)
				open = block{kind: table, from: from, head: to}
			} else if isRule(line) && open.head == last {
				open.head = to
			}
		case open.from < 0 || open.kind == table:
			end(last)
			open = block{from: from}
		}
		if line != "" {
			last = to
		}
		from = to + 1
	}
	end(last)
	return blocks
}

// headingLevel returns the level of a heading line, 0 for another line.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level < 1 || level > 6 || level == len(line) || line[level] != ' ' {
		return 0
	}
	return level
}

// isRule reports whether a line of a table is the one below its head.
func isRule(line string) bool { return strings.Trim(line, "|-: ") == "" && strings.Contains(line, "-") }

// piece is what of a block is in a chunk.
type piece struct {
	block
	start, end int
	torn       bool // it begins within a sentence or a line
}

func (p piece) length() int { return p.end - p.start }

// divider collects chunks.
type divider struct {
	Chunking
	text     []rune
	language string
	pages    []int

	chunks []Chunk
	cut    bool

	path   []string // of open headings
	levels []int

	// The chunk that is made: what it repeats of the one before, its own pieces, and their length.
	repeated []piece
	pieces   []piece
	length   int
	under    []string // the headings above its first text; nil: it has none yet
}

// add adds a block to the chunk that is made, or to the next ones.
func (d *divider) add(b block) {
	if b.kind == heading {
		if b.level <= 2 && d.hasText() && d.length >= d.Size/4 {
			d.flush(false, false)
		}
		d.openHeading(b)
		if b.to-b.from > d.Size/4 {
			b.kind = prose // no text would fit below it
		}
	}
	for rest := (piece{block: b, start: b.from, end: b.to}); rest.length() > 0; {
		room := d.Size - d.lengthWith(rest) + rest.length()
		if rest.length() <= room {
			d.put(rest)
			return
		}
		end, isWhole := 0, true // where the rest is cut; not within a sentence or a line
		if rest.length()+d.headLength(rest) > d.Size {
			end = d.lastEnd(rest, room)
		}
		switch {
		case end > 0:
		case d.hasText():
			d.flush(true, false)
			continue
		case len(d.repeated) > 0:
			d.dropRepeated()
			continue
		case len(d.pieces) > 0 && (b.kind == heading || room < d.Size/4): // headings alone fill a chunk
			d.flush(false, false)
			continue
		default:
			if end = d.lastEnd(rest, room); end == 0 {
				end, isWhole = d.lastSpace(rest, room), false
			}
		}
		part, gap := rest, b.kind
		if part.end = end; !isWhole {
			gap = prose // white space within a line is no indentation
		}
		d.put(part)
		d.flush(isWhole, false)
		rest.start, rest.torn = d.skipGap(gap, end, rest.end), !isWhole
	}
}

// openHeading makes a heading the last one of the path.
func (d *divider) openHeading(b block) {
	for n := len(d.levels) - 1; n >= 0 && d.levels[n] >= b.level; n-- {
		d.levels, d.path = d.levels[:n], d.path[:n]
	}
	d.levels, d.path = append(d.levels, b.level), append(slices.Clone(d.path), b.title)
}

// hasText reports whether the chunk has more than headings, of its own.
func (d *divider) hasText() bool { return d.under != nil }

// gap is what stands between two pieces that follow each other: parts of one block are as they stood.
func (d *divider) gap(last, next piece) []rune {
	if last.block == next.block {
		return d.text[last.end:next.start]
	}
	return []rune("\n\n")
}

// headLength is how long the head of a table is that a chunk begins with when its first own piece is rows of the middle.
// A head that leaves no room for rows is not repeated.
func (d *divider) headLength(p piece) int {
	n := p.head - p.from + 1
	if p.kind != table || p.start <= p.head || len(d.pieces) > 0 || n > d.Size/2 {
		return 0
	}
	if slices.ContainsFunc(d.repeated, func(r piece) bool { return r.block == p.block && r.start == p.from }) {
		return 0
	}
	return n
}

// lengthWith is how long the chunk is with one more piece.
func (d *divider) lengthWith(p piece) int {
	length := d.length + d.headLength(p) + p.length()
	if n := len(d.pieces); n > 0 {
		return length + len(d.gap(d.pieces[n-1], p))
	}
	if n := len(d.repeated); n > 0 {
		return length + len(d.gap(d.repeated[n-1], p))
	}
	return length
}

func (d *divider) put(p piece) {
	d.length = d.lengthWith(p)
	d.pieces = append(d.pieces, p)
	if p.kind != heading && d.under == nil {
		d.under = append([]string{}, d.path...)
	}
}

// dropRepeated leaves out what the chunk repeats. It has no text of its own yet.
func (d *divider) dropRepeated() {
	headings := d.pieces
	d.repeated, d.pieces, d.length = nil, nil, 0
	for _, p := range headings {
		d.put(p)
	}
}

// flush ends the chunk that is made. The next one continues it when it repeats the end of this one. Headings at its end
// belong to the next one, unless the text ends there.
func (d *divider) flush(repeats, final bool) {
	pieces := d.pieces
	if !final && d.hasText() {
		for pieces[len(pieces)-1].kind == heading {
			pieces = pieces[:len(pieces)-1]
		}
	}
	headings := d.pieces[len(pieces):]
	var repeated []piece
	if len(pieces) > 0 {
		d.emit(pieces)
		if repeats {
			repeated = d.tail(slices.Concat(d.repeated, pieces))
		}
	}
	d.repeated, d.pieces, d.under = repeated, nil, nil
	d.length = len(d.join(repeated))
	for _, p := range headings {
		d.put(p)
	}
}

// join returns the text of pieces that follow each other.
func (d *divider) join(pieces []piece) (text []rune) {
	for i, p := range pieces {
		if i > 0 {
			text = append(text, d.gap(pieces[i-1], p)...)
		}
		text = append(text, d.text[p.start:p.end]...)
	}
	return text
}

// emit adds a chunk of own pieces.
func (d *divider) emit(pieces []piece) {
	under := d.under
	if under == nil {
		under = append([]string{}, d.path...)
	}
	first := pieces[0]
	d.pieces = nil
	var head []rune
	if n := d.headLength(first); n > 0 {
		head = append(slices.Clone(d.text[first.from:first.head]), '\n')
	}
	d.append(append(head, d.join(slices.Concat(d.repeated, pieces))...), first.start, pieces[len(pieces)-1].end, under)
}

func (d *divider) append(text []rune, from, to int, headings []string) {
	if len(d.chunks) == MaxChunks {
		d.cut = true
		return
	}
	page, _ := slices.BinarySearch(d.pages, from+1)
	sum := sha256.Sum256([]byte(string(text)))
	d.chunks = append(d.chunks, Chunk{
		N: len(d.chunks), Text: string(text), From: from, To: to, Headings: headings, Page: page, Tokens: tokensOf(len(text), d.language),
		Language: d.language, Hash: hex.EncodeToString(sum[:]),
	})
}

// tokensOf returns how many tokens a passage of so many characters counts for.
func tokensOf(length int, language string) int {
	if language == "cjk" {
		return length
	}
	return (length + 3) / 4
}

// In returns a passage as one of a text in another language. It stays divided as it is.
func (c Chunk) In(language string) Chunk {
	c.Language, c.Tokens = language, tokensOf(utf8.RuneCountInString(c.Text), language)
	return c
}

// lastEnd returns the end of the last line of code or row of a table, or of the last sentence, that a piece has within
// room; 0: it has none there. What opens code or a table is not cut off the first line.
func (d *divider) lastEnd(p piece, room int) int {
	least := p.start
	if p.start == p.from {
		least = max(least, p.head)
	}
	for at := p.start + room; at > least; at-- {
		if d.isEnd(p.kind, at) {
			return at
		}
	}
	return 0
}

// lastSpace returns the end of the last word that a piece has within room; a longer word ends there.
func (d *divider) lastSpace(p piece, room int) int {
	for at := p.start + room; at > p.start; at-- {
		if unicode.IsSpace(d.text[at]) && !unicode.IsSpace(d.text[at-1]) {
			return at
		}
	}
	return p.start + room
}

// isEnd reports whether a line of code or a table, or a sentence, ends before a place in the text.
func (d *divider) isEnd(k kind, at int) bool {
	if k == code || k == table {
		return d.text[at] == '\n' && d.text[at-1] != '\n'
	}
	switch d.text[at-1] {
	case '。', '！', '？':
		return true
	case '.', '!', '?', '…':
		return at == len(d.text) || unicode.IsSpace(d.text[at])
	}
	return false
}

// skipGap returns where the text goes on after a cut. Lines of code keep their indentation.
func (d *divider) skipGap(k kind, at, end int) int {
	for at < end && (d.text[at] == '\n' || k != code && unicode.IsSpace(d.text[at])) {
		at++
	}
	return at
}

// tail returns the last whole sentences of a chunk, of code and tables the last whole lines, at most Overlap in all.
func (d *divider) tail(chunk []piece) (parts []piece) {
	left := d.Overlap
	for i, p := range slices.Backward(chunk) {
		if i+1 < len(chunk) {
			left -= len(d.gap(p, chunk[i+1]))
		}
		isWhole := p.length() <= left && !p.torn
		if !isWhole {
			p = d.lastPart(p, left)
		}
		if p.length() > 0 {
			parts = append(parts, p)
		}
		if !isWhole {
			break
		}
		left -= p.length()
	}
	slices.Reverse(parts)
	return parts
}

// lastPart returns the last whole sentences or lines of a piece, at most so long, without its first one.
func (d *divider) lastPart(p piece, most int) piece {
	part := piece{block: p.block, start: p.end, end: p.end}
	if p.kind == heading {
		return part
	}
	for at := p.end - 1; at > p.start && (p.end-at <= most || unicode.IsSpace(d.text[at])); at-- {
		if !d.isEnd(p.kind, at) {
			continue
		}
		if next := d.skipGap(p.kind, at, p.end); p.end-next <= most {
			part.start = next
		}
	}
	return part
}

// windows divides the text into windows of equal length.
func (d *divider) windows() {
	for from := 0; from < len(d.text); {
		to := min(from+d.Size, len(d.text))
		if to < len(d.text) {
			for at := to; at > to-d.Size/10; at-- {
				if unicode.IsSpace(d.text[at]) {
					to = at
					break
				}
			}
		}
		d.append(d.text[from:to], from, to, []string{})
		if to == len(d.text) {
			return
		}
		from = to - d.Overlap
	}
}

// EstimateTokens returns about how many tokens a text of any language takes: one for each Chinese, Japanese or Korean
// character, and one for four others.
func EstimateTokens(text string) int {
	wide, others := 0, 0
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			wide++
		} else {
			others++
		}
	}
	return wide + (others+3)/4
}
