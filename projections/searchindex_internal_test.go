package projections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/kbdocument"
)

// A batch of passages ends where a block of postings does, as nearly as whole documents allow.
func TestABatchEndsBeforeADocumentThatBeginsABlock(t *testing.T) {
	t.Parallel()
	of := func(chunks int) KBDocument {
		return KBDocument{State: kbdocument.State{Extract: &kbdocument.Extract{Count: chunks}}}
	}
	require.False(t, isOver(of(3), 253, 256), "it fits")
	require.True(t, isOver(of(3), 254, 256))
	require.False(t, isOver(of(1000), 0, 256), "an empty batch takes any document")
	require.False(t, isOver(of(1000), 127, 256), "a batch is not ended when less than half of it is there")
	require.True(t, isOver(of(200), 200, 256))
	require.False(t, isOver(KBDocument{}, 256, 256), "a document without passages adds nothing")
}
