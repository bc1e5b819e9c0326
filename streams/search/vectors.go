package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"svc/commands/knowledge"
	"svc/commands/llm"
	"svc/domain"
	"svc/domain/activity"
	chunks "svc/domain/knowledge"
	"svc/projections/fulltext"
	"svc/projections/vectors"
)

// Embedder turns texts into vectors. It is an *llm.Models.
type Embedder interface {
	Embed(ctx context.Context, r llm.EmbedRequest) (llm.Embeddings, error)
}

// Bounds of the lists that a search by meaning ranks.
const (
	minCandidates = 100
	maxCandidates = 1000
	rankConstant  = 60              // of reciprocal rank fusion
	embedTimeout  = 5 * time.Second // of the model: what is left is for the search
)

// chooseMode chooses between words and meaning. A base searches by meaning with the vectors that are complete; while its
// first ones are made, with those that there are, if the request asks for it.
func (x *query) chooseMode(mode string) error {
	if x.mode = knowledge.ModeText; x.parsed.All {
		return nil
	}
	asked := mode
	if asked == "" && len(x.bases) == 1 {
		asked = x.bases[0].defaultMode
	}
	hasModel := slices.ContainsFunc(x.bases, func(b searchedBase) bool { return b.vectorSet != "" })
	isReady := slices.ContainsFunc(x.bases, func(b searchedBase) bool { return b.vectorSet != "" && b.isComplete })
	switch asked {
	case knowledge.ModeVector, knowledge.ModeHybrid:
		if hasModel {
			x.mode = asked
		} else if mode != "" {
			return domain.Refuse(domain.CodeValidation, "the knowledge base has no embedding model").Reason("no_embedding")
		}
	case knowledge.ModeText:
	default:
		if x.isAuto = true; isReady {
			x.mode = knowledge.ModeHybrid
		}
	}
	return nil
}

// setWeights reads how much the lists of a hybrid search count.
func (x *query) setWeights() error {
	x.textWeight, x.vectorWeight = 1, 1
	if len(x.bases) == 1 {
		x.textWeight, x.vectorWeight = x.bases[0].textWeight, x.bases[0].vectorWeight
	}
	if x.in.Weights == nil {
		return nil
	}
	for _, w := range []struct {
		name  string
		given *float64
		into  *float64
	}{{"weights.text", x.in.Weights.Text, &x.textWeight}, {"weights.vector", x.in.Weights.Vector, &x.vectorWeight}} {
		if w.given == nil {
			continue
		}
		if *w.into = *w.given; *w.given < 0 || *w.given > maxWeight || math.IsNaN(*w.given) {
			return invalid(w.name, "must be 0 to 100")
		}
	}
	return nil
}

const maxWeight = 100

// embedQuery turns the query into a vector of each set that the bases have. When the model fails, a search that can do
// without it is one by words.
func (x *query) embedQuery(ctx context.Context) error {
	x.vectors = map[string][]float32{}
	embedding, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	for _, b := range x.bases {
		if b.vectorSet == "" || x.vectors[b.vectorSet] != nil || x.isAuto && !b.isComplete {
			continue
		}
		model := chunks.ParseVectorSet(b.vectorSet)
		made, err := x.o.Embedder.Embed(embedding, llm.EmbedRequest{WorkspaceID: x.in.WorkspaceID, Model: model.Model, Dimensions: model.Dimensions, Texts: []string{x.in.Query}})
		x.o.Used(ctx, x.in.WorkspaceID, activity.Usage{KnowledgeBase: b.slug, Model: made.Model, Metrics: activity.Increments(map[string]int{activity.EmbeddingTokens: made.Tokens})})
		switch {
		case err == nil:
			x.vectors[b.vectorSet] = vectors.Normalise(made.Vectors[0])
			continue
		case ctx.Err() != nil:
			return err
		case x.mode == knowledge.ModeHybrid:
			x.mode, x.warnings = knowledge.ModeText, append(x.warnings, "embedding_unavailable")
			return nil
		case domain.CodeOf(err) == domain.CodeInternal || embedding.Err() != nil:
			return domain.Refuse(domain.CodeUnavailable, "the model that turns the query into a vector did not answer").Reason("model_unavailable")
		}
		return err
	}
	return nil
}

