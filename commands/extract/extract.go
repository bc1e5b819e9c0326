// Package extract reads the text of files: text, Markdown, JSON, HTML, CSV, PDF, DOCX and XLSX.
//
// Files are parsed in child processes of the same binary, which are confined: a file that makes a parser loop, crash or
// take all memory ends its child, and nothing else. A PDF, DOCX or XLSX file has a child of its own; all others share
// children, which are replaced after some files and after any fault.
package extract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"svc/commands/confined"
	"svc/domain/kbdocument"
)

// File is what text is read of.
type File struct {
	Name     string // its extension decides between kinds of text
	Mimetype string // decides between kinds of text when the extension does not, and may name their charset
	Content  []byte
	Selector kbdocument.Selector // what of a page is kept
	MaxText  int                 // code points that are kept of the text; 0: as many as the options say
	Links    bool                // what a page says to crawlers is wanted, too
}

// Document is what was read of a file.
type Document struct {
	Mimetype  string   `json:"mimetype"` // found from the bytes
	Title     string   `json:"title,omitempty"`
	Language  string   `json:"language,omitempty"` // of its front matter
	Tags      []string `json:"tags,omitempty"`     // of its front matter
	Text      string   `json:"text"`               // normalised
	Pages     []int    `json:"pages,omitempty"`    // where pages begin in the text, in code points
	Truncated bool     `json:"truncated,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Page      *Page    `json:"page,omitempty"` // of HTML, when it was asked for
}

// Page is what a page says to crawlers. Addresses are as they stand there.
type Page struct {
	Base      string   `json:"base,omitempty"` // what addresses are relative to; "": the address of the page
	Links     []string `json:"links,omitempty"`
	Canonical string   `json:"canonical,omitempty"`
	NoIndex   bool     `json:"noIndex,omitempty"`
	NoFollow  bool     `json:"noFollow,omitempty"`
}

// Reasons of an Error.
const (
	TooLarge    = "too_large"
	Encrypted   = "encrypted"
	NoText      = "no_text"
	Empty       = "empty"
	Corrupt     = "corrupt"
	Unsupported = "unsupported_type"
	Timeout     = "extraction_timeout"
	Crashed     = "extraction_crashed"
)

// Error says why a file has no text. It is a fault of the file: another attempt ends alike.
type Error struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Reason + ": " + e.Message }

func refuse(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Options say how files are read. The zero value of every field but Executable is good.
type Options struct {
	Executable string        // the program whose Args make it call Main; required
	Args       []string      // default "extract"
	Timeout    time.Duration // for one file; default 60 s
	MemoryMB   int           // of a child; default 512
	MaxText    int           // code points that are kept of a text; default 5,000,000
}

func (o Options) withDefaults() (Options, error) {
	if o.Executable == "" {
		return o, errors.New("extract: Options.Executable is required")
	}
	if len(o.Args) == 0 {
		o.Args = []string{"extract"}
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MemoryMB = cmp.Or(o.MemoryMB, 512)
	o.MaxText = cmp.Or(o.MaxText, 5_000_000)
	if o.Timeout < 0 || o.MemoryMB < 0 || o.MaxText < 0 {
		return o, errors.New("extract: a limit below 0")
	}
	return o, nil
}

const (
	filesPerChild = 500             // that a shared child reads
	maxIdle       = 4               // shared children that wait for a file
	grace         = time.Second     // for a child to say that time is over
	maxContent    = 1 << 30         // bytes of a file
	maxFault      = 64 << 10        // bytes of an error of a child
	bytesPerRune  = 12              // of the text as JSON, at most
	maxPage       = 16 << 20        // bytes of what a page says to crawlers, as JSON
	idleAfter     = 5 * time.Minute // a shared child without a file ends
)

// Extractor reads files. All methods are safe for concurrent use.
type Extractor struct {
	options Options

	mu     sync.Mutex
	idle   []*sharedChild // the last one was used last
	closed bool
}

// sharedChild is a child that reads several files.
type sharedChild struct {
	*confined.Child
	files  int
	expiry *time.Timer
}

// New returns an Extractor. Nothing is started before the first file.
func New(o Options) (*Extractor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Extractor{options: o}, nil
}

// Close ends the children that wait. Files that are being read end as they would have.
func (x *Extractor) Close() {
	x.mu.Lock()
	idle := x.idle
	x.idle, x.closed = nil, true
	x.mu.Unlock()
	for _, c := range idle {
		c.expiry.Stop()
		c.End()
	}
}

// Extract reads a file. A fault of the file is an *Error; any other error is not caused by it.
func (x *Extractor) Extract(ctx context.Context, f File) (Document, error) {
	if len(f.Content) == 0 {
		return Document{}, refuse(Empty, "the file is empty")
	}
	if len(f.Content) > maxContent {
		return Document{}, refuse(TooLarge, "the file has %d bytes", len(f.Content))
	}
	if err := confined.Unconfined(); err != nil {
		return Document{}, fmt.Errorf("files are not read here: they cannot be confined: %w", err)
	}
	shared := !isPDF(f.Content) && !isZip(f.Content)
	c, err := x.acquire(ctx, shared)
	if err != nil {
		return Document{}, err
	}
	d, killed, err := x.read(ctx, c.Child, f)
	if err != nil || killed || !shared {
		c.End()
		return d, err
	}
	x.release(c)
	return d, nil
}

func (x *Extractor) acquire(ctx context.Context, shared bool) (*sharedChild, error) {
	if shared {
		x.mu.Lock()
		defer x.mu.Unlock()
		if n := len(x.idle); n > 0 {
			c := x.idle[n-1]
			x.idle = x.idle[:n-1]
			c.expiry.Stop()
			c.files++
			return c, nil
		}
	}
	c, err := confined.Start(ctx, x.options.Executable, x.options.Args)
	if err != nil {
		return nil, err
	}
	return &sharedChild{Child: c, files: 1}, nil
}

// release lets a child wait for the next file, or ends it.
func (x *Extractor) release(c *sharedChild) {
	x.mu.Lock()
	waits := !x.closed && c.files < filesPerChild && len(x.idle) < maxIdle
	if waits {
		x.idle = append(x.idle, c)
		c.expiry = time.AfterFunc(idleAfter, func() { x.expire(c) })
	}
	x.mu.Unlock()
	if !waits {
		c.End()
	}
}

// expire ends a child that still waits.
func (x *Extractor) expire(c *sharedChild) {
	x.mu.Lock()
	found := false
	for i, idle := range x.idle {
		if idle == c {
			x.idle = append(x.idle[:i:i], x.idle[i+1:]...)
			found = true
			break
		}
	}
	x.mu.Unlock()
	if found {
		c.End()
	}
}

// read sends a child a file and returns what it found. The child is killed when ctx ends, which may happen just after
// it has answered: then it must not get another file.
func (x *Extractor) read(ctx context.Context, c *confined.Child, f File) (d Document, killed bool, err error) {
	late, cancel := context.WithTimeout(ctx, x.options.Timeout+grace)
	defer cancel()
	stop := context.AfterFunc(late, c.Kill)
	d, err = x.exchange(ctx, late, c, f)
	return d, !stop(), err
}

func (x *Extractor) exchange(ctx, late context.Context, c *confined.Child, f File) (Document, error) {
	o := x.options
	header, err := json.Marshal(job{
		Name: f.Name, Mimetype: f.Mimetype, Timeout: o.Timeout, MemoryMB: o.MemoryMB, MaxText: min(o.MaxText, cmp.Or(f.MaxText, o.MaxText)),
		Selector: f.Selector, Links: f.Links,
	})
	if err != nil {
		return Document{}, err
	}
	err = confined.WriteFrame(c.In, frameJob, header)
	if err == nil {
		err = confined.WriteFrame(c.In, frameContent, f.Content)
	}
	var kind byte
	var body []byte
	if err == nil {
		kind, body, err = confined.ReadFrame(c.Out, max(o.MaxText*bytesPerRune, maxFault)+maxPage)
	}
	switch {
	case err == nil:
		return decodeAnswer(kind, body)
	case ctx.Err() != nil:
		return Document{}, context.Cause(ctx)
	case late.Err() != nil:
		return Document{}, refuse(Timeout, "reading the file took longer than %s", o.Timeout)
	case errors.Is(err, confined.ErrFrame):
		return Document{}, refuse(TooLarge, "the text of the file is too long")
	}
	return Document{}, refuse(Crashed, "reading the file ended its process: %s", bytes.ToValidUTF8(c.Stderr(), nil))
}

// decodeAnswer reads the answer of a child.
func decodeAnswer(kind byte, body []byte) (d Document, err error) {
	switch kind {
	case frameDocument:
		err = json.Unmarshal(body, &d)
		return d, err
	case frameRefused:
		refused := &Error{}
		if err := json.Unmarshal(body, refused); err != nil {
			return d, err
		}
		return d, refused
	case frameBroken:
		return d, fmt.Errorf("the child could not read the file: %s", body)
	}
	return d, fmt.Errorf("the child sent an unknown frame %q", kind)
}

// Kinds of frames.
const (
	frameJob      byte = 'j' // to the child: the job
	frameContent  byte = 'c' // to the child: the bytes of the file
	frameDocument byte = 'd' // the Document
	frameRefused  byte = 'e' // the Error
	frameBroken   byte = 'x' // why the child cannot work
)

// job is what a child is told about a file.
type job struct {
	Name     string        `json:"name"`
	Mimetype string        `json:"mimetype"`
	Timeout  time.Duration `json:"timeout"`
	MemoryMB int           `json:"memoryMB"`
	MaxText  int           `json:"maxText"`

	Selector kbdocument.Selector `json:"selector,omitzero"`
	Links    bool                `json:"links,omitempty"`
}

// Main is the child: it reads files from in and writes their text to out until in ends.
func Main(in io.Reader, out io.Writer) error {
	err := serve(in, out)
	if err != nil {
		err = errors.Join(err, confined.WriteFrame(out, frameBroken, []byte(err.Error())))
	}
	return err
}
