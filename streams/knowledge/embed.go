package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"svc/commands"
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
	vectors, err := p.makeVectors(ctx, ref, base, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		_, err = p.report(ctx, ref, p.embeddingFailed(ref, made, d.Embedding.Attempts, err))
		return err
	}
	return p.putVectors(ctx, ref, base, d, made, vectors)
}

// putVectors stores the vectors of a document and records them. All vectors of a set have the length of its first ones,
// which are recorded before others are compared with them: a provider may put another model behind a name.
func (p *partition) putVectors(ctx context.Context, ref projections.KBDocumentRef, base Base, d projections.KBDocument, made kbdocument.Vectors, vectors kbdocument.StoredVectors) error {
	length, err := p.vectorDimensions(ref, d)
	if err == nil && length == 0 {
		p.firstVectors.Lock()
		defer p.firstVectors.Unlock()
		length, err = p.vectorDimensions(ref, d)
	}
	if err != nil {
		return err
	}
	if length > 0 && vectors.Dimensions > 0 && vectors.Dimensions != length {
		fault := domain.Refuse(domain.CodeUpstream, "the model %s makes vectors of %d dimensions now, and those of the base have %d: change embedding of the base to another model, or name the dimensions",
			base.Model, vectors.Dimensions, length).Reason(llm.WrongDimensions)
		_, err = p.report(ctx, ref, p.embeddingFailed(ref, made, d.Embedding.Attempts, fault))
		return err
	}
	if made.Blob, err = p.Blobs.Put(ctx, vectors.Encode()); err != nil {
		return err
	}
	made.Dimensions = vectors.Dimensions
	_, err = p.report(ctx, ref, kbdocument.PutVectors{Vectors: made})
	return err
}

// vectorDimensions returns the length of the vectors that the base of a document has; 0: it has none.
func (p *partition) vectorDimensions(ref projections.KBDocumentRef, d projections.KBDocument) (int, error) {
	r := p.Models.Reader()
	defer r.Close()
	return projections.KBDocuments{}.VectorDimensions(r, ref.WorkspaceID, d.BaseID, d.Embedding.Set)
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

// retryVectors has models try again at once what they have failed with, when the language models of a workspace have
// changed. Changes before this node had the partition do not count: those documents are tried again within the hour.
func (p *partition) retryVectors(ctx context.Context, r projections.Reader, workspaceID string, isKnown bool) error {
	at, err := projections.KBSources{}.ModelsChanged(r, workspaceID)
	if err != nil || at == p.modelsAt[workspaceID] {
		return err
	}
	p.modelsAt[workspaceID] = at
	if isKnown {
		return nil
	}
	ids, err := projections.KBDocuments{}.Postponed(r, workspaceID, p.Now())
	if err != nil || len(ids) == 0 {
		return err
	}
	p.workers.Go(func() {
		for _, id := range ids {
			if err := p.retryDocument(ctx, projections.KBDocumentRef{WorkspaceID: workspaceID, ID: id}); err != nil {
				if ctx.Err() == nil {
					p.Log.WarnContext(ctx, "documents that wait for a model are tried again later", "workspace", workspaceID, "err", err)
				}
				return
			}
		}
	})
	return nil
}

func (p *partition) retryDocument(ctx context.Context, ref projections.KBDocumentRef) error {
	r := p.Models.Reader()
	d, ok, err := projections.KBDocuments{}.ByID(r, ref.WorkspaceID, ref.ID)
	r.Close()
	if err != nil || !ok || d.Embedding == nil {
		return err
	}
	_, err = commands.Execute(ctx, p.Engine, kbdocument.Decider, kbdocument.Stream(ref.WorkspaceID, ref.ID), kbdocument.Command(kbdocument.Embed{Set: d.Embedding.Set, Again: true}))
	return err
}

// makeVectors makes the vectors of the passages of a document. A passage that it has had before has the vector that it
// had then.
func (p *partition) makeVectors(ctx context.Context, ref projections.KBDocumentRef, base Base, d projections.KBDocument) (all kbdocument.StoredVectors, err error) {
	body, err := p.Blobs.Get(ctx, d.Extract.Chunks)
	if err != nil {
		return all, err
	}
	passages, err := kbdocument.ParsePassages(body)
	if err != nil {
		return all, err
	}
	known, err := p.knownVectors(ctx, d)
	if err != nil {
		return all, err
	}
	all = kbdocument.StoredVectors{Hashes: make([][sha256.Size]byte, len(passages.Chunks))}
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
			return all, err
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
			return all, domain.Refuse(domain.CodeUpstream, "the model %s makes vectors of another length now: passages of the document have %d and %d dimensions", base.Model, len(v), all.Dimensions).
				Reason(llm.WrongDimensions)
		}
		all.Values = append(all.Values, v...)
	}
	return all, nil
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
