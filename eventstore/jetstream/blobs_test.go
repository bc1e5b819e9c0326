package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/domain/catalog"
	"svc/eventstore"
)

func openBlobs(t *testing.T, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Dir: t.TempDir(), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return s
}

// noise returns bytes that look like nothing, and their name.
func noise(size int) (content []byte, name string) {
	content = make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	sum := sha256.Sum256(content)
	return content, hex.EncodeToString(sum[:])
}

func TestBlobsAreStreamed(t *testing.T) {
	s := openBlobs(t)
	for _, size := range []int{0, 1, 2, 128 << 10, 128<<10 + 1, 700_000} {
		content, name := noise(size)
		r := bytes.NewReader(content)
		_, err := r.Seek(int64(size/2), io.SeekStart)
		require.NoError(t, err)
		require.NoError(t, s.Blobs.PutFrom(t.Context(), r, name, int64(size)), "%d bytes", size)
		require.NoError(t, s.Blobs.PutFrom(t.Context(), r, name, int64(size)), "again")
		whole, err := s.Blobs.Get(t.Context(), name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, whole), "%d bytes", size)

		opened, length, err := s.Blobs.Open(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, size, length)
		got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(opened, 3)))
		require.NoError(t, err)
		rest, err := io.ReadAll(opened)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, append(got, rest...)), "%d bytes", size)
		info, err := s.Blobs.objects.GetInfo(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, (size+blobChunk-1)/blobChunk, info.Chunks)
		require.NoError(t, opened.Close())
	}
	_, _, err := s.Blobs.Open(t.Context(), "nothing")
	require.ErrorIs(t, err, ErrNoBlob)
}

func TestABlobIsStoredUnderItsOwnNameOnly(t *testing.T) {
	s := openBlobs(t)
	content, name := noise(300_000)
	for what, put := range map[string]struct {
		content []byte
		size    int64
	}{
		"other bytes": {bytes.Repeat([]byte("x"), 300_000), 300_000},
		"too short":   {content[:299_999], 300_000},
		"too long":    {append(bytes.Clone(content), 'x'), 300_000},
		"less said":   {content, 299_999},
		"nothing":     {nil, 300_000},
	} {
		require.ErrorContains(t, s.Blobs.PutFrom(t.Context(), bytes.NewReader(put.content), name, put.size), "does not match its name", what)
		_, err := s.Blobs.Get(t.Context(), name)
		require.ErrorIs(t, err, ErrNoBlob, what)
		last, err := s.conn.lastSequence(t.Context(), streamBlobs)
		require.NoError(t, err)
		for seq := range last {
			_, ok, err := s.conn.getMessage(t.Context(), streamBlobs, getRequest{Seq: seq + 1})
			require.NoError(t, err)
			require.False(t, ok, "%s left a chunk behind", what)
		}
	}
	require.NoError(t, s.Blobs.PutFrom(t.Context(), bytes.NewReader(content), name, 300_000))
}

func TestOneContentIsStoredOnce(t *testing.T) {
	s := openBlobs(t)
	content, name := noise(300_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.Blobs.PutFrom(t.Context(), bytes.NewReader(content), name, 300_000); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	whole, err := s.Blobs.Get(t.Context(), name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, whole))
}

// A put may be given up at any moment, also while its last answer is on the way.
func TestAPutThatIsCancelledLeavesNoHalfBlob(t *testing.T) {
	s := openBlobs(t)
	for i := range 300 {
		content := fmt.Appendf(nil, "content %d", i)
		giving, cancel := context.WithCancel(t.Context())
		var putting sync.WaitGroup
		putting.Go(func() { _, _ = s.Blobs.Put(giving, content) })
		var other error
		putting.Go(func() { _, other = s.Blobs.Put(t.Context(), content) })
		time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, cancel)
		putting.Wait()
		require.NoError(t, other, "another's cancellation is not ours")
		name, err := s.Blobs.Put(t.Context(), content)
		require.NoError(t, err)
		got, err := s.Blobs.Get(t.Context(), name)
		require.NoError(t, err, "of content %d", i)
		require.Equal(t, content, got)
	}
}

// What is stored under a name and is something else must never look whole.
func TestADamagedBlobFailsBeforeItsLastByte(t *testing.T) {
	s := openBlobs(t)
	content, name := noise(300_000)
	for what, stored := range map[string][]byte{
		"other bytes": bytes.Repeat([]byte("x"), 300_000),
		"one bit":     append(bytes.Clone(content[:299_999]), content[299_999]^1),
		"too short":   content[:299_999],
		"too long":    append(bytes.Clone(content), 'x'),
		"one byte":    []byte("x"),
		"nothing":     nil,
	} {
		_, err := s.Blobs.objects.Put(t.Context(), jetstream.ObjectMeta{Name: name}, bytes.NewReader(stored))
		require.NoError(t, err, what)
		opened, size, err := s.Blobs.Open(t.Context(), name)
		require.NoError(t, err, what)
		got, err := io.ReadAll(opened)
		require.ErrorIs(t, err, errDamaged, what)
		require.Less(t, len(got), max(1, int(size)), what)
		require.NoError(t, opened.Close())
		_, err = s.Blobs.Get(t.Context(), name)
		require.ErrorIs(t, err, errDamaged, what)
	}
}

