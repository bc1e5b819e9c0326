package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"svc/commands/confined"
	"svc/domain/knowledge"
)

// serve reads files until in ends.
func serve(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(confined.Threads)
	if err := confined.WriteFrame(out, confined.FrameReady, nil); err != nil {
		return fmt.Errorf("tell that the child is ready: %w", err)
	}
	for first := true; ; first = false {
		kind, body, err := confined.ReadFrame(in, maxFault)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the job: %w", err)
		}
		var j job
		if err := json.Unmarshal(body, &j); err != nil || kind != frameJob {
			return fmt.Errorf("read the job of frame %q: %w", kind, err)
		}
		if first {
			if err := j.confine(); err != nil {
				return fmt.Errorf("confine the child: %w", err)
			}
		}
		_, content, err := confined.ReadFrame(in, maxContent)
		if err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		if err := j.answer(out, content); err != nil {
			return err
		}
	}
}

// confine sets the limits of the process, which are for all files that it reads. The parent has a clock for each.
func (j job) confine() error {
	memory := int64(j.MemoryMB) << 20
	debug.SetMemoryLimit(memory * 3 / 4) // collect harder before there is none left
	debug.SetMaxStack(64 << 20)
	return confined.Confine(max(j.Timeout, filesPerChild*time.Second), memory)
}

func (j job) answer(out io.Writer, content []byte) error {
	kind, answer := frameDocument, any(nil)
	d, err := read(File{Name: j.Name, Mimetype: j.Mimetype, Content: content, Selector: j.Selector, Links: j.Links}, j.MaxText)
	answer = d
	if refused, ok := errors.AsType[*Error](err); ok {
		kind, answer = frameRefused, refused
	} else if err != nil {
		kind, answer = frameRefused, refuse(Corrupt, "%s", err)
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return confined.WriteFrame(out, kind, encoded)
}

// read returns the document of a file. Any error is a fault of the file.
func read(f File, maxText int) (d Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, err = Document{}, refuse(Corrupt, "the file is damaged: %v", r)
		}
	}()
	if d.Mimetype, err = detectType(f); err != nil {
		return d, err
	}
	t := &text{document: &d, max: maxText}
	if err := readers[d.Mimetype](f, t); err != nil {
		return Document{}, err
	}
	d.Text = t.finish()
	d.Title = cutRunes(strings.Join(strings.Fields(knowledge.Normalise(d.Title)), " "), 500)
	if d.Text == "" {
		if d.Page != nil {
			return d, nil // its links count
		}
		if strings.HasPrefix(d.Mimetype, "text/") && d.Mimetype != typeHTML {
			return Document{}, refuse(Empty, "the file has nothing but white space")
		}
		return Document{}, refuse(NoText, "no text was found in the file")
	}
	return d, nil
}

// text collects the text of a document, page by page.
type text struct {
	document *Document
	max      int // code points
	length   int // code points so far
	built    strings.Builder
}

// isFull reports whether no more text is kept.
func (t *text) isFull() bool { return t.document.Truncated }

// add adds a part, normalised, after a blank line.
func (t *text) add(part string) {
	part = knowledge.Normalise(part)
	if part == "" || t.isFull() {
		return
	}
	if t.length > 0 {
		part = "\n\n" + part
	}
	n := utf8.RuneCountInString(part)
	if t.length+n > t.max {
		t.document.Truncated = true
		n = t.max - t.length
		part = cutRunes(part, n)
	}
	t.built.WriteString(part)
	t.length += n
}

// addPage adds a page. An empty one begins where the next one does.
func (t *text) addPage(part string) {
	at := t.length
	if at > 0 {
		at += 2
	}
	t.document.Pages = append(t.document.Pages, at)
	t.add(part)
}

func (t *text) finish() string { return strings.TrimRight(t.built.String(), " \t\n\u00a0") }

// cutRunes returns at most n code points of a text.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}
