package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// broker is the embedded server. It can be restarted under a connection, which reconnects through a
// new pipe.
type broker struct {
	opts  Options
	token string // authenticates this process

	mu     sync.Mutex
	server *server.Server
}

const brokerStartTimeout = 60 * time.Second

// start runs the server and waits until it serves.
func (b *broker) start() error {
	if err := b.removeStaleIndexes(); err != nil {
		return err
	}
	so, err := b.serverOptions()
	if err != nil {
		return err
	}
	srv, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("embedded broker: %w", err)
	}
	srv.SetLoggerV2(&brokerLog{log: b.opts.Log}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(brokerStartTimeout) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		return errors.New("embedded broker did not start: see the log above")
	}
	b.mu.Lock()
	b.server = srv
	b.mu.Unlock()
	return nil
}

func (b *broker) serverOptions() (*server.Options, error) {
	so := &server.Options{
		ServerName: b.opts.Name, DontListen: true, Authorization: b.token, StoreDir: b.opts.Dir,
		JetStream: true, JetStreamMaxStore: b.maxStore(), SyncAlways: b.opts.brokerSyncs(),
		NoSigs: true, DisableJetStreamBanner: true, MaxControlLine: 8 << 10, WriteDeadline: 10 * time.Second,
	}
	return so, b.clusterOptions(so)
}

// clusterOptions connects the server with those of other nodes. The server opens its routes only after
// a port for clients, so that one is on loopback and needs the token.
func (b *broker) clusterOptions(so *server.Options) error {
	c := b.opts.Cluster
	if c.Listen == "" {
		return nil
	}
	host, port, err := splitHostPort(c.Listen)
	if err != nil {
		return err
	}
	so.DontListen, so.Host, so.Port = false, "127.0.0.1", server.RANDOM_PORT
	so.Cluster = server.ClusterOpts{Name: c.Name, Host: host, Port: port, TLSConfig: c.TLS, NoAdvertise: true}
	if c.Secret != "" {
		so.Cluster.Username, so.Cluster.Password = clusterUser, c.Secret
	}
	for _, route := range c.Routes {
		u := *route
		if c.Secret != "" {
			u.User = url.UserPassword(clusterUser, c.Secret)
		}
		so.Routes = append(so.Routes, &u)
	}
	return nil
}

const clusterUser = "svc"

func splitHostPort(addr string) (string, int, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.Atoi(port)
	return host, n, err
}

// maxStore is the size limit of the store: that of the options, or 80 % of the disk.
func (b *broker) maxStore() int64 {
	if b.opts.MaxSize > 0 {
		return b.opts.MaxSize
	}
	_, total, err := diskSpace(b.opts.Dir)
	if err != nil {
		return 0
	}
	return total / 5 * 4
}

// InProcessConn implements nats.InProcessConnProvider.
func (b *broker) InProcessConn() (net.Conn, error) {
	b.mu.Lock()
	srv := b.server
	b.mu.Unlock()
	if srv == nil {
		return nil, errors.New("the embedded broker is stopped")
	}
	return srv.InProcessConn()
}

// health returns the fault of a stream, such as one that could not write. Publishers get no answer from
// such a stream.
func (b *broker) health() error {
	b.mu.Lock()
	srv := b.server
	b.mu.Unlock()
	if srv == nil {
		return errors.New("the embedded broker is stopped")
	}
	for _, fault := range srv.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if fault.Type == server.HealthzErrorStream { // others are about connections, and temporary
			return errors.New(fault.Error)
		}
	}
	return nil
}

// stop ends the server.
func (b *broker) stop() {
	b.mu.Lock()
	srv := b.server
	b.server = nil
	b.mu.Unlock()
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// cleanMark is a file that exists while the files are as a clean stop left them.
const cleanMark = "clean"

// removeStaleIndexes removes the indexes of streams after anything but a clean stop. An index may list
// messages that a power cut removed from the blocks, and the broker would leave a gap there. Without
// an index it reads the blocks.
func (b *broker) removeStaleIndexes() error {
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		return err
	}
	mark := filepath.Join(b.opts.Dir, cleanMark)
	err := os.Remove(mark)
	if err == nil {
		return syncDir(b.opts.Dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	indexes, err := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", "*", "msgs", "index.db"))
	if err != nil {
		return err
	}
	for _, path := range indexes {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// stopClean ends the server, syncs its files and marks them as complete.
func (b *broker) stopClean(ctx context.Context) error {
	b.stop()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.syncTails(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(b.opts.Dir, cleanMark), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncDir(b.opts.Dir))
}

// syncTails fsyncs what the server may have written at its stop: indexes and newest blocks.
func (b *broker) syncTails() error {
	dirs, err := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", "*", "msgs"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		blocks := blockFiles{dir: dir}
		err := errors.Join(blocks.sync(), syncIfThere(filepath.Join(dir, "index.db")), syncDir(dir))
		blocks.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func syncIfThere(path string) error {
	err := syncPath(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dropCaches drops the page cache of every block, so that the next read comes from the disk.
func (b *broker) dropCaches() {
	blocks, _ := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	for _, path := range blocks {
		if f, err := os.Open(path); err == nil {
			dropCache(f)
			_ = f.Close()
		}
	}
}

// brokerLog writes the log of the embedded server to a slog.Logger, notices at debug level.
type brokerLog struct{ log *slog.Logger }

// Noticef implements server.Logger.
func (l *brokerLog) Noticef(format string, v ...any) {
	l.log.Debug("broker: " + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *brokerLog) Warnf(format string, v ...any) {
	l.log.Warn("broker: " + fmt.Sprintf(format, v...))
}

// Errorf implements server.Logger.
func (l *brokerLog) Errorf(format string, v ...any) {
	l.log.Error("broker: " + fmt.Sprintf(format, v...))
}

// Fatalf implements server.Logger. It does not exit: start returns an error.
func (l *brokerLog) Fatalf(format string, v ...any) {
	l.log.Error("broker: " + fmt.Sprintf(format, v...))
}

// Debugf implements server.Logger.
func (l *brokerLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *brokerLog) Tracef(string, ...any) {}
