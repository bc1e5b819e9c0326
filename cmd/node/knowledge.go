package node

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"svc/commands/content"
	"svc/commands/extract"
	"svc/commands/knowledge"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	knowledgehandlers "svc/http/api/knowledge"
	"svc/projections"
	pipeline "svc/streams/knowledge"
	"svc/streams/search"
)

// openKnowledge opens the documents of knowledge bases, and processes them on a node with the role.
func (n *Node) openKnowledge(ctx context.Context) (err error) {
	s, c := n.workspaces, n.config()
	s.documents, err = knowledge.New(knowledge.Options{
		Engine: n.engine, Blobs: n.store.Blobs, CheckType: s.files.CheckType, Count: s.library.CountDocuments, Now: time.Now,
		Settings: func() knowledge.Settings {
			k := n.config().Knowledge
			return knowledge.Settings{MaxDocuments: k.MaxDocuments, Kept: k.RevisionLimit}
		},
	})
	if err != nil {
		return err
	}
	s.searcher, err = search.New(search.Options{Models: n.models, Index: n.search, Settings: n.baseSettings, Now: time.Now})
	if err != nil || !slices.Contains(c.Core.Roles, "knowledge") {
		return err
	}
	extractor, err := n.newExtractor()
	if err != nil {
		return err
	}
	n.stopWith("extraction", extractor.Close)
	hold, err := n.leases(ctx, "KNOWLEDGE_LEASES", n.lease())
	if err != nil {
		return err
	}
	workers := c.Knowledge.Workers
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	p, err := pipeline.New(pipeline.Options{
		Engine: n.engine, Models: n.models, Blobs: n.store.Blobs, Extractor: extractor, FindBase: n.findBase, Workers: workers,
		Fetcher: pipeline.SiteFetcher{Client: n.egress.Client(c.Crawler.RequestTimeout), UserAgent: n.userAgent(), MaxBody: c.Crawler.MaxBody},
		Kept:    func() int { return n.config().Knowledge.RevisionLimit }, Fresh: n.models.LatestState, Hold: hold, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.workUnderLeases("knowledge", p.Run)
	return nil
}

// newExtractor returns what reads texts out of files, in children of this program.
func (n *Node) newExtractor() (*extract.Extractor, error) {
	k := n.config().Knowledge
	o := extract.Options{Timeout: k.ExtractTimeout, MemoryMB: int(k.ExtractMemory >> 20), MaxText: k.MaxText}
	if len(n.opts.Extract) > 0 {
		o.Executable, o.Args = n.opts.Extract[0], n.opts.Extract[1:]
		return extract.New(o)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o.Executable = self
	return extract.New(o)
}

// userAgent is what the service calls itself when it loads an address of a document.
func (n *Node) userAgent() string {
	if agent := n.config().Crawler.UserAgent; agent != "" {
		return agent
	}
	return "svc-crawler/1 (+" + n.config().HTTP.Origin() + ")"
}

// findBase returns the settings of a base.
func (n *Node) findBase(ctx context.Context, workspaceID, baseID string) (pipeline.Base, bool, error) {
	slug, doc, ok, err := n.workspaces.library.KnowledgeBase(ctx, workspaceID, baseID)
	if err != nil || !ok {
		return pipeline.Base{}, false, err
	}
	doc = document.Knowledge.Complete(doc)
	base := pipeline.Base{Base: kbdocument.Base{ID: baseID, Slug: slug}, Language: doc.Text("language")}
	if settings, ok := doc.Get("chunking"); ok {
		base.Chunking = toChunking(settings)
	}
	return base, true, nil
}

// baseSettings returns the settings of a base, with defaults.
func (n *Node) baseSettings(ctx context.Context, workspaceID string, item projections.Item) (*document.Map, error) {
	doc, err := n.workspaces.library.Document(ctx, workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
	if err != nil {
		return nil, err
	}
	return document.Knowledge.Complete(doc), nil
}

// toChunking reads how a base divides texts.
func toChunking(settings any) (c chunks.Chunking) {
	m, ok := settings.(*document.Map)
	if !ok {
		return c
	}
	number := func(name string) int {
		v, _ := m.Get(name)
		f, _ := v.(float64)
		return int(f)
	}
	return chunks.Chunking{Fixed: m.Text("strategy") == "fixed", Size: number("size"), Overlap: number("overlap")}
}

// knowledgeHandlers returns the handlers of documents of knowledge bases.
func (n *Node) knowledgeHandlers() *knowledgehandlers.Handlers {
	return &knowledgehandlers.Handlers{
		ReadModel: n.models, Documents: n.workspaces.documents, Search: n.workspaces.searcher.Search, Files: n.workspaces.files, Contents: n.store.Blobs,
		Dir: filepath.Join(n.config().Core.DataDir, "uploads"), Now: time.Now,
	}
}