// blobs lists the blobs of a store by name.
func blobs(t *testing.T, s *Store) map[string]eventstore.Blob {
	t.Helper()
	all := map[string]eventstore.Blob{}
	require.NoError(t, s.Blobs.List(t.Context(), func(b eventstore.Blob) error {
		all[b.Name] = b
		return nil
	}))
	return all
}

// chunks counts the chunks of a store.
func chunks(t *testing.T, s *Store) (n uint64) {
	t.Helper()
	info, err := s.conn.subjectsInfo(t.Context(), streamBlobs, chunksPrefix+"*")
	require.NoError(t, err)
	for _, count := range info.State.Subjects {
		n += count
	}
	return n
}

func TestABlobThatWasPutAgainIsNotDeleted(t *testing.T) {
	later := atomic.Int64{} // hours
	s := openBlobs(t, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load()) * time.Hour) }
	})
	content, name := noise(300_000)
	_, err := s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	first := blobs(t, s)[name]
	_, err = s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	require.Equal(t, first, blobs(t, s)[name], "a young blob is left as it is")

	later.Store(30)
	_, err = s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	require.ErrorIs(t, s.Blobs.Delete(t.Context(), name, first.Revision), eventstore.ErrConflict)
	got, err := s.Blobs.Get(t.Context(), name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))

	require.NoError(t, s.Blobs.Delete(t.Context(), name, blobs(t, s)[name].Revision))
	require.Empty(t, blobs(t, s))
	require.Zero(t, chunks(t, s))
	last, err := s.conn.lastSequence(t.Context(), streamBlobs)
	require.NoError(t, err)
	_, found, err := s.conn.getMessage(t.Context(), streamBlobs, getRequest{Seq: last})
	require.NoError(t, err)
	require.False(t, found, "the mark of the deletion is gone, too")
	_, err = s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	got, err = s.Blobs.Get(t.Context(), name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got), "stored again")
}

// Whoever puts a content while it is deleted has it afterwards.
func TestAPutAndADeleteAtOnceNeverLoseTheContent(t *testing.T) {
	s := openBlobs(t, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(30 * time.Hour) } })
	content, name := noise(200_000)
	for range 40 {
		_, err := s.Blobs.Put(t.Context(), content)
		require.NoError(t, err)
		old := blobs(t, s)[name]
		var both sync.WaitGroup
		var put, deleted error
		both.Go(func() { _, put = s.Blobs.Put(t.Context(), content) })
		both.Go(func() { deleted = s.Blobs.Delete(t.Context(), name, old.Revision) })
		both.Wait()
		require.NoError(t, put)
		if deleted != nil {
			require.ErrorIs(t, deleted, eventstore.ErrConflict)
		}
		got, err := s.Blobs.Get(t.Context(), name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got))
	}
	_, err := s.Blobs.Sweep(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 2, chunks(t, s), "nothing else is left")
}

func TestASweepFinishesWhatACrashInterrupted(t *testing.T) {
	s := openBlobs(t)
	content, name := noise(300_000)
	_, err := s.Blobs.Put(t.Context(), content)
	require.NoError(t, err)
	var info jetstream.ObjectInfo
	require.NoError(t, s.Blobs.writeChunks(t.Context(), chunksPrefix+"interrupted", &info, bytes.NewReader(content[1:])))
	other, otherName := noise(150_000)
	_, err = s.Blobs.Put(t.Context(), other)
	require.NoError(t, err)
	m, _, err := s.Blobs.describe(t.Context(), otherName)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(m.data, &info))
	info.Deleted = true
	mark, err := json.Marshal(info)
	require.NoError(t, err)
	_, err = s.conn.sendOne(t.Context(), describeMessage(otherName, mark, m.seq))
	require.NoError(t, err)

	count, err := s.Blobs.Sweep(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Zero(t, count, "it may be under way")
	require.EqualValues(t, 3+3+2, chunks(t, s))
	count, err = s.Blobs.Sweep(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 3, count)
	require.EqualValues(t, 3, chunks(t, s))
	got, err := s.Blobs.Get(t.Context(), name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	require.Len(t, blobs(t, s), 1)
}
