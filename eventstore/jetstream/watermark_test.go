package jetstream

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATornWatermarkSaysNothingThatWasNeverTrue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "durable-TEST")
	mark, err := openWatermark(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mark.file.Close()) })
	nothing := 0
	for i := range uint64(160) {
		before := i
		if i >= 120 { // and where a fourth digit comes
			before = 860 + i
		}
		after := before + 1 + before%13
		older, later := encodeWatermark(before), encodeWatermark(after)
		for kept := range later {
			torn := append(append([]byte{}, later[:kept]...), older[kept:]...)
			require.NoError(t, os.WriteFile(path, torn, 0o600))
			got := mark.read()
			require.Contains(t, []uint64{0, before, after}, got, "%q", torn)
			if got == 0 {
				nothing++
			}
		}
	}
	require.NotZero(t, nothing, "some of these are mixtures")
	require.NoError(t, mark.write(485))
	require.EqualValues(t, 485, mark.read())
}
