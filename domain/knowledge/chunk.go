package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

// ChunkingVersion is the version of the rules in this file. The same text and the same settings give the same chunks
// for ever; other rules are another version, and a re-index.
const ChunkingVersion = 1

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
	head     int    // of a table: the end of its two head lines
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
			open, fence = block{kind: code, from: from}, line[:3]
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
}

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
	overlap []rune
	before  piece // the last piece of the chunk before, when there is an overlap
	pieces  []piece
	length  int
	under   []string // the headings above its first text; nil: it has none yet
}

// add adds a block to the chunk that is made, or to the next ones.
func (d *divider) add(b block) {
	if b.kind == heading {
		if b.level <= 2 && d.length >= d.Size/4 {
			d.flush(false, false)
		}
		d.openHeading(b)
		if b.to-b.from > d.Size/4 {
			b.kind = prose // no text would fit below it
		}
	}
	for start := b.from; start < b.to; {
		rest := piece{b, start, b.to}
		room := d.Size - d.lengthWith(rest) + (rest.end - rest.start)
		switch {
		case rest.end-rest.start <= room:
			d.put(rest)
			return
		case d.hasText() && (rest.end-rest.start <= d.Size || room < d.Size/2), !d.hasText() && len(d.pieces) > 0 && (b.kind == heading || room < d.Size/4):
			d.flush(true, false)
		case !d.hasText() && len(d.overlap) > 0:
			d.dropOverlap()
		default:
			rest.end = d.cutAt(rest, room)
			d.put(rest)
			d.flush(true, false)
			for start = rest.end; start < b.to && unicode.IsSpace(d.text[start]); start++ {
			}
		}
	}
}

// openHeading makes a heading the last one of the path.
func (d *divider) openHeading(b block) {
	for n := len(d.levels) - 1; n >= 0 && d.levels[n] >= b.level; n-- {
		d.levels, d.path = d.levels[:n], d.path[:n]
	}
	d.levels, d.path = append(d.levels, b.level), append(slices.Clone(d.path), b.title)
}

// hasText reports whether the chunk has more than headings.
func (d *divider) hasText() bool { return d.under != nil }

// separator is what stands before a piece: parts of one block are as they stood.
func (d *divider) separator(p piece) []rune {
	last := d.before
	if n := len(d.pieces); n > 0 {
		last = d.pieces[n-1]
	} else if len(d.overlap) == 0 {
		return nil
	}
	if last.block == p.block {
		return d.text[last.end:p.start]
	}
	return []rune("\n\n")
}

// head is the head of a table that a chunk begins with when it has rows of its middle.
func (d *divider) head(p piece) []rune {
	if p.kind != table || p.start == p.from || len(d.pieces) > 0 {
		return nil
	}
	return append(slices.Clone(d.text[p.from:p.block.head]), '\n')
}

func (d *divider) lengthWith(p piece) int {
	return d.length + len(d.head(p)) + len(d.separator(p)) + p.end - p.start
}

func (d *divider) put(p piece) {
	d.length = d.lengthWith(p)
	d.pieces = append(d.pieces, p)
	if p.kind != heading && d.under == nil {
		d.under = append([]string{}, d.path...)
	}
}

func (d *divider) dropOverlap() {
	carried := d.pieces
	d.overlap, d.pieces, d.length = nil, nil, 0
	for _, p := range carried {
		d.put(p)
	}
}

// flush ends the chunk that is made. The next one continues it when it begins with the end of this one. Headings at
// its end belong to the next one, unless the text ends there.
func (d *divider) flush(continues, final bool) {
	pieces := d.pieces
	if !final && d.hasText() {
		for pieces[len(pieces)-1].kind == heading {
			pieces = pieces[:len(pieces)-1]
		}
	}
	carried := d.pieces[len(pieces):]
	if len(pieces) > 0 {
		d.emit(pieces)
	}
	d.overlap, d.pieces, d.length, d.under = nil, nil, 0, nil
	if continues && len(pieces) > 0 {
		d.before = pieces[len(pieces)-1]
		d.overlap = d.tail(d.before)
		d.length = len(d.overlap)
	}
	for _, p := range carried {
		d.put(p)
	}
}

// emit adds a chunk of pieces.
func (d *divider) emit(pieces []piece) {
	under := d.under
	if under == nil {
		under = append([]string{}, d.path...)
	}
	all := d.pieces
	d.pieces = nil
	text := slices.Concat(d.head(pieces[0]), d.overlap)
	for i, p := range pieces {
		d.pieces = all[:i]
		text = slices.Concat(text, d.separator(p), d.text[p.start:p.end])
	}
	d.pieces = all
	d.append(text, pieces[0].start, pieces[len(pieces)-1].end, under)
}

func (d *divider) append(text []rune, from, to int, headings []string) {
	if len(d.chunks) == MaxChunks {
		d.cut = true
		return
	}
	tokens := (len(text) + 3) / 4
	if d.language == "cjk" {
		tokens = len(text)
	}
	page, _ := slices.BinarySearch(d.pages, from+1)
	sum := sha256.Sum256([]byte(string(text)))
	d.chunks = append(d.chunks, Chunk{
		N: len(d.chunks), Text: string(text), From: from, To: to, Headings: headings, Page: page, Tokens: tokens,
		Language: d.language, Hash: hex.EncodeToString(sum[:]),
	})
}

// cutAt returns where a piece that is longer than room is cut: at the end of a line of code or a table, after a
// sentence, at a space, else in a word.
func (d *divider) cutAt(p piece, room int) int {
	most := p.start + room
	for at := most; at > p.start; at-- {
		if d.isEnd(p.kind, at) {
			return at
		}
	}
	for at := most; at > p.start && p.kind == prose; at-- {
		if unicode.IsSpace(d.text[at]) {
			return at
		}
	}
	return most
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

// tail returns the last whole sentences or lines of a piece, at most Overlap in all.
func (d *divider) tail(p piece) []rune {
	if p.kind == heading {
		return nil
	}
	start := p.end
	for at := p.end - 1; at > p.start && p.end-at <= d.Overlap+1; at-- {
		if !d.isEnd(p.kind, at) {
			continue
		}
		next := at
		for next < p.end && unicode.IsSpace(d.text[next]) {
			next++
		}
		if next < p.end && p.end-next <= d.Overlap {
			start = next
		}
	}
	if p.end-p.start <= d.Overlap {
		start = p.start
	}
	return d.text[start:p.end]
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
