package feed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The signature of an event with a great many texts has every one of them, too.
func TestTheSignatureOfALargeEvent(t *testing.T) {
	t.Parallel()
	var b bloom
	for i := range b {
		b[i] = ^uint64(0)
	}
	for _, one := range b.fold()[:8*len(b)] {
		require.EqualValues(t, 0xff, one)
	}
}
