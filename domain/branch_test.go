package domain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestBranches(t *testing.T) {
	for _, good := range []string{"main", "feature/a-b_c", "v1.2", "ünïcode", "a@b", "svcs/x", "héad/HEAD"} {
		require.True(t, domain.IsBranch(good), good)
	}
	for _, bad := range []string{
		"", "-x", "svc/shop/main", "a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[", `a\b`, "/a", "a/", "a//b", ".a", "a/.b", "a.",
		"a.lock", "a.lock/b", "@", "a@{1}", "HEAD", "a\n", "a\x7f", "\xff", strings.Repeat("a", 201),
	} {
		require.False(t, domain.IsBranch(bad), "%q", bad)
	}
}
