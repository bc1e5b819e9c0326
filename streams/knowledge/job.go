package knowledge

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"time"

	"svc/commands"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/domain/activity"
	"svc/domain/kbdocument"
	"svc/projections"
	"svc/streams"
	"svc/streams/site"
)

// errNoBase says that the base of a document was deleted: its documents wait for its return.
var errNoBase = errors.New("knowledge: the base was deleted")

// pauses are how long a document waits after each attempt that failed for a reason that may pass.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// job is one attempt at a document.
type job struct {
	*partition
	ref     projections.KBDocumentRef
	base    Base
	doc     kbdocument.State // when the attempt began
	attempt int

	content     []byte
	fetched     *kbdocument.Content // what was loaded from the address
	contentType string              // that the site named
}

// process makes one attempt at the job of a document. An error says that nothing could be recorded: it is tried again
// later.
func (p *partition) process(ctx context.Context, ref projections.KBDocumentRef) error {
	r := p.Models.Reader()
	d, ok, err := projections.KBDocuments{}.ByID(r, ref.WorkspaceID, ref.ID)
	r.Close()
	if err != nil || !ok || d.Job == nil {
		return err
	}
	ctx = commands.WithDepth(ctx, d.Depth)
	base, ok, err := p.FindBase(ctx, ref.WorkspaceID, d.BaseID)
	if err != nil {
		return err
	}
	if !ok {
		return errNoBase
	}
	begun, err := p.report(ctx, ref, kbdocument.Begin{Base: base.Base, Generation: d.Job.Generation, Now: p.Now()})
	if err != nil || !begun.Changed || begun.State.Job == nil {
		return err // somebody else was faster, or the document took too many nodes down
	}
	j := &job{partition: p, ref: ref, base: base, doc: begun.State, attempt: begun.State.Job.Attempts}
	var result *kbdocument.Extract
	fault := commands.CatchPanic(func() (err error) {
		result, err = j.run(ctx)
		return err
	})
	return j.finish(ctx, result, fault)
}

// run returns what became of the document; nil when the address has what is searched already.
func (j *job) run(ctx context.Context) (*kbdocument.Extract, error) {
	if err := j.load(ctx); err != nil {
		return nil, err
	}
	revision := j.doc.Revision
	known := j.doc.Extract
	if j.doc.Job.Fetch && known != nil && known.Revision == revision && j.fetched != nil && j.fetched.Hash == j.doc.Content().Hash {
		return nil, nil //nolint:nilnil // nothing has changed
	}
	var text extract.Document
	var err error
	if known != nil && !j.doc.Job.Extract && j.fetched == nil && known.Revision == revision {
		text, err = j.storedText(ctx, known)
	} else {
		text, err = j.Extractor.Extract(ctx, extract.File{
			Name: j.doc.Name, Mimetype: j.mimetype(), Content: j.content, Selector: j.doc.Reading.Selector, MaxText: j.doc.Reading.MaxText,
		})
	}
	if err != nil {
		return nil, err
	}
	return documents.Passages{Blobs: j.Blobs, Now: j.Now}.Divide(ctx, j.base.Settings, j.doc, text)
}

// mimetype is what the sender said that the content is, else what was seen in it.
func (j *job) mimetype() string {
	switch {
	case j.fetched != nil:
		return j.contentType
	case j.doc.Declared != "":
		return j.doc.Declared
	}
	return j.doc.Content().Mimetype
}

// load gets the content of the document: from its address, or from the store.
func (j *job) load(ctx context.Context) (err error) {
	if !j.doc.Job.Fetch {
		j.content, err = j.Blobs.Get(ctx, j.doc.Content().Hash)
		return err
	}
	page, err := j.Fetcher.Fetch(ctx, j.doc.URL)
	if err != nil {
		return err
	}
	name, err := j.Blobs.Put(ctx, page.Content)
	if err != nil {
		return err
	}
	mimetype, _, _ := mime.ParseMediaType(page.ContentType)
	j.content, j.contentType = page.Content, page.ContentType
	j.fetched = &kbdocument.Content{Mimetype: cmp.Or(mimetype, "application/octet-stream"), Size: int64(len(page.Content)), Hash: name}
	return nil
}

// storedText returns the text that was read out of the content before.
func (j *job) storedText(ctx context.Context, known *kbdocument.Extract) (extract.Document, error) {
	text, err := j.Blobs.Get(ctx, known.Text)
	if err != nil {
		return extract.Document{}, err
	}
	body, err := j.Blobs.Get(ctx, known.Chunks)
	if err != nil {
		return extract.Document{}, err
	}
	passages, err := kbdocument.ParsePassages(body)
	return extract.Document{
		Text: string(text), Title: known.Title, Mimetype: known.Mimetype, Tags: known.Tags, Truncated: known.Cut, Warnings: known.Warnings,
		Pages: passages.Pages, Language: known.Stated,
	}, err
}

// recordTimeout limits how long a node that stops records what became of a document.
const recordTimeout = 5 * time.Second

// finish records what became of the attempt. A node that stops gives the attempt back, unless another node may have
// begun the next one.
func (j *job) finish(ctx context.Context, result *kbdocument.Extract, fault error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), streams.ErrLost) {
			return context.Cause(ctx)
		}
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		_, err := j.report(stopping, j.ref, kbdocument.Release{Generation: j.doc.Job.Generation, Attempt: j.attempt})
		return err
	}
	done, err := j.report(ctx, j.ref, j.outcome(result, fault))
	if err == nil && done.Changed && fault == nil && result != nil {
		j.Used(ctx, j.ref.WorkspaceID, activity.Usage{KnowledgeBase: j.base.Slug, Metrics: activity.Increments(map[string]int{activity.DocumentsIndexed: 1})})
	}
	return err
}

// outcome is the command that records what became of the attempt.
func (j *job) outcome(result *kbdocument.Extract, fault error) kbdocument.Command {
	generation := j.doc.Job.Generation
	if fault == nil {
		return kbdocument.Finish{
			Base: j.base.Base, Generation: generation, Attempt: j.attempt, Content: j.fetched, Extract: result, VectorSet: j.base.VectorSet(), Kept: j.Kept(), Now: j.Now(),
		}
	}
	final, busy, again := true, false, time.Duration(0)
	var why kbdocument.Fault
	var unreadable *extract.Error
	var unreachable *site.Fault
	switch {
	case errors.As(fault, &unreadable):
		why = kbdocument.Fault{Reason: unreadable.Reason, Message: unreadable.Message}
	case errors.As(fault, &unreachable):
		final, busy, why, again = unreachable.Again < 0, unreachable.Busy, unreachable.Fault, unreachable.Again
	default:
		j.Log.Warn("an attempt at a document failed", "workspace", j.ref.WorkspaceID, "document", j.ref.ID, "attempt", j.attempt, "err", fault)
		final, why = false, kbdocument.Fault{Reason: "extraction_crashed", Message: "the document could not be processed"}
	}
	if busy { // the site was not asked: that is no failure
		return kbdocument.Postpone{Generation: generation, Attempt: j.attempt, Until: j.Now().Add(max(again, pauses[0]))}
	}
	if !final && j.attempt <= len(pauses) {
		return kbdocument.Postpone{Generation: generation, Attempt: j.attempt, Until: j.Now().Add(max(again, pauses[j.attempt-1]))}
	}
	return kbdocument.Fail{
		Base: j.base.Base, Generation: generation, Attempt: j.attempt, Content: j.fetched, Fault: why, Kept: j.Kept(), Now: j.Now(),
	}
}
