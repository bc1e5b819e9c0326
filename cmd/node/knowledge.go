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
	"svc/commands/secrets"
	"svc/domain/crawl"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/eventstore/jetstream"
	knowledgehandlers "svc/http/api/knowledge"
	"svc/projections"
	"svc/streams/crawler"
	pipeline "svc/streams/knowledge"
	"svc/streams/search"
	"svc/streams/site"
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
	s.recorder, err = knowledge.NewRecorder(knowledge.RecorderOptions{
		Append: n.engine.Record, LogQueries: func() bool { return n.config().Knowledge.LogQueries }, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.work("records of queries", s.recorder.Run)
	s.searcher, err = search.New(search.Options{
		Models: n.models, Index: n.search, Embedder: s.languageModels, Used: s.recorder.Used, Settings: n.baseSettings, Now: time.Now,
	})
	if err != nil {
		return err
	}
	s.reindexes = knowledge.Reindexes{Engine: n.engine, Now: time.Now}
	s.asker, err = knowledge.NewAsker(knowledge.AskOptions{
		Search: s.searcher.Search, Models: s.languageModels, Settings: n.settingsOfBase, Recorder: s.recorder, Now: time.Now,
	})
	if err != nil {
		return err
	}
	if s.crawls, err = n.openCrawls(ctx); err != nil {
		return err
	}
	extractor, err := n.newExtractor()
	if err != nil {
		return err
	}
	s.extractor = extractor
	n.stopWith("extraction", extractor.Close)
	processes, crawls := slices.Contains(c.Core.Roles, "knowledge"), slices.Contains(c.Core.Roles, "crawler")
	fetcher, err := n.newFetcher(ctx)
	if err != nil {
		return err
	}
	if crawls {
		if err := n.startCrawler(ctx, extractor, fetcher); err != nil {
			return err
		}
	}
	if !processes {
		return nil
	}
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
		Fetcher: fetcher, Bases: n.processedBases, Documents: s.documents, Reindexes: s.reindexes, Embedder: s.languageModels, Used: s.recorder.Used,
		Kept: func() int { return n.config().Knowledge.RevisionLimit }, Fresh: n.models.LatestState, Hold: hold, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.workUnderLeases("knowledge", p.Run)
	return nil
}

// settingsOfBase returns the settings of the base with a slug, with defaults.
func (n *Node) settingsOfBase(ctx context.Context, workspaceID, slug string) (*document.Map, bool, error) {
	r := n.models.Reader()
	item, ok, err := projections.Content{}.Get(r, workspaceID, "knowledge/"+slug)
	r.Close()
	if err != nil || !ok {
		return nil, false, err
	}
	settings, err := n.baseSettings(ctx, workspaceID, item)
	return settings, err == nil, err
}

// crawls is what all nodes know of crawls.
type crawls struct {
	commands knowledge.Crawls
	records  *jetstream.Bucket   // of visits
	known    *jetstream.Bucket   // pages since their last visit
	shared   []*jetstream.Bucket // that a crawler shares with those of other nodes: turns at hosts, leases
}

// buckets returns all buckets that the crawler of this node uses.
func (c crawls) buckets() []*jetstream.Bucket {
	return append([]*jetstream.Bucket{c.records, c.known}, c.shared...)
}

func (n *Node) openCrawls(ctx context.Context) (c crawls, err error) {
	c.commands = knowledge.Crawls{Engine: n.engine, Now: time.Now}
	if c.records, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CRAWLS", TTL: crawler.RecordTime}); err != nil {
		return c, err
	}
	c.known, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CRAWL_PAGES", TTL: crawler.KnownTime})
	return c, err
}

// newFetcher returns what loads addresses: for crawls, and for documents of an address.
func (n *Node) newFetcher(ctx context.Context) (*site.Fetcher, error) {
	c := n.config().Crawler
	o := site.Options{
		Client: n.egress.Client(c.RequestTimeout), UserAgent: n.userAgent(), MaxBody: c.MaxBody, PerHost: c.HostConcurrency,
		Delay: func() time.Duration { return n.config().Crawler.DownloadDelay },
	}
	if !n.store.Alone() {
		shared, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CRAWL_HOSTS", TTL: site.HostTime, Volatile: true})
		if err != nil {
			return nil, err
		}
		o.Hosts, n.workspaces.crawls.shared = shared, append(n.workspaces.crawls.shared, shared)
	}
	return site.New(o), nil
}

