package feed

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// The signature of an event with a great many texts has every one of them, too.
func TestTheSignatureOfALargeEvent(t *testing.T) {
	t.Parallel()
	var b bloom
	for i := range b {
		b[i] = 1<<31 - 1 // a bit fewer than half
	}
	sig := b.fold()
	require.Greater(t, len(sig), 8*len(b))
	for i, word := range b {
		require.Equal(t, word, binary.LittleEndian.Uint64(sig[8*i:]))
	}
}
