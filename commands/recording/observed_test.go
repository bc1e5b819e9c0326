package recording_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation/value"
)

// looped is a play of a loop that is given a text of 30 kB. A replay keeps a megabyte.
func looped(t *testing.T, turns int, do string) *play {
	t.Helper()
	p := written(t, `{}`, fmt.Sprintf(`[{repeat: {until: %d, do: [%s]}}]`, turns, do))
	p.input, p.kept = value.NewObject("a", strings.Repeat("x", 30_000)), 1_000_000
	return p
}

// TestAReplayOfLargeWritesComesToItsEnd writes more than a replay may keep.
func TestAReplayOfLargeWritesComesToItsEnd(t *testing.T) {
	t.Parallel()
	p := looped(t, 100, `{set session.x: '{{a}}{{item}}'}`) // 3 MB
	_, body := p.perform(t, 1)
	identical(t, p.replay(t, body, nil))
	identical(t, p.replay(t, body, p))
}

func TestLargeWritesThatDifferAreTold(t *testing.T) {
	t.Parallel()
	p := looped(t, 2, `{set session.x: '{{a}}{{item}}'}`)
	_, body := p.perform(t, 1)
	report := p.replay(t, body, looped(t, 2, `{set session.x: '{{a}}{% {{item}} * 2 %}'}`))
	require.Len(t, report.Differences, 1)
	d := report.Differences[0]
	require.Equal(t, []int{1}, d.Iteration)
	require.JSONEq(t, `{"path":"session.x","type":"set","value":"(too large to be shown)"}`, string(d.Expected))
	require.JSONEq(t, string(d.Expected), string(d.Actual))
}

func TestBadReplaysThatDoTooMuchFail(t *testing.T) {
	t.Parallel()
	p := looped(t, 1, `{set session.x: 1}`)
	_, body := p.perform(t, 1)
	for name, now := range map[string]*play{
		"a context that grows": looped(t, 400, `{'set session.x[]': '{{a}}{{item}}'}`),
		"many writes":          looped(t, 400, strings.Repeat(`{set session.x: 1}, `, 10)),
		"many branches":        looped(t, 400, strings.Repeat(`{conditions: {'1': []}}, `, 10)),
		"other requests":       looped(t, 400, `{try: {do: [{fetch: {url: 'http://h', body: '{{a}}{{item}}'}}], catch: []}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := p.replay(t, body, now)
			require.Equal(t, recording.Failed, report.Status)
			require.EqualError(t, report.Reason, "the replay does more than can be compared")
		})
	}
}
