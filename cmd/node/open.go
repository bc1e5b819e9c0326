package node

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"svc/cmd/settings"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
	"svc/projections"
)

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
		if err := readable(o.CredsFile); err != nil {
			return o, fmt.Errorf("NATS_CREDS: the credentials file cannot be read: %w", err)
		}
		o.TLS, err = clientTLS("NATS_TLS", b.TLSCA, b.TLSCert, b.TLSKey)
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
	o.Cluster.TLS, err = clientTLS("NATS_CLUSTER_TLS", b.ClusterTLSCA, b.ClusterTLSCert, b.ClusterTLSKey)
	if o.Cluster.TLS != nil {
		o.Cluster.TLS.ClientCAs, o.Cluster.TLS.ClientAuth = o.Cluster.TLS.RootCAs, tls.RequireAndVerifyClientCert
	}
	return o, err
}

// clusterSecret is what the nodes of a cluster show each other: all of them
// have the internal key.
func clusterSecret(c settings.Config) string {
	mac := hmac.New(sha256.New, []byte(c.Core.InternalAPIKey.Reveal()))
	mac.Write([]byte("svc cluster routes"))
	return hex.EncodeToString(mac.Sum(nil))
}

// readable opens a file, if one is given. Its path may be a secret.
func readable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return errors.Join(err, f.Close())
}

// clientTLS reads the files of a TLS peer; nil when none is given. Its errors
// name the settings, which begin with prefix.
func clientTLS(prefix, ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s_CA_FILE: %w", prefix, err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s_CA_FILE: %s holds no certificate in PEM form", prefix, ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s_CERT_FILE, %s_KEY_FILE: %w", prefix, prefix, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// openModels opens the read models over a log.
func openModels(c settings.Config, store *jetstream.Store, log *slog.Logger, reg prometheus.Registerer) (*projections.DB, *projections.Models, error) {
	db, err := projections.OpenDB(projections.DBOptions{
		Dir: readModelDir(c), MemtableMB: c.Core.BadgerMemtable >> 20, BlockCacheMB: c.Core.BadgerBlockCache >> 20, Log: log,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open the read models: %w", err)
	}
	models, err := projections.New(projections.Options{DB: db, Store: store.Log, Known: store.Log.Known, Damage: store.Damage, Log: log, Metrics: reg})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the read models: %w", err), db.Close())
	}
	return db, models, nil
}

// listen binds the address, with TLS when a certificate is set.
func listen(h settings.HTTP) (net.Listener, error) {
	address := net.JoinHostPort(h.Addr, strconv.Itoa(h.Port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use: stop what listens there, or set PORT", h.Port)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("this user may not listen on port %d: choose one above 1023 with PORT, or give it the right", h.Port)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (ADDR, PORT): %w", address, err)
	}
	serve, err := serverTLS(h)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if serve == nil {
		return l, nil
	}
	serve.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(l, serve), nil
}

// serverTLS is what this service serves with; nil when no certificate is set.
func serverTLS(h settings.HTTP) (*tls.Config, error) {
	if h.TLSCertFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS_CERT_FILE, TLS_KEY_FILE: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}
