package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"svc/commands/llm"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/kbdocument"
	"svc/projections"
)

// Embedder turns texts into vectors. It is an *llm.Models.
type Embedder interface {
	Embed(ctx context.Context, r llm.EmbedRequest) (llm.Embeddings, error)
}

// embedPause is how long a document waits for a model that has failed again and again.
const embedPause = time.Hour

// embed has a model make the vectors of a document. An error says that nothing could be recorded: it is tried again
// later.
func (p *partition) embed(ctx context.Context, ref projections.KBDocumentRef) error {
	r := p.Models.Reader()
	d, ok, err := projections.KBDocuments{}.ByID(r, ref.WorkspaceID, ref.ID)
	r.Close()
	if err != nil || !ok || d.Embedding == nil || d.Extract == nil {
		return err
	}
	base, ok, err := p.FindBase(ctx, ref.WorkspaceID, d.BaseID)
	if err != nil {
		return err
	}
	if !ok {
		return errNoBase
	}
	if set := base.VectorSet(); set != d.Embedding.Set {
		_, err := p.report(ctx, ref, kbdocument.Embed{Set: set})
		return err
	}
	made := kbdocument.Vectors{Set: d.Embedding.Set, Chunks: d.Extract.Chunks, At: p.Now().UTC().Truncate(time.Millisecond)}
	made.Blob, err = p.makeVectors(ctx, ref, base, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var cmd kbdocument.Command = kbdocument.PutVectors{Vectors: made}
	if err != nil {
		cmd = p.embeddingFailed(ref, made, d.Embedding.Attempts, err)
	}
	_, err = p.report(ctx, ref, cmd)
	return err
}

// embeddingFailed is the command that records why there are no vectors. Faults of the text or of the settings of the base
// stay; others may pass.
func (p *partition) embeddingFailed(ref projections.KBDocumentRef, made kbdocument.Vectors, attempts int, fault error) kbdocument.Command {
	p.Log.Warn("a model could not make the vectors of a document", "workspace", ref.WorkspaceID, "document", ref.ID, "attempt", attempts+1, "err", fault)
	pause := embedPause
	if attempts < len(pauses) {
		pause = pauses[attempts]
	}
	if refusal, ok := errors.AsType[*domain.Error](fault); ok {
		reason, _ := refusal.Details["reason"].(string)
		if reason == llm.WrongDimensions || reason == "context_too_long" {
			made.Fault = &kbdocument.Fault{Reason: reason, Message: refusal.Message}
			return kbdocument.PutVectors{Vectors: made}
		}
		if seconds, ok := refusal.Details["retryAfter"].(int); ok {
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
	}
	return kbdocument.PostponeVectors{Set: made.Set, Until: p.Now().Add(pause)}
}

// makeVectors makes the vectors of the passages of a document, and returns their blob. A passage that it has had before
// has the vector that it had then.
func (p *partition) makeVectors(ctx context.Context, ref projections.KBDocumentRef, base Base, d projections.KBDocument) (blob string, err error) {
	body, err := p.Blobs.Get(ctx, d.Extract.Chunks)
	if err != nil {
		return "", err
	}
	passages, err := kbdocument.ParsePassages(body)
	if err != nil {
		return "", err
	}
	known, err := p.knownVectors(ctx, d)
	if err != nil {
		return "", err
	}
	all := kbdocument.StoredVectors{Hashes: make([][sha256.Size]byte, len(passages.Chunks))}
	var texts []string
	var missing [][sha256.Size]byte
	for i, c := range passages.Chunks {
		h := kbdocument.PassageHash(c)
		all.Hashes[i] = h
		if _, ok := known[h]; !ok {
			known[h] = nil
			texts, missing = append(texts, kbdocument.EmbeddedText(d.ShownTitle(), c)), append(missing, h)
		}
	}
	if len(texts) > 0 {
		made, err := p.Embedder.Embed(ctx, llm.EmbedRequest{WorkspaceID: ref.WorkspaceID, Model: base.Model, Dimensions: base.Dimensions, Texts: texts})
		p.Used(ctx, ref.WorkspaceID, activity.Usage{KnowledgeBase: base.Slug, Model: made.Model, Metrics: activity.Increments(map[string]int{activity.EmbeddingTokens: made.Tokens})})
		if err != nil {
			return "", err
		}
		for i, h := range missing {
			known[h] = made.Vectors[i]
		}
	}
	for _, h := range all.Hashes {
		v := known[h]
		if all.Dimensions == 0 {
			all.Dimensions = len(v)
		}
		if len(v) != all.Dimensions {
			return "", domain.Refuse(domain.CodeUpstream, "the model %s makes vectors of %d dimensions now, not of %d", base.Model, len(v), all.Dimensions).Reason(llm.WrongDimensions)
		}
		all.Values = append(all.Values, v...)
	}
	return p.Blobs.Put(ctx, all.Encode())
}

// knownVectors returns the vectors that a document has had of the same model, by the hash of the passage.
func (p *partition) knownVectors(ctx context.Context, d projections.KBDocument) (map[[sha256.Size]byte][]float32, error) {
	known := map[[sha256.Size]byte][]float32{}
	for _, v := range d.State.Vectors {
		if v.Set != d.Embedding.Set || v.Blob == "" {
			continue
		}
		body, err := p.Blobs.Get(ctx, v.Blob)
		if err != nil {
			return nil, err
		}
		stored, err := kbdocument.ParseVectors(body)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", d.ID, err)
		}
		for i, h := range stored.Hashes {
			known[h] = stored.Vector(i)
		}
	}
	return known, nil
}