// passage is a passage that was found by its words, its meaning, or both.
type passage struct {
	base   int // index of its base
	id     string
	n      int
	text   *fulltext.Hit // nil: not found by its words
	vector *float64      // similarity; nil: not found by its meaning

	textRank int
	score    float64
}

type passageKey struct {
	base int
	id   string
	n    int
}

// runVectors searches by meaning, and in a hybrid search by words as well: the best passages of both lists are ranked by
// their places in them.
func (x *query) runVectors(ctx context.Context) error {
	limit := min(maxCandidates, max(minCandidates, 5*(x.page+1)*x.limit))
	if x.mode == knowledge.ModeVector {
		limit = max(maxCandidates, 5*(x.page+1)*x.limit)
	}
	found := map[passageKey]*passage{}
	get := func(base int, id string, n int) *passage {
		key := passageKey{base, id, n}
		if found[key] == nil {
			found[key] = &passage{base: base, id: id, n: n, textRank: math.MaxInt}
		}
		return found[key]
	}
	matchers := make([]*matcher, len(x.bases))
	for i, b := range x.bases {
		m, err := x.newMatcher(ctx, b)
		if err != nil {
			return err
		}
		defer m.close()
		m.known = map[string]bool{}
		matchers[i] = m
	}
	if x.mode == knowledge.ModeHybrid {
		list, err := x.textList(ctx, matchers, limit)
		if err != nil {
			return err
		}
		for i, t := range list {
			p := get(t.base, t.hit.ID, t.hit.Passages[0].N)
			p.text, p.textRank = &t.hit, i+1
			p.score += x.textWeight / float64(rankConstant+i+1)
		}
	}
	list, err := x.vectorList(ctx, matchers, limit)
	if err != nil {
		return err
	}
	for i, v := range list {
		p := get(v.base, v.ID, v.N)
		similarity := v.Similarity
		if p.vector = &similarity; x.mode == knowledge.ModeVector {
			p.score = similarity
		} else {
			p.score += x.vectorWeight / float64(rankConstant+i+1)
		}
	}
	for _, m := range matchers {
		for _, counts := range m.known {
			if counts {
				x.total++
			}
		}
	}
	ranked := make([]*passage, 0, len(found))
	for _, p := range found {
		ranked = append(ranked, p)
	}
	places := map[passageKey]int{}
	for i, v := range list {
		places[passageKey{v.base, v.ID, v.N}] = i
	}
	slices.SortFunc(ranked, func(a, b *passage) int {
		order := cmp.Compare(b.score, a.score)
		if x.mode == knowledge.ModeVector { // lists of several models are merged by rank
			order = cmp.Compare(places[passageKey{a.base, a.id, a.n}], places[passageKey{b.base, b.id, b.n}])
		}
		return cmp.Or(order, cmp.Compare(a.textRank, b.textRank), cmp.Compare(a.id, b.id), cmp.Compare(a.n, b.n), cmp.Compare(a.base, b.base))
	})
	return x.addRanked(matchers, ranked)
}

// textHit is a passage that was found by its words.
type textHit struct {
	base int
	hit  fulltext.Hit
}

// textList returns the best passages by their words. The lists of several bases are merged by score.
func (x *query) textList(ctx context.Context, matchers []*matcher, limit int) (list []textHit, err error) {
	for i, m := range matchers {
		q := x.textQuery(m.base)
		q.Limit, q.ByChunk, q.Match = limit, true, m.match
		result, err := x.o.Index.Search(ctx, x.in.WorkspaceID, m.base.id, q)
		if err != nil {
			return nil, err
		}
		for _, h := range result.Hits {
			list = append(list, textHit{i, h})
		}
	}
	slices.SortStableFunc(list, func(a, b textHit) int {
		return cmp.Or(cmp.Compare(b.hit.Score, a.hit.Score), cmp.Compare(a.hit.ID, b.hit.ID), cmp.Compare(a.hit.Passages[0].N, b.hit.Passages[0].N))
	})
	return list[:min(limit, len(list))], nil
}

// vectorHit is a passage that was found by its meaning.
type vectorHit struct {
	base int
	vectors.Hit
	rank int // in the list of its model
}

