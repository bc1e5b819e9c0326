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
		b[i] = 1<<25 - 1 // a bit fewer than two of five
	}
	sig := b.fold()
	require.Len(t, sig, 8*len(b))
	for i, word := range b {
		require.Equal(t, word, binary.LittleEndian.Uint64(sig[8*i:]))
	}
}
