package jetstream_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/eventstore/storetest"
	"svc/projections/livetest"
)

// open starts a store in dir and closes it with the test.
func open(t *testing.T, o jetstream.Options) *jetstream.Store {
	t.Helper()
	s, err := jetstream.Open(t.Context(), withEvents(o))
	require.NoError(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func withEvents(o jetstream.Options) jetstream.Options {
	o.Events = catalog.Events()
	o.MaxWait = cmp.Or(o.MaxWait, 20*time.Second) // on a machine that does much else, too
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func closeStore(t *testing.T, s *jetstream.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, s.Close(ctx))
}

func TestEmbeddedGroup(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, jetstream.Options{Dir: t.TempDir()}).Log
	})
}

func TestEmbeddedAlways(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, jetstream.Options{Dir: t.TempDir(), Sync: jetstream.SyncAlways}).Log
	})
}

// cluster is three nats-server processes on this machine.
type cluster struct {
	binary string
	config []string
	urls   []string
	procs  []*exec.Cmd
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{binary: filepath.Join(t.TempDir(), "nats-server")}
	build := exec.Command("go", "build", "-o", c.binary, "github.com/nats-io/nats-server/v2")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	ports := livetest.Ports(6)
	routes := make([]string, 3)
	for i := range routes {
		routes[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i])
	}
	for i := range 3 {
		conf := filepath.Join(t.TempDir(), fmt.Sprintf("n%d.conf", i))
		text := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\njetstream { store_dir: %q, sync_interval: always }\n"+
			"cluster { name: svc, listen: 127.0.0.1:%d, routes: [%s] }\n", i, ports[i], t.TempDir(), ports[3+i], strings.Join(routes, ", "))
		require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
		c.config = append(c.config, conf)
		c.urls = append(c.urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		c.procs = append(c.procs, nil)
		c.start(t, i)
	}
	t.Cleanup(func() {
		for i := range c.procs {
			c.kill(i)
		}
	})
	return c
}

func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	cmd := exec.Command(c.binary, "-c", c.config[i])
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	c.procs[i] = cmd
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.urls[i], "nats://"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
}

func (c *cluster) kill(i int) {
	if cmd := c.procs[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.procs[i] = nil
	}
}

func TestExternalClusterOfThree(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	options := jetstream.Options{URL: c.urls, Replicas: 3, MaxWait: 10 * time.Second}
	storetest.Run(t, func(t *testing.T) eventstore.Store { return open(t, options).Log })

	t.Run("the loss of one server loses nothing and stops nobody", func(t *testing.T) {
		s := open(t, options)
		id, last := workspace.Stream("survivor"), uint64(0)
		for i := range 30 {
			if i == 10 {
				c.kill(0)
			}
			if i == 20 {
				c.start(t, 0)
			}
			fact := eventstore.Fact{ID: storetest.NewID(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: fmt.Sprint(i)}}}
			var r eventstore.Receipt
			require.Eventually(t, func() (ok bool) {
				var err error
				r, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: id, Expected: last, Facts: []eventstore.Fact{fact}})
				return err == nil
			}, time.Minute, 10*time.Millisecond, "the same commit must succeed in the end")
			last = r.Seqs[0]
		}
		events, err := s.Log.Load(t.Context(), id, 0)
		require.NoError(t, err)
		require.Len(t, events, 30)
		info, err := s.Log.Info(t.Context(), domain.State)
		require.NoError(t, err)
		require.True(t, info.Contiguous())
	})

	t.Run("another number of replicas is refused with a hint", func(t *testing.T) {
		o := options
		o.Replicas = 1
		_, err := jetstream.Open(t.Context(), withEvents(o))
		require.ErrorContains(t, err, "STREAM_REPLICAS=3")
	})
}

func TestAnUnreachableBrokerIsNamedWithoutItsPassword(t *testing.T) {
	port := livetest.Ports(1)[0]
	_, err := jetstream.Open(t.Context(), withEvents(jetstream.Options{URL: []string{fmt.Sprintf("nats://user:hunter2@127.0.0.1:%d", port)}}))
	require.ErrorContains(t, err, fmt.Sprintf("cannot reach the broker at nats://user:xxxxx@127.0.0.1:%d", port))
	require.NotContains(t, err.Error(), "hunter2")
}