// vectorList returns the best passages by their meaning. The lists of bases with one model are merged by similarity, those
// of different models by rank.
func (x *query) vectorList(ctx context.Context, matchers []*matcher, limit int) (list []vectorHit, err error) {
	bySet := map[string][]vectorHit{}
	for i, m := range matchers {
		vector := x.vectors[m.base.vectorSet]
		if vector == nil {
			continue
		}
		if !m.base.isComplete {
			x.warn("vectors_incomplete")
		}
		least := m.base.minSimilarity
		if x.in.MinSimilarity != nil {
			least = *x.in.MinSimilarity
		}
		q := vectors.Query{Vector: vector, Match: m.match, Least: least, Limit: limit}
		if x.parsed.Binds() { // +words and -words hold for passages that are found by their meaning, too
			if q.MatchPassage, err = x.o.Index.Bound(ctx, x.in.WorkspaceID, m.base.id, x.textQuery(m.base)); err != nil {
				return nil, err
			}
		}
		near, err := x.o.Index.Nearest(ctx, x.in.WorkspaceID, m.base.id, m.base.vectorSet, q)
		if err != nil {
			return nil, err
		}
		if near.OnDisk {
			x.warn("vectors_on_disk")
		}
		if near.Unlike {
			x.warn(llm.WrongDimensions)
		}
		for _, h := range near.Hits {
			bySet[m.base.vectorSet] = append(bySet[m.base.vectorSet], vectorHit{base: i, Hit: h})
		}
	}
	for _, part := range bySet {
		slices.SortFunc(part, func(a, b vectorHit) int {
			return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID), cmp.Compare(a.N, b.N))
		})
		for i := range part {
			part[i].rank = i
		}
		list = append(list, part...)
	}
	slices.SortFunc(list, func(a, b vectorHit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.base, b.base), cmp.Compare(a.ID, b.ID), cmp.Compare(a.N, b.N))
	})
	return list[:min(limit, len(list))], nil
}

// warn adds a warning to the answer, once.
func (x *query) warn(warning string) {
	if !slices.Contains(x.warnings, warning) {
		x.warnings = append(x.warnings, warning)
	}
}

// addRanked adds the page of results that was asked for.
func (x *query) addRanked(matchers []*matcher, ranked []*passage) error {
	var groups [][]*passage
	at := map[passageKey]int{} // of the group of a document
	for _, p := range ranked {
		key := passageKey{base: p.base, id: p.id}
		i, known := at[key]
		switch {
		case x.byChunk || !known:
			at[key] = len(groups)
			groups = append(groups, []*passage{p})
		case len(groups[i]) < x.passages:
			groups[i] = append(groups[i], p)
		}
	}
	from := min(x.page*x.limit, len(groups))
	for _, group := range groups[from:min(from+x.limit, len(groups))] {
		best := group[0]
		f := found{base: x.bases[best.base], Hit: fulltext.Hit{ID: best.id, Score: best.score}}
		for _, p := range group {
			shown, ok, err := x.readPassage(p)
			if err != nil {
				return err
			}
			if !ok {
				continue // it was replaced meanwhile
			}
			f.Passages = append(f.Passages, shown)
			if p.text != nil {
				f.TitleHTML = cmp.Or(f.TitleHTML, p.text.TitleHTML)
			}
		}
		d, ok, err := matchers[best.base].get(best.id)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		result, err := x.toResult(f, d)
		if err != nil {
			return err
		}
		result.Scores = knowledge.Scores{Vector: best.vector}
		if best.text != nil {
			result.Scores.Text = &best.text.Score
		}
		x.results = append(x.results, result)
	}
	return nil
}

// readPassage returns what is shown of a passage.
func (x *query) readPassage(p *passage) (shown fulltext.Passage, ok bool, err error) {
	if p.text != nil {
		shown = p.text.Passages[0]
		shown.Score = p.score
		return shown, true, nil
	}
	list, _, err := x.o.Index.Chunks(x.in.WorkspaceID, x.bases[p.base].id, p.id, p.n, 1)
	if err != nil || len(list) == 0 {
		return shown, false, err
	}
	return fulltext.Passage{Chunk: list[0], Score: p.score}, true, nil
}
