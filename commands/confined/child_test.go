package confined_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/confined"
)

// Whatever arrives, no frame is longer than what was allowed or than what came.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{'v', 0, 0, 0, 1, '2'})
	f.Add([]byte{'v', 255, 255, 255, 255, '2'})
	f.Add([]byte{'l', 0, 0})
	f.Fuzz(func(t *testing.T, wire []byte) {
		const most = 100
		kind, body, err := confined.ReadFrame(bytes.NewReader(wire), most)
		require.LessOrEqual(t, len(body), min(most, len(wire)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, confined.WriteFrame(&again, kind, body))
		require.Equal(t, wire[:again.Len()], again.Bytes())
	})
}
