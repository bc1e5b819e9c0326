package node

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
	"svc/projections"
)

func (n *Node) openLog(ctx context.Context) error {
	o, err := storeOptions(*n.config(), n.log)
	if err != nil {
		return err
	}
	o.MinFree = func() int64 { return n.config().Core.DiskMinFree }
	o.Metrics = n.registry
	n.store, err = jetstream.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	n.closeWith("log", func(ctx context.Context) error {
		// The earlier steps may have used up the time, as in a cluster without a majority.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return n.store.Close(ctx)
	})
	return nil
}

// storeOptions turns settings into those of the log.
func storeOptions(c settings.Config, log *slog.Logger) (jetstream.Options, error) {
	b := c.Broker
	o := jetstream.Options{
		Events: catalog.Events(), Name: c.Core.NodeName, Replicas: b.StreamReplicas, MaxWait: b.PublishTimeout, Log: log,
		Sync: jetstream.Sync(b.Sync), MaxSize: b.MaxStore,
	}
	var err error
	if !b.Embedded {
		for _, u := range b.URLs {
			o.URL = append(o.URL, u.Reveal())
		}
		o.CredsFile = b.CredsFile.Reveal()
		if err := process.CheckReadable(o.CredsFile); err != nil {
			return o, fmt.Errorf("NATS_CREDS: the credentials file cannot be read: %w", err)
		}
		o.TLS, err = process.ClientTLS("NATS_TLS", b.TLSCA, b.TLSCert, b.TLSKey)
		return o, err
	}
	o.Dir = filepath.Join(c.Core.DataDir, "log")
	if b.ClusterListen == "" {
		return o, nil
	}
	o.Cluster = jetstream.Cluster{Name: b.ClusterName, Listen: b.ClusterListen, Secret: clusterSecret(c)}
	for _, r := range b.ClusterRoutes {
		u, err := url.Parse(r.Reveal())
		if err != nil {
			return o, fmt.Errorf("NATS_CLUSTER_ROUTES: %w", err)
		}
		o.Cluster.Routes = append(o.Cluster.Routes, u)
	}
	o.Cluster.TLS, err = process.ClientTLS("NATS_CLUSTER_TLS", b.ClusterTLSCA, b.ClusterTLSCert, b.ClusterTLSKey)
	if o.Cluster.TLS != nil {
		o.Cluster.TLS.ClientCAs, o.Cluster.TLS.ClientAuth = o.Cluster.TLS.RootCAs, tls.RequireAndVerifyClientCert
	}
	return o, err
}

// clusterSecret authenticates the nodes of a cluster to each other: all of them have the
// internal key.
func clusterSecret(c settings.Config) string {
	mac := hmac.New(sha256.New, []byte(c.Core.InternalAPIKey.Reveal()))
	mac.Write([]byte("svc cluster routes"))
	return hex.EncodeToString(mac.Sum(nil))
}

// openStores opens the stores of the node before other parts use memory: Go clears memory that was used before, and a
// memtable has 20 MB of it, which take no memory of the machine until something is written there.
func (n *Node) openStores(context.Context) (err error) {
	if n.automations.rows, err = n.openDB("rows"); err != nil {
		return fmt.Errorf("open the rows of collections: %w", err)
	}
	n.closeWith("rows of collections", func(context.Context) error { return n.automations.rows.Close() })
	return n.openReadModelStore()
}

func (n *Node) openReadModelStore() (err error) {
	if n.db, err = n.openDB("readmodels"); err != nil {
		return fmt.Errorf("open the read models: %w", err)
	}
	n.closeWith("store of the read models", func(context.Context) error { return n.db.Close() })
	return nil
}

func (n *Node) openReadModels(context.Context) (err error) {
	o := projections.Options{DB: n.db, Store: n.store.Log, Known: n.store.Log.Known, Refresh: n.store.Log.Refresh, Damage: n.store.Damage, Log: n.log}
	if n.registry != nil {
		o.Metrics = n.registry
	}
	if n.models, err = projections.New(o); err != nil {
		return fmt.Errorf("open the read models: %w", err)
	}
	n.work("pace of collections", process.PaceCollections) // a build of the read models makes more garbage than all that comes after it
	n.work("read models", n.models.Run)
	return nil
}

// openSearchIndex opens the search index, whose store is opened when a knowledge base has documents.
func (n *Node) openSearchIndex(context.Context) (err error) {
	n.search, err = projections.NewSearchIndex(projections.SearchIndexOptions{
		Models: n.models, Open: func() (*projections.DB, error) { return n.openDB("search") }, Log: n.log, VectorsMemory: n.config().Knowledge.VectorsMemory,
		Passages: func(ctx context.Context, hash string) ([]byte, error) {
			body, err := n.store.Blobs.Get(ctx, hash)
			if errors.Is(err, jetstream.ErrNoBlob) {
				err = errors.Join(projections.ErrNoPassages, err)
			}
			return body, err
		},
	})
	if err != nil {
		return err
	}
	n.closeWith("search index", func(context.Context) error { return n.search.Close() })
	n.work("search index", n.search.Run)
	return nil
}

// openDB opens a Badger store in a folder of the data directory.
func (n *Node) openDB(folder string) (*projections.DB, error) {
	c := n.config().Core
	return projections.OpenDB(projections.DBOptions{
		Dir: filepath.Join(c.DataDir, folder), MemtableMB: c.BadgerMemtable >> 20, BlockCacheMB: c.BadgerBlockCache >> 20, Log: n.log,
	})
}
