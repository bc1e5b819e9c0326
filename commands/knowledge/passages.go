package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"svc/commands/extract"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
)

// Passages divides texts into passages, and stores both.
type Passages struct {
	Blobs interface {
		Put(ctx context.Context, content []byte) (name string, err error)
	}
	Now func() time.Time
}

// Divide divides the text of a document as its base says, and returns where the text and the passages are.
func (p Passages) Divide(ctx context.Context, s knowledge.Settings, d kbdocument.State, text extract.Document) (*kbdocument.Extract, error) {
	language := text.Language
	if language == "" {
		language = knowledge.DetectLanguage(text.Text, s.Language)
	}
	spoken := language
	if d.Language != "" {
		spoken = d.Language
	}
	list, cut := s.Chunking.Divide(text.Text, spoken, text.Pages)
	body, err := json.Marshal(kbdocument.Passages{Pages: text.Pages, Chunks: list})
	if err != nil {
		return nil, err
	}
	e := &kbdocument.Extract{
		Revision: d.Revision, Size: int64(len(text.Text)), Count: len(list), Characters: utf8.RuneCountInString(text.Text), Title: text.Title,
		Language: language, Stated: text.Language, Mimetype: text.Mimetype, Tags: text.Tags, Cut: text.Truncated, Truncated: text.Truncated || cut, Warnings: text.Warnings,
		Division: s.Division(), At: p.Now().UTC().Truncate(time.Millisecond),
	}
	var storing errgroup.Group // both at once: each waits for the disk
	storing.Go(func() (err error) {
		e.Text, err = p.Blobs.Put(ctx, []byte(text.Text))
		return err
	})
	e.Chunks, err = p.Blobs.Put(ctx, body)
	if err := cmp.Or(storing.Wait(), err); err != nil {
		return nil, err
	}
	return e, nil
}