// startCrawler reads the sites of knowledge bases.
func (n *Node) startCrawler(ctx context.Context, extractor *extract.Extractor, fetcher *site.Fetcher) error {
	s, c := n.workspaces, n.config().Crawler
	const leases = "CRAWLER_LEASES"
	if !n.store.Alone() {
		shared, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: leases})
		if err != nil {
			return err
		}
		s.crawls.shared = append(s.crawls.shared, shared)
	}
	hold, err := n.leases(ctx, leases, n.lease())
	if err != nil {
		return err
	}
	reader, err := crawler.New(crawler.Options{
		Crawls: s.crawls.commands, Documents: s.documents, Models: n.models, Blobs: n.store.Blobs, Extractor: extractor, Fetcher: fetcher,
		Records: s.crawls.records, Known: s.crawls.known, Bases: n.crawledBases, FindSettings: n.findSettings, Resolve: secrets.Secrets{Values: s.secrets}.Resolve, Used: s.recorder.Used,
		Settings: func() crawler.Settings {
			c := n.config().Crawler
			return crawler.Settings{MaxText: c.MaxContentLen, MaxPages: c.MaxPages}
		},
		Zone:     func() *time.Location { return n.config().Runtime.SchedulesTimezone },
		Requests: c.PollingSize, Interval: c.PollingInterval, Fresh: n.models.LatestState, Hold: hold, Log: n.log,
	})
	if err != nil {
		return err
	}
	n.workUnderLeases("crawler", reader.Run)
	return nil
}

// findDeletedBase returns the id of the knowledge base that was deleted at a slug, while its documents are kept.
func (n *Node) findDeletedBase(ctx context.Context, workspaceID, slug string) (string, error) {
	if err := n.models.LatestState(ctx); err != nil {
		return "", err
	}
	rd := n.models.Reader()
	defer rd.Close()
	deleted, ok, err := projections.Content{}.LastDeletedBase(rd, workspaceID, slug)
	if err != nil || !ok || time.Since(deleted.At) >= n.config().Events.DeletionDelay {
		return "", err
	}
	return deleted.ID, nil
}

// crawledBases returns the knowledge bases of a workspace; none of one that was deleted: its sites are not read.
func (n *Node) crawledBases(ctx context.Context, workspaceID string) (bases []crawler.Base, err error) {
	if deleted, err := n.models.IsWorkspaceDeleted(workspaceID); err != nil || deleted {
		return nil, err
	}
	err = n.workspaces.library.KnowledgeBases(ctx, workspaceID, func(id, slug string, settings *document.Map) bool {
		bases = append(bases, crawler.Base{Base: kbdocument.Base{ID: id, Slug: slug}, Settings: settings})
		return true
	})
	return bases, err
}

// findSource returns a source of a knowledge base.
func (n *Node) findSource(ctx context.Context, workspaceID, baseID, sourceID string) (crawl.Source, bool, error) {
	_, doc, ok, err := n.workspaces.library.KnowledgeBase(ctx, workspaceID, baseID)
	if err != nil || !ok {
		return crawl.Source{}, false, err
	}
	source, ok := crawl.Sources(doc)[sourceID]
	return source, ok, nil
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
	return pipeline.Base{Base: kbdocument.Base{ID: baseID, Slug: slug}, Settings: chunks.ReadSettings(doc)}, true, nil
}

// findSettings returns what the documents of a base are processed by.
func (n *Node) findSettings(ctx context.Context, workspaceID, baseID string) (chunks.Settings, bool, error) {
	base, ok, err := n.findBase(ctx, workspaceID, baseID)
	return base.Settings, ok, err
}

// processedBases returns the knowledge bases of a workspace; none of one that was deleted.
func (n *Node) processedBases(ctx context.Context, workspaceID string) (bases []pipeline.Base, err error) {
	if deleted, err := n.models.IsWorkspaceDeleted(workspaceID); err != nil || deleted {
		return nil, err
	}
	err = n.workspaces.library.KnowledgeBases(ctx, workspaceID, func(id, slug string, settings *document.Map) bool {
		bases = append(bases, pipeline.Base{Base: kbdocument.Base{ID: id, Slug: slug}, Settings: chunks.ReadSettings(settings)})
		return true
	})
	return bases, err
}

// baseSettings returns the settings of a base, with defaults.
func (n *Node) baseSettings(ctx context.Context, workspaceID string, item projections.Item) (*document.Map, error) {
	doc, err := n.workspaces.library.Document(ctx, workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
	if err != nil {
		return nil, err
	}
	return document.Knowledge.Complete(doc), nil
}

// knowledgeHandlers returns the handlers of documents of knowledge bases.
func (n *Node) knowledgeHandlers() *knowledgehandlers.Handlers {
	return &knowledgehandlers.Handlers{
		ReadModel: n.models, Documents: n.workspaces.documents, Search: n.workspaces.searcher.Search, Searched: n.workspaces.recorder.Searched,
		Ask: n.workspaces.asker.Ask, Files: n.workspaces.files, Contents: n.store.Blobs,
		Reindexes: n.workspaces.reindexes, Crawls: n.workspaces.crawls.commands, Records: n.workspaces.crawls.records, Known: n.workspaces.crawls.known, Source: n.findSource,
		Dir: filepath.Join(n.config().Core.DataDir, "uploads"), Now: time.Now,
	}
}
